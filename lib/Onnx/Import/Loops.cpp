//===- Loops.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Loops.h"

#include "lib/Onnx/TensorTypes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

using onnxtensor::elementTypeOf;
using onnxtensor::rankOf;
using onnxtensor::shapeOf;

/// Whether `inner` is `outer` or within it, also where that has no operator yet.
static bool isWithin(Region *outer, Region *inner) {
  while (inner && inner != outer)
    inner = inner->getParentOp() ? inner->getParentOp()->getParentRegion() : nullptr;
  return inner == outer;
}

/// Copies what computes a constant expression.
static Value copyExpression(OpBuilder &builder, Value value, IRMapping &copies) {
  if (Value known = copies.lookupOrNull(value))
    return known;
  for (Value operand : value.getDefiningOp()->getOperands())
    copyExpression(builder, operand, copies);
  builder.clone(*value.getDefiningOp(), copies);
  return copies.lookup(value);
}

SmallVector<Value> isolate(OpBuilder &builder, ArrayRef<Region *> regions) {
  llvm::SetVector<Value> captured;
  for (Region *region : regions) {
    IRMapping copies;
    OpBuilder inside(builder.getContext()); // A region beside the program knows no context.
    inside.setInsertionPointToStart(&region->front());
    SmallVector<OpOperand *> uses;
    region->walk([&](Operation *op) {
      for (OpOperand &operand : op->getOpOperands())
        if (!isWithin(region, operand.get().getParentRegion()))
          uses.push_back(&operand);
    });
    for (OpOperand *use : uses) {
      Value value = use->get();
      if (isConstantExpression(value) || value.getDefiningOp<StringConstantOp>())
        use->set(copyExpression(inside, value, copies));
      else
        captured.insert(value);
    }
  }
  for (Region *region : regions)
    for (Value value : captured) {
      Value argument = region->addArgument(value.getType(), value.getLoc());
      value.replaceUsesWithIf(argument,
                              [&](OpOperand &use) { return isWithin(region, use.getOwner()->getParentRegion()); });
    }
  return captured.takeVector();
}

SmallVector<Value> createLoop(TensorBuilder &build, const LoopParts &parts, Region &body, SmallVector<Value> yielded) {
  OpBuilder &builder = build.mlir();
  SmallVector<Type> types(parts.carried.getTypes());
  for (Value slab : ArrayRef(yielded).drop_front(1 + parts.carried.size())) {
    Dims dims(shapeOf(slab));
    dims.insert(dims.begin(), parts.most);
    types.push_back(build.type(elementTypeOf(slab), dims));
    if (!types.back())
      return {};
  }
  types.push_back(RankedTensorType::get({}, builder.getI64Type()));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&body.front());
    yielded[0] = build.reshape(yielded[0], {});
    YieldOp::create(builder, build.loc(), yielded);
  }
  SmallVector<Value> captured = isolate(builder, {&body});
  Value trips = build.reshape(parts.trips, {}), condition = build.reshape(parts.condition, {});
  auto loop = LoopOp::create(builder, build.loc(), types, trips, condition, parts.carried, captured,
                             builder.getI64IntegerAttr(parts.most), DenseI64ArrayAttr());
  loop.getBody().takeBody(body);
  return SmallVector<Value>(loop.getResults());
}

SmallVector<Value> countedLoop(TensorBuilder &build, int64_t trips, ValueRange carried, LoopBody body) {
  OpBuilder &builder = build.mlir();
  Type i1 = builder.getI1Type();
  Region region;
  Block *block = new Block;
  region.push_back(block);
  block->addArgument(RankedTensorType::get({}, builder.getI64Type()), build.loc());
  for (Value value : carried)
    block->addArgument(value.getType(), build.loc());
  SmallVector<Value> yielded;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(block);
    yielded = body(block->getArgument(0), block->getArguments().drop_front());
    if (yielded.empty() || llvm::is_contained(yielded, Value()))
      return {};
    yielded.insert(yielded.begin(), build.splat(i1, 1));
  }
  const LoopParts parts{build.integers({trips}), build.splat(i1, 1), carried, trips};
  SmallVector<Value> results = createLoop(build, parts, region, std::move(yielded));
  if (!results.empty())
    results.pop_back();
  return results;
}

Value positionAt(TensorBuilder &build, Value iteration, int64_t trips, bool backward) {
  return backward ? build.sub(build.reshape(build.integers({trips - 1}), {}), iteration) : iteration;
}

Value sliceAt(TensorBuilder &build, Value x, Value position, int64_t axis) {
  if (!x || !position)
    return {};
  return build.create<GatherOp>({x, position}, build.integer("axis", axis));
}

Value turned(TensorBuilder &build, Value stack) {
  const int64_t rank = rankOf(stack);
  Dims starts(rank, 0), steps(rank, 1);
  starts[0] = std::max<int64_t>(shapeOf(stack)[0] - 1, 0);
  steps[0] = -1;
  return build.slice(stack, starts, steps, shapeOf(stack));
}

} // namespace sluice::onnximport
