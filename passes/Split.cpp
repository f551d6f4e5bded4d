//===- Split.cpp - Operators as several, each on a part -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/Tiling/Tiling.h"
#include "passes/Bridge/TilingAttributes.h"

#include <map>

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_SPLITPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

class Splitter {
public:
  explicit Splitter(const BridgedProgram &bridged) : bridged(bridged) {}

  LogicalResult run(const std::vector<OperatorSplit> &splits) {
    for (const OperatorSplit &split : splits)
      if (failed(rewrite(split)))
        return failure();
    for (Operation *op : llvm::reverse(joins))
      if (op->use_empty())
        op->erase();
    return success();
  }

private:
  using Parts = SmallVector<Value>;

  LogicalResult rewrite(const OperatorSplit &split);
  Parts &cut(Value value, uint32_t dim, int64_t parts, OpBuilder &builder, StringRef name);
  Value join(const Parts &parts, AxisTiling tiling, TensorBuilder &build);

  const BridgedProgram &bridged;
  /// A tensor in parts, by its dimension and their number; null ones where that failed.
  std::map<std::tuple<void *, uint32_t, int64_t>, Parts> known;
  SmallVector<Operation *> joins;
};

} // namespace

/// A name that the planner shows. What is no part of a node is not of its location either.
static Location named(MLIRContext *context, const std::string &name) {
  return NameLoc::get(StringAttr::get(context, name));
}

Splitter::Parts &Splitter::cut(Value value, uint32_t dim, int64_t parts, OpBuilder &builder, StringRef name) {
  auto [entry, isNew] = known.try_emplace({value.getAsOpaquePointer(), dim, parts});
  const int64_t extent = shapeOf(value)[dim] / parts;
  for (int64_t part = 0; isNew && part < parts; ++part) {
    TensorBuilder build(builder, named(builder.getContext(), concat(name.str(), "/cut", part, "of", parts)));
    entry->second.push_back(build.sliceAxis(value, dim, part * extent, extent));
  }
  return entry->second;
}

Value Splitter::join(const Parts &parts, AxisTiling tiling, TensorBuilder &build) {
  if (tiling.isReplicated())
    return parts.front();
  if (tiling.isSplit())
    return build.concat(parts, tiling.dim);
  const BinaryKind kind = tiling.reduction == PartialKind::Sum   ? BinaryKind::add
                          : tiling.reduction == PartialKind::Max ? BinaryKind::max
                                                                 : BinaryKind::min;
  const Type element = typeOf(parts.front()).getElementType();
  Value total = build.cast(parts.front(), combinedType(element));
  for (Value part : llvm::drop_begin(parts))
    total = build.binary(kind, total, build.cast(part, combinedType(element)));
  return build.cast(total, element);
}

LogicalResult Splitter::rewrite(const OperatorSplit &split) {
  Operation *op = bridged.operators[split.op.index()];
  const ProgramOperator &entry = bridged.program.operators[split.op.index()];
  const TilingRule &rule = entry.rules[split.rule];
  op->removeDiscardableAttr(DataflowDialect::SplitAttrHelper::getNameStr());
  OpBuilder builder(op);
  SmallVector<Parts> results(op->getNumResults());
  for (int64_t part = 0; part < split.parts; ++part) {
    // The name first: it is the operator's, and the node it is a part of comes with it.
    Location own = named(op->getContext(), concat(entry.name, "/", part, "of", split.parts));
    TensorBuilder build(builder, FusedLoc::get(op->getContext(), {own, op->getLoc()}));
    const PartRule used{&rule, split.parts, build.reshape(build.integers({part}), {})};
    Parts operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands()))
      operands.push_back(rule.operands[i].isSplit()
                             ? cut(operand, rule.operands[i].dim, split.parts, builder, entry.name)[part]
                             : operand);
    Parts made = llvm::is_contained(operands, Value()) ? Parts() : buildPart(op, build, used, operands);
    if (made.size() != results.size() || llvm::is_contained(made, Value()))
      return op->emitError("cannot be split into parts: ")
             << (build.message().empty() ? "an operand cannot be cut" : build.message());
    for (auto [list, value] : llvm::zip(results, made))
      list.push_back(value);
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    TensorBuilder build(builder, named(op->getContext(), concat(entry.name, "/join")));
    Value whole = join(results[i], rule.results[i], build);
    if (!whole || whole.getType() != result.getType())
      return op->emitError("result ") << i << " cannot be joined: " << build.message();
    if (rule.results[i].isSplit()) {
      known[{whole.getAsOpaquePointer(), rule.results[i].dim, split.parts}] = results[i];
      joins.push_back(whole.getDefiningOp());
    }
    result.replaceAllUsesWith(whole);
  }
  op->erase();
  return success();
}

namespace {
struct Split : sluice::impl::SplitPassBase<Split> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || llvm::none_of(function.getBody().front(), [](Operation &op) {
          return op.hasAttr(DataflowDialect::SplitAttrHelper::getNameStr());
        }))
      return;
    std::optional<BridgedProgram> bridged = orEmit(function, buildTensorProgram(function));
    std::optional<std::vector<OperatorSplit>> splits;
    if (bridged)
      splits = orEmit(function, readSplits(*bridged));
    if (!splits || failed(Splitter(*bridged).run(*splits)))
      return signalPassFailure();
    for (Operation &op : function.getBody().front())
      if (op.hasAttr(DataflowDialect::SplitAttrHelper::getNameStr())) {
        op.emitError("is computed from constants at compile time and cannot be split");
        return signalPassFailure();
      }
  }
};
} // namespace
