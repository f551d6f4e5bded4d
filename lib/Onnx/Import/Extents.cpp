//===- Extents.cpp - Extents that only the data says ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"

#include "NodeContext.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

const Extents::Counts *Extents::find(Value value) const {
  auto found = counts.find(value);
  return found == counts.end() ? nullptr : &found->second;
}

Value Extents::of(Value value, int64_t dimension) const {
  const Counts *found = find(value);
  return found ? (*found)[dimension] : Value();
}

void Extents::set(Value value, int64_t dimension, Value count) {
  Counts &all = counts[value];
  all.resize(rankOf(value));
  all[dimension] = count;
}

void Extents::settle(Value value, ArrayRef<Value> own) {
  settled.insert(value);
  if (llvm::any_of(own, [](Value count) { return bool(count); }))
    counts[value].assign(own.begin(), own.end());
}

/// Dimensions align from the last one; those that hold must agree in every operand that is not broadcast along them. An
/// operand that is so at one size only is not.
LogicalResult Extents::elementwise(Operation *op, TensorBuilder &build, Counts &result) const {
  int64_t rank = rankOf(op->getResult(0));
  for (int64_t d = 0; d < rank; ++d) {
    bool isWhole = false;
    for (Value operand : op->getOperands()) {
      int64_t own = d - (rank - rankOf(operand));
      if (own < 0 || (!of(operand, own) && build.decide(shapeOf(operand)[own] == 1)))
        continue;
      Value count = of(operand, own);
      if (!count)
        isWhole = true;
      else if (!result[d])
        result[d] = count;
      else if (result[d] != count)
        return failure();
    }
    if (isWhole && result[d])
      return failure();
  }
  return success();
}

/// A dimension keeps its count where it stays, and where it is the first of those that become one.
LogicalResult Extents::reshape(ReshapeOp op, TensorBuilder &build, Counts &result) const {
  ArrayRef<int64_t> from = shapeOf(op.getInput()), to = shapeOf(op.getResult());
  if (llvm::is_contained(from, 0))
    return failure();
  size_t i = 0, k = 0;
  while (i < from.size() || k < to.size()) {
    // The shortest runs of dimensions of the same size.
    size_t firstFrom = i, firstTo = k;
    int64_t left = i < from.size() ? from[i++] : 1, right = k < to.size() ? to[k++] : 1;
    while (left != right)
      if (left < right)
        left *= from[i++];
      else
        right *= to[k++];
    Value count;
    size_t bounded = 0, kept = k;
    for (size_t d = firstFrom; d < i; ++d) {
      if (!of(op.getInput(), static_cast<int64_t>(d)))
        continue;
      if (count)
        return failure();
      count = of(op.getInput(), static_cast<int64_t>(d));
      bounded = d;
    }
    if (!count)
      continue;
    int64_t before = 1, after = 1;
    for (size_t d = firstFrom; d < i; ++d)
      (d < bounded ? before : after) *= d == bounded ? 1 : from[d];
    for (size_t d = firstTo; d < k; ++d)
      if (to[d] == from[bounded] * after && kept == k)
        kept = d;
      else if (to[d] != 1)
        return failure();
    if (before != 1 || kept == k)
      return failure();
    result[kept] = after == 1 ? count : build.mul(count, build.splat(elementTypeOf(count), static_cast<double>(after)));
  }
  return success();
}

LogicalResult Extents::gather(Operation *op, Counts &result) const {
  Value data = op->getOperand(0), indices = op->getOperand(1);
  // Data along the axis is read where indices say, which are taken to be valid.
  if (auto along = dyn_cast<GatherOp>(op)) {
    int64_t axis = along.getAxis(), width = rankOf(indices);
    for (int64_t d = 0; d < rankOf(data); ++d)
      if (d != axis)
        result[d < axis ? d : d + width - 1] = of(data, d);
    for (int64_t d = 0; d < width; ++d)
      result[axis + d] = of(indices, d);
    return success();
  }
  if (auto tuples = dyn_cast<GatherNdOp>(op)) {
    int64_t read = tuples.getBatchDims() + shapeOf(indices).back();
    for (int64_t d = 0; d < rankOf(indices) - 1; ++d)
      result[d] = of(indices, d);
    for (int64_t d = read; d < rankOf(data); ++d)
      result[rankOf(indices) - 1 + d - read] = of(data, d);
    return of(indices, rankOf(indices) - 1) ? failure() : success();
  }
  for (int64_t d = 0; d < rankOf(indices); ++d)
    result[d] = of(indices, d);
  return success();
}

/// Operators that leave bounded dimensions alone: they act along others.
LogicalResult Extents::alongOthers(Operation *op, Counts &result) const {
  Value input = op->getOperand(0);
  const Counts *own = find(input);
  auto isBoundedAlong = [&](int64_t d) { return own && (*own)[d]; };
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
      result[to] = of(input, from);
    return success();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    int64_t to = 0;
    for (int64_t d = 0; d < rankOf(input); ++d) {
      bool isReduced = llvm::is_contained(reduce.getAxes(), d);
      if (isReduced && isBoundedAlong(d))
        return failure();
      if (!isReduced || reduce.getKeepDims())
        result[to++] = isReduced ? Value() : of(input, d);
    }
    return success();
  }
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    for (int64_t d = 0; d < static_cast<int64_t>(result.size()); ++d) {
      result[d] = of(input, d);
      for (Value operand : op->getOperands())
        if (of(operand, d) != result[d] || (d == static_cast<int64_t>(concat.getAxis()) && result[d]))
          return failure();
    }
    return success();
  }
  if (isa<SliceOp, ExpandOp>(op)) {
    if (rankOf(input) != static_cast<int64_t>(result.size()))
      return failure();
    auto slice = dyn_cast<SliceOp>(op);
    for (int64_t d = 0; d < rankOf(input); ++d) {
      result[d] = of(input, d);
      if (!result[d])
        continue;
      bool isWhole = shapeOf(input)[d] == shapeOf(op->getResult(0))[d];
      if (!isWhole || (slice && (slice.getStarts()[d] != 0 || slice.getSteps()[d] != 1)))
        return failure();
    }
    return success();
  }
  return failure();
}

LogicalResult Extents::follow(Operation *op, TensorBuilder &build) {
  // The extents within programs were followed when these were made; what take_first gives holds. Control flow passes by
  // the operators of its nodes again.
  if (isa<TakeFirstOp, LoopOp, IfOp>(op) || !followed.insert(op).second)
    return success();
  if (llvm::none_of(op->getOperands(), [&](Value operand) { return isBounded(operand); }))
    return success();
  if (op->getNumResults() != 1)
    return failure();
  if (settled.contains(op->getResult(0)))
    return success();
  Counts result(rankOf(op->getResult(0)));
  LogicalResult followed = isa<ElementwiseOpInterface>(op) ? elementwise(op, build, result)
                           : isa<ReshapeOp>(op)            ? reshape(cast<ReshapeOp>(op), build, result)
                           : isa<GatherOp, GatherNdOp, GatherElementsOp>(op) ? gather(op, result)
                                                                             : alongOthers(op, result);
  if (failed(followed))
    return failure();
  // Converters have said some themselves.
  if (const Counts *said = find(op->getResult(0)))
    for (auto [count, own] : llvm::zip(result, *said))
      count = own ? own : count;
  if (llvm::any_of(result, [](Value count) { return bool(count); }))
    counts[op->getResult(0)] = result;
  return success();
}

} // namespace sluice::onnximport
