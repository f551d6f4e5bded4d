//===- StepIntegers.cpp - Integers that a step gives ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StepIntegers.h"

#include "dialects/Dataflow/IR/Shapes.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value StepIntegers::number(int64_t value) { return node.reshape(node.integers({value}), {}); }

Value StepIntegers::list(Value integers) {
  return integers ? node.cast(node.reshape(integers, {elementCount(integers.getType())}), index()) : Value();
}

Value StepIntegers::element(Value list, int64_t position) {
  return list ? node.reshape(node.sliceAxis(list, 0, position, 1), {}) : Value();
}

Value StepIntegers::join(ArrayRef<Value> scalars) {
  SmallVector<Value> parts;
  for (Value scalar : scalars)
    parts.push_back(scalar ? node.reshape(scalar, {1}) : Value());
  return llvm::is_contained(parts, Value()) ? Value() : node.concat(parts, 0);
}

Value StepIntegers::clamp(Value x, Value low, Value high) {
  return node.binary(BinaryKind::max, node.binary(BinaryKind::min, x, high), low);
}

Value StepIntegers::divideUp(Value x, Value by) { return node.div(node.add(x, node.sub(by, number(1))), by); }

Value StepIntegers::isEqual(Value x, int64_t value) { return node.compare(ComparePredicate::eq, x, number(value)); }

FailureOr<Value> StepIntegers::axes(size_t input, int64_t rank) {
  Value given = node.input(input);
  if (!isa<IntegerType>(elementTypeOf(given)) || rankOf(given) > 1)
    return node.invalid("its axes are no integers");
  if (failed(node.limit(given, AllowedIndices{-rank, rank - 1, std::nullopt})))
    return failure();
  Value own = list(given);
  return node.select(node.compare(ComparePredicate::lt, own, number(0)), node.add(own, number(rank)), own);
}

Value StepIntegers::sumByAxis(Value axes, Value entries, int64_t rank) {
  if (!axes || !entries)
    return {};
  const int64_t count = shapeOf(axes)[0];
  if (count == 0)
    return node.splat(index(), 0, {rank});
  Value matches = node.compare(ComparePredicate::eq, node.reshape(axes, {count, 1}), node.iota(index(), rank, 1, 2));
  return node.reduce(ReduceKind::sum, node.select(matches, node.reshape(entries, {count, 1}), number(0)), {0}, false);
}

Value StepIntegers::isAmong(Value axes, int64_t rank) {
  Value ones = axes ? node.splat(index(), 1, shapeOf(axes)) : Value();
  return node.binary(BinaryKind::min, sumByAxis(axes, ones, rank), number(1));
}

Value StepIntegers::choose(Value number, int64_t count, llvm::function_ref<Value(int64_t)> alternative) {
  Value chosen = alternative(0);
  for (int64_t i = 1; i < count; ++i)
    chosen = node.select(isEqual(number, i), alternative(i), chosen);
  return chosen;
}

Value StepIntegers::strided(Value x, ArrayRef<NodeContext::Size> sizes, ArrayRef<Value> strides) {
  if (!x)
    return {};
  const int64_t count = elementCount(x.getType()), rank = static_cast<int64_t>(sizes.size());
  if (count == 0) {
    (void)node.unsupported("its shape is not known before the model runs, and its input has no elements");
    return {};
  }
  Value from = number(0);
  Dims rooms;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    rooms.push_back(size.room);
    from = node.add(from, node.mul(node.iota(index(), size.room, static_cast<int64_t>(d), rank), strides[d]));
  }
  // Positions past what holds stay within `x`.
  from = clamp(node.expand(from, rooms), number(0), number(count - 1));
  Value result = node.create<GatherOp>({node.reshape(x, {count}), from}, node.integer("axis", 0));
  for (auto [d, size] : llvm::enumerate(sizes))
    result = node.held(result, static_cast<int64_t>(d), size.count);
  return result;
}

Value StepIntegers::reshape(Value x, ArrayRef<NodeContext::Size> sizes) {
  SmallVector<Value> strides(sizes.size());
  Value stride = number(1);
  for (size_t d = sizes.size(); d-- > 0; stride = node.mul(stride, countOf(sizes[d])))
    strides[d] = stride;
  return strided(x, sizes, strides);
}

} // namespace sluice::onnximport
