//===- Alternatives.cpp - Values that a step chooses from -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Alternatives.h"

#include "Lists.h"
#include "Ranks.h"
#include "lib/Onnx/TensorTypes.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

using onnxtensor::elementTypeOf;
using onnxtensor::rankOf;
using onnxtensor::shapeOf;

Value Alternatives::fail(const std::string &what) {
  if (message.empty())
    message = what;
  return {};
}

Value Alternatives::padded(Value x, int64_t dimension, int64_t room) {
  Dims rest(shapeOf(x));
  rest[dimension] = room - rest[dimension];
  Value zeros = build.splat(elementTypeOf(x), 0, rest);
  Value result = build.concat({x, zeros}, dimension);
  if (result)
    extents.settle(result, {});
  return result;
}

/// With dimensions of extent 1 in front, where the other has these too.
Value Alternatives::raised(Value x, Value other) {
  const int64_t added = rankOf(other) - rankOf(x);
  if (added <= 0 || extents.isBounded(x) ||
      !llvm::all_of(shapeOf(other).take_front(added), [](int64_t extent) { return extent == 1; }))
    return x;
  Dims dims(added, 1);
  dims.append(shapeOf(x).begin(), shapeOf(x).end());
  Value result = build.reshape(x, dims);
  if (result)
    build.ranks->set(result, build.ranks->leastOf(x));
  return result ? result : x;
}

Value Alternatives::chooseTensor(Value condition, Value one, Value other) {
  Value lower = raised(one, other);
  other = raised(other, one);
  one = lower;
  if (rankOf(one) != rankOf(other) || elementTypeOf(one) != elementTypeOf(other)) {
    std::string types;
    llvm::raw_string_ostream(types) << one.getType() << " and " << other.getType();
    return fail("their types are " + types);
  }
  const int64_t rank = rankOf(one);
  SmallVector<Value> counts(rank);
  Value a = one, c = other;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t extent = shapeOf(one)[d], otherExtent = shapeOf(other)[d];
    Value count = extents.of(one, d), otherCount = extents.of(other, d);
    // What differs at the upper bounds of ranges is padded at all sizes.
    const bool differs = build.roomOf(extent != otherExtent ? 1 : 0) != 0;
    if (differs || count != otherCount) {
      Value own = count ? count : scalar(extent), others = otherCount ? otherCount : scalar(otherExtent);
      counts[d] = build.select(condition, own, others);
    } else {
      counts[d] = count;
    }
    if (!differs)
      continue;
    const int64_t room = build.roomOf(std::max(extent, otherExtent)),
                  larger = build.roomOf(extent > otherExtent ? 1 : 0);
    if (extent > room || otherExtent > room)
      return fail("which one is larger in dimension " + std::to_string(d) + " depends on the sizes within the ranges");
    if (larger == 0 || build.keepsAll())
      a = a ? padded(a, d, room) : Value();
    if (larger != 0 || build.keepsAll())
      c = c ? padded(c, d, room) : Value();
  }
  Value result = build.select(condition, a, c);
  if (result)
    build.ranks->set(result, std::min(build.ranks->leastOf(one), build.ranks->leastOf(other)));
  if (result && llvm::any_of(counts, [](Value count) { return bool(count); }))
    extents.settle(result, counts);
  return result;
}

Value Alternatives::chooseList(Value condition, Value one, Value other) {
  SmallVector<Value> first = elementsOf(one), second = elementsOf(other), elements;
  for (size_t k = 0; k < std::max(first.size(), second.size()); ++k) {
    const bool areBoth = k < std::min(first.size(), second.size());
    elements.push_back(areBoth ? choose(condition, first[k], second[k]) : (k < first.size() ? first : second)[k]);
    if (!elements.back())
      return {};
  }
  Value length = lengthOf(one), otherLength = lengthOf(other);
  if (first.size() != second.size() || length != otherLength) {
    Value own = length ? length : scalar(static_cast<int64_t>(first.size())),
          others = otherLength ? otherLength : scalar(static_cast<int64_t>(second.size()));
    length = build.select(condition, own, others);
  }
  return makeList(build.mlir(), build.loc(), elements, length);
}

Value Alternatives::chooseOptional(Value condition, Value one, Value other) {
  const Type bit = build.mlir().getI1Type();
  auto isPresent = [&](Value value) {
    return isPossible(value) ? presenceOf(value) : build.splat(bit, isAbsent(value) ? 0 : 1);
  };
  auto valueOf = [](Value value) { return isPossible(value) ? heldBy(value) : isAbsent(value) ? Value() : value; };
  Value first = valueOf(one), second = valueOf(other);
  if (!first && !second)
    return one;
  Value own = isPresent(one), others = isPresent(other);
  Value present = build.select(condition, own, others);
  Value held = first && second ? choose(condition, first, second) : first ? first : second;
  return held && present ? makePossible(build.mlir(), build.loc(), held, present) : Value();
}

Value Alternatives::choose(Value condition, Value one, Value other) {
  if (!one || !other)
    return {};
  if (one == other)
    return one;
  if (isAbsent(one) || isAbsent(other) || isPossible(one) || isPossible(other))
    return chooseOptional(condition, one, other);
  if (isList(one) != isList(other))
    return fail("one is a sequence and the other is a tensor");
  return isList(one) ? chooseList(condition, one, other) : chooseTensor(condition, one, other);
}

Value Alternatives::choose(Value number, ArrayRef<Value> values) {
  Value chosen = values.front();
  for (size_t k = 1; k < values.size() && chosen; ++k) {
    Value isBehind = build.compare(ComparePredicate::ge, number, scalar(static_cast<int64_t>(k)));
    chosen = choose(isBehind, values[k], chosen);
  }
  return chosen;
}

} // namespace sluice::onnximport
