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
  if (!vector)
    return {};
  // Of a vector that is put together, some parts are known.
  auto [list, at] = NodeContext::sourceOf(vector, position);
  return build.reshape(rankOf(list) == 0 ? list : build.sliceAxis(list, 0, at, 1), {});
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

Value StepIntegers::clamp(Value x, int64_t low, int64_t high) {
  Value least = scalar(low), most = scalar(high);
  return clamp(x, least, most);
}

Value StepIntegers::isAtLeast(Value x, int64_t least) { return build.compare(ComparePredicate::ge, x, scalar(least)); }

Value StepIntegers::onlyIf(Value condition, Value count) { return build.select(condition, count, scalar(-1)); }

/// Takes a part of a tensor that nothing reads. The kernel that takes it fails if the extent is negative.
LogicalResult StepIntegers::require(Value condition) {
  if (!build.found || build.mayNotRun)
    return success();
  Value one = build.splat(index(), 1, {1}), count = onlyIf(condition, scalar(1));
  Value checked = build.held(one, 0, count);
  if (!checked)
    return failure();
  if (build.whole(checked) == checked)
    return build.unsupported("its operands are known only when the model runs, and the model already has the largest "
                             "supported number of extents that depend on data");
  return success();
}

Value StepIntegers::divideUp(Value x, Value by) {
  Value less = build.sub(by, scalar(1));
  return build.div(build.add(x, less), by);
}

Value StepIntegers::isEqual(Value x, int64_t value) { return build.compare(ComparePredicate::eq, x, scalar(value)); }

FailureOr<Value> StepIntegers::axes(size_t input, int64_t rank) {
  Value given = build.input(input);
  if (!isa<IntegerType>(elementTypeOf(given)) || rankOf(given) > 1)
    return build.invalid("its axes must be a list of integers");
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

Value StepIntegers::areDistinct(Value axes, int64_t rank) {
  Value among = isAmong(axes, rank);
  Value distinct = build.reduce(ReduceKind::sum, among, {0}, false);
  return distinct ? isEqual(distinct, shapeOf(axes)[0]) : Value();
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

Value StepIntegers::gather(Value x, int64_t dimension, Value places) {
  if (!x)
    return {};
  Value within = clamp(places, 0, shapeOf(x)[dimension] - 1);
  return build.create<GatherOp>({x, within}, build.integer("axis", dimension));
}

Value StepIntegers::strided(Value x, ArrayRef<NodeContext::Size> sizes, ArrayRef<Value> strides) {
  if (!x)
    return {};
  const int64_t count = elementCount(x.getType()), rank = static_cast<int64_t>(sizes.size());
  Value from = scalar(0);
  Dims rooms;
  for (auto [d, size] : llvm::enumerate(sizes)) {
    rooms.push_back(size.room);
    Value along = build.iota(index(), size.room, static_cast<int64_t>(d), rank);
    from = build.add(from, build.mul(along, strides[d]));
  }
  Value result;
  if (count == 0) {
    result = build.splat(elementTypeOf(x), 0, rooms);
  } else {
    // Positions past what holds stay within `x`.
    from = clamp(build.expand(from, rooms), 0, count - 1);
    result = build.create<GatherOp>({build.reshape(x, {count}), from}, build.integer("axis", 0));
  }
  return hold(result, sizes);
}

Value StepIntegers::padTo(Value x, ArrayRef<NodeContext::Size> sizes) {
  Dims rooms;
  for (const NodeContext::Size &size : sizes)
    rooms.push_back(size.room);
  if (!x || rooms.empty() || (!build.keepsAll() && ArrayRef<int64_t>(rooms) == shapeOf(x)))
    return x;
  Value zero = build.splat(elementTypeOf(x), 0);
  return build.create<PadOp>({x, zero},
                             {build.attribute("mode", PadModeAttr::get(build.context(), PadMode::constant)),
                              build.list("low", Dims(rooms.size(), 0))},
                             {build.type(elementTypeOf(x), rooms)});
}

Value StepIntegers::hold(Value x, ArrayRef<NodeContext::Size> sizes) {
  for (auto [d, size] : llvm::enumerate(sizes))
    x = build.held(x, static_cast<int64_t>(d), size.count);
  return x;
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

//===----------------------------------------------------------------------===//
// AxesChoice
//===----------------------------------------------------------------------===//

FailureOr<AxesChoice> AxesChoice::create(NodeContext &node, Value axes, ArrayRef<int64_t> candidates, int64_t size) {
  constexpr size_t kMostSets = 70; // There are 70 sets of 4 of 8 axes.
  const auto count = static_cast<int64_t>(candidates.size());
  if (size > count)
    return node.invalid("it names " + Twine(size) + " axes, and its input has only " + Twine(count));
  AxesChoice choice(node);
  // Enumerates the sets in lexicographic order of positions in `candidates`.
  for (Dims at = trailingAxes(0, size);;) {
    if (choice.sets.size() == kMostSets)
      return node.unsupported("its axes are known only when the model runs, and there are more than " +
                              Twine(kMostSets) + " possible sets of axes");
    Dims &set = choice.sets.emplace_back();
    for (int64_t position : at)
      set.push_back(candidates[position]);
    int64_t last = size - 1;
    while (last >= 0 && at[last] == count - size + last)
      --last;
    if (last < 0)
      break;
    ++at[last];
    for (int64_t i = last + 1; i < size; ++i)
      at[i] = at[i - 1] + 1;
  }
  // A set's number has one bit for each axis. Axes that repeat give a number of fewer bits, which no set has.
  StepIntegers step(node);
  const int64_t rank = candidates.empty() ? 0 : candidates.back() + 1;
  Dims bits;
  for (int64_t axis = 0; axis < rank; ++axis)
    bits.push_back(int64_t(1) << axis);
  Value among = step.isAmong(axes, rank), weights = node.integers(bits);
  Value weighed = node.mul(among, weights);
  Value number = node.reduce(ReduceKind::sum, weighed, {0}, false);
  for (const Dims &set : choice.sets) {
    int64_t own = 0;
    for (int64_t axis : set)
      own += int64_t(1) << axis;
    choice.isSet.push_back(step.isEqual(number, own));
  }
  return choice;
}

FailureOr<SmallVector<NodeContext::Size>> AxesChoice::sizes(llvm::function_ref<Dims(ArrayRef<int64_t>)> shapeOf,
                                                            bool isSure) {
  SmallVector<Dims> shapes;
  for (const Dims &set : sets)
    shapes.push_back(shapeOf(set));
  const size_t rank = shapes.front().size();
  Value extents = build.integers(Dims(rank, -1));
  for (auto [i, shape] : llvm::enumerate(shapes)) {
    Value own = build.integers(shape);
    extents = build.select(isSet[i], own, extents);
  }
  StepIntegers step(build);
  SmallVector<NodeContext::Size> result(rank);
  for (size_t d = 0; d < rank; ++d) {
    for (const Dims &shape : shapes)
      result[d].room = std::max(result[d].room, shape[d]);
    if (build.decide(llvm::all_of(shapes, [&](const Dims &shape) { return shape[d] == shapes.front()[d]; })))
      continue;
    result[d].room = build.roomOf(result[d].room, d);
    result[d].count = step.elementOf(extents, static_cast<int64_t>(d));
    isSure = true; // This extent is negative where the axes are none of the sets.
  }
  if (isSure)
    return result;
  Value isAny = isSet.front();
  for (Value other : ArrayRef(isSet).drop_front())
    isAny = build.binary(BinaryKind::logical_or, isAny, other);
  if (failed(step.require(isAny)))
    return failure();
  return result;
}

Value AxesChoice::choose(llvm::function_ref<Value(ArrayRef<int64_t>)> alternative) {
  Value result = alternative(sets.front());
  for (size_t i = 1; i < sets.size(); ++i) {
    Value other = alternative(sets[i]);
    result = build.select(isSet[i], other, result);
  }
  return result;
}

Value StepIntegers::cut(Value x, int64_t axis, Value start, const NodeContext::Size &size) {
  if (!x || !start)
    return {};
  const int64_t extent = shapeOf(x)[axis];
  Value none = build.splat(elementTypeOf(x), 0);
  if (extent == 0) {
    Dims dims(shapeOf(x));
    dims[axis] = size.room;
    return build.expand(none, dims);
  }
  Value place = build.add(positions(size.room), start);
  Value first = scalar(0), last = scalar(extent - 1);
  Value within = clamp(place, first, last);
  Value isInside = laid(build.compare(ComparePredicate::eq, place, within), axis, rankOf(x));
  Value taken = build.create<GatherOp>({x, within}, build.integer("axis", axis));
  return build.select(isInside, taken, none);
}

Dims StepIntegers::declaredAt(ArrayRef<int64_t> axes, int64_t rank) const {
  const std::optional<Dims> declared = build.declaredShape(0);
  Dims result;
  for (int64_t axis : axes)
    result.push_back(declared && static_cast<int64_t>(declared->size()) == rank ? (*declared)[axis] : -1);
  return result;
}

Value StepIntegers::laid(Value vector, int64_t axis, int64_t rank) {
  Dims dims(rank, 1);
  dims[axis] = vector ? shapeOf(vector)[0] : 0;
  return build.reshape(vector, dims);
}

} // namespace sluice::onnximport
