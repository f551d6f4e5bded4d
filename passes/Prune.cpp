//===- Prune.cpp - Layers as independent blocks ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/NamePattern.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Tiling/Pruning.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_PRUNEPASS
#include "passes/Passes.h.inc"
} // namespace sluice

/// The weights by the node they come from: [rows, columns] of what the layer reads and writes.
static Expected<std::vector<float>> readWeights(MatmulOp layer, int64_t rows, int64_t columns) {
  auto constant = layer.getRhs().getDefiningOp<ConstantOp>();
  if (!constant)
    return makeError(ErrorCode::InvalidInput, "the weights are not constants, leave this layer out of --layers");
  std::vector<float> stored(static_cast<size_t>(rows * columns)), weights(stored.size());
  if (failed(copyConstant(constant.getValue(), reinterpret_cast<char *>(stored.data()))))
    return makeError(ErrorCode::InvalidInput, "the data of the weights is missing, supply the model's external data");
  if (!layer.getTransposeRhs())
    return stored;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      weights[static_cast<size_t>(i * columns + j)] = stored[static_cast<size_t>(j * rows + i)];
  return weights;
}

/// Per part, the nodes in it.
static SmallVector<SmallVector<int64_t>> membersOf(const std::vector<uint32_t> &part, int64_t parts) {
  SmallVector<SmallVector<int64_t>> members(static_cast<size_t>(parts));
  for (auto [node, where] : llvm::enumerate(part))
    members[where].push_back(static_cast<int64_t>(node));
  return members;
}

static Value gather(TensorBuilder &build, Value data, ArrayRef<int64_t> indices, int64_t axis) {
  return build.create<GatherOp>({data, build.integers(indices)}, build.integer("axis", axis));
}

/// The layer as blocks: each reads its rows, and the columns come back in their order.
static Value buildBlocks(MatmulOp layer, const PruneSolution &pruned, int64_t parts, std::string &message) {
  const auto rows = membersOf(pruned.rowPart, parts), columns = membersOf(pruned.columnPart, parts);
  const int64_t last = typeOf(layer.getLhs()).getRank() - 1;
  const bool transposed = layer.getTransposeRhs();
  OpBuilder builder(layer);
  SmallVector<Value> blocks;
  SmallVector<int64_t> order;
  for (int64_t part = 0; part < parts; ++part) {
    Location own = NameLoc::get(builder.getStringAttr(concat(nodeName(layer.getLoc()), "/block", part, "of", parts)));
    TensorBuilder build(builder, FusedLoc::get(builder.getContext(), {own, layer.getLoc()}));
    Value weight = gather(build, layer.getRhs(), rows[part], transposed ? 1 : 0);
    weight = gather(build, weight, columns[part], transposed ? 0 : 1);
    blocks.push_back(build.matmul(gather(build, layer.getLhs(), rows[part], last), weight, false, transposed));
    llvm::append_range(order, columns[part]);
    message = build.message();
    if (!blocks.back())
      return {};
  }
  SmallVector<int64_t> inverse(order.size());
  for (auto [at, column] : llvm::enumerate(order))
    inverse[static_cast<size_t>(column)] = static_cast<int64_t>(at);
  TensorBuilder build(builder, layer.getLoc());
  Value result = gather(build, build.concat(blocks, last), inverse, last);
  message = build.message();
  return result;
}

namespace {
struct Prune : sluice::impl::PrunePassBase<Prune> {
  using PrunePassBase::PrunePassBase;

  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal() || parts == 0)
      return;
    auto refuse = [&](const Error &why) {
      // The function's location would name the whole graph as the node.
      sluice::emitError(UnknownLoc::get(&getContext()), why);
      signalPassFailure();
    };
    Expected<NamePattern> pattern = NamePattern::create(layers, "layers' names");
    if (!pattern)
      return refuse(pattern.error());
    SmallVector<MatmulOp> chosen;
    std::string known;
    for (MatmulOp layer : function.getBody().getOps<MatmulOp>()) {
      const std::string name = nodeName(layer.getLoc());
      if (name.empty() || typeOf(layer.getRhs()).getRank() != 2 || !layer.getRhs().getDefiningOp<ConstantOp>())
        continue;
      if (pattern->matches(name))
        chosen.push_back(layer);
      known += concat(known.empty() ? "" : ", ", name);
    }
    if (chosen.empty())
      return refuse(
          {ErrorCode::NotFound,
           concat("no layer's name matches '", layers.getValue(), "', ",
                  known.empty()
                      ? "the model has no fully connected layers of constant weights, leave pruning out"
                      : concat("the layers are ", known, ", give a regular expression that matches whole names")),
           {}});
    SmallVector<Attribute> report;
    for (MatmulOp layer : chosen) {
      Expected<Attribute> entry = prune(layer);
      if (!entry)
        return refuse(
            {entry.error().code, concat("layer '", nodeName(layer.getLoc()), "': ", entry.error().message), {}});
      report.push_back(*entry);
    }
    DataflowDialect::PrunedAttrHelper(function->getContext()).setAttr(function, ArrayAttr::get(&getContext(), report));
  }

  Expected<Attribute> prune(MatmulOp layer) {
    auto type = typeOf(layer.getRhs());
    if (!type.getElementType().isF32() || layer.getTransposeLhs() || layer.getPackedN())
      return makeError(
          ErrorCode::Unsupported,
          "pruning needs 32-bit floats and an input that is not transposed, leave this layer out of --layers");
    const bool transposed = layer.getTransposeRhs();
    const int64_t rows = type.getDimSize(transposed ? 1 : 0), columns = type.getDimSize(transposed ? 0 : 1);
    SLUICE_ASSIGN_OR_RETURN(std::vector<float> weights, readWeights(layer, rows, columns));
    SLUICE_ASSIGN_OR_RETURN(PruneSolution solution, solvePruning({rows, columns, weights, parts},
                                                                 {0, seed, usableThreads(static_cast<int>(threads))}));
    std::string message;
    Value blocks = buildBlocks(layer, solution, parts, message);
    if (!blocks || blocks.getType() != layer.getType())
      return makeError(ErrorCode::Internal,
                       message.empty() ? "its blocks do not match the shape of the layer" : message);
    Builder builder(&getContext());
    Attribute entry = builder.getDictionaryAttr(
        {builder.getNamedAttr("layer", builder.getStringAttr(nodeName(layer.getLoc()))),
         builder.getNamedAttr("partitions", builder.getI64IntegerAttr(parts)),
         builder.getNamedAttr("weight_loss", builder.getF64FloatAttr(solution.weightLoss()))});
    layer.getResult().replaceAllUsesWith(blocks);
    layer.erase();
    return entry;
  }
};
} // namespace
