//===- StepIntegers.cpp - Integers that a step gives ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StepIntegers.h"

#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value StepIntegers::scalar(int64_t value) { return build.reshape(build.integers({value}), {}); }

Value StepIntegers::vectorOf(Value integers) {
  return integers ? build.cast(build.reshape(integers, {elementCount(integers.getType())}), index()) : Value();
}

Value StepIntegers::elementOf(Value vector, int64_t position) {
  return vector ? build.reshape(build.sliceAxis(vector, 0, position, 1), {}) : Value();
}

Value StepIntegers::joined(ArrayRef<Value> scalars) {
  SmallVector<Value> parts;
  for (Value scalar : scalars)
    parts.push_back(scalar ? build.reshape(scalar, {1}) : Value());
  return llvm::is_contained(parts, Value()) ? Value() : build.concat(parts, 0);
}

Value StepIntegers::clamp(Value x, Value low, Value high) {
  return build.binary(BinaryKind::max, build.binary(BinaryKind::min, x, high), low);
}

Value StepIntegers::divideUp(Value x, Value by) {
  Value less = build.sub(by, scalar(1));
  return build.div(build.add(x, less), by);
}

Value StepIntegers::isEqual(Value x, int64_t value) { return build.compare(ComparePredicate::eq, x, scalar(value)); }

FailureOr<Value> StepIntegers::axes(size_t input, int64_t rank) {
  Value given = build.input(input);
  if (!isa<IntegerType>(elementTypeOf(given)) || rankOf(given) > 1)
    return build.invalid("its axes are no integers");
  if (failed(build.limit(given, AllowedIndices{-rank, rank - 1, std::nullopt})))
    return failure();
  Value own = vectorOf(given);
  Value fromEnd = build.add(own, scalar(rank));
  Value isNegative = build.compare(ComparePredicate::lt, own, scalar(0));
  return build.select(isNegative, fromEnd, own);
}

Value StepIntegers::sumByAxis(Value axes, Value entries, int64_t rank) {
  if (!axes || !entries)
    return {};
  const int64_t count = shapeOf(axes)[0];
  if (count == 0)
    return build.splat(index(), 0, {rank});
  Value along = build.iota(index(), rank, 1, 2);
  Value matches = build.compare(ComparePredicate::eq, build.reshape(axes, {count, 1}), along);
  Value rows = build.reshape(entries, {count, 1});
  Value zero = scalar(0);
  return build.reduce(ReduceKind::sum, build.select(matches, rows, zero), {0}, false);
}

Value StepIntegers::isAmong(Value axes, int64_t rank) {
  Value ones = axes ? build.splat(index(), 1, shapeOf(axes)) : Value();
  Value times = sumByAxis(axes, ones, rank);
  return build.binary(BinaryKind::min, times, scalar(1));
}

Value StepIntegers::choose(Value chosen, int64_t count, llvm::function_ref<Value(int64_t)> alternative) {
  Value result = alternative(0);
  for (int64_t i = 1; i < count; ++i) {
    Value other = alternative(i), isOther = isEqual(chosen, i);
    result = build.select(isOther, other, result);
  }
  return result;
}

Value StepIntegers::strided(Value x, ArrayRef<NodeContext::Size> sizes, ArrayRef<Value> strides) {
  if (!x)
    return {};
  const int64_t count = elementCount(x.getType()), rank = static_cast<int64_t>(sizes.size());
  if (count == 0) {
    (void)build.unsupported("its shape is not known before the model runs, and its input has no elements");
    return {};
  }
  Value from = scalar(0);
  Dims rooms;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    rooms.push_back(size.room);
    Value along = build.iota(index(), size.room, static_cast<int64_t>(d), rank);
    from = build.add(from, build.mul(along, strides[d]));
  }
  // Positions past what holds stay within `x`.
  Value first = scalar(0), last = scalar(count - 1);
  from = clamp(build.expand(from, rooms), first, last);
  Value result = build.create<GatherOp>({build.reshape(x, {count}), from}, build.integer("axis", 0));
  for (auto [d, size] : llvm::enumerate(sizes))
    result = build.held(result, static_cast<int64_t>(d), size.count);
  return result;
}

Value StepIntegers::reshape(Value x, ArrayRef<NodeContext::Size> sizes) {
  SmallVector<Value> strides(sizes.size());
  Value stride = scalar(1);
  for (size_t d = sizes.size(); d-- > 0;) {
    strides[d] = stride;
    stride = build.mul(stride, countOf(sizes[d]));
  }
  return strided(x, sizes, strides);
}

} // namespace sluice::onnximport
