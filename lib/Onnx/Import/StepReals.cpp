//===- StepReals.cpp - Real numbers that a step gives ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StepReals.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

static constexpr double kMostElements = 0x1p40;

Value StepReals::plus(Value x, double addend) {
  Value other = number(addend);
  return build.add(x, other);
}

Value StepReals::times(Value x, double factor) {
  Value other = number(factor);
  return build.mul(x, other);
}

Value StepReals::compare(ComparePredicate predicate, Value x, double with) {
  Value other = number(with);
  return build.compare(predicate, x, other);
}

Value StepReals::indices(Value x, int64_t extent) {
  Value first = number(0), last = number(static_cast<double>(extent - 1));
  Value within = build.binary(BinaryKind::max, build.binary(BinaryKind::min, x, last), first);
  // NaN becomes 0.
  return build.cast(within, build.mlir().getI64Type(), /*saturate=*/true);
}

Value StepReals::count(Value x, Value isValid) {
  Value isSize = compare(ComparePredicate::ge, x, 0);
  if (isValid)
    isSize = build.binary(BinaryKind::logical_and, isSize, isValid);
  Value none = number(kMostElements);
  // NaN is no size either.
  Value sized = build.select(isSize, build.binary(BinaryKind::min, x, none), none);
  return build.cast(sized, build.mlir().getI64Type(), /*saturate=*/true);
}

RealInterval StepReals::intervalAt(size_t index) {
  const RealInterval known = intervalOf(build.input(index));
  const auto position = static_cast<int>(index);
  if (!build.bounds || position >= build.proto.input_size())
    return known;
  const ValueBounds *given = getConstant(build.input(index)) ? nullptr : build.bounds->use(build.proto.input(position));
  return given ? within(known, *given) : known;
}

FailureOr<NodeContext::Size> StepReals::sizeAt(size_t index, StringRef what, int64_t otherwise) {
  if (!build.has(index))
    return build.invalid("it has no " + what);
  Value given = build.input(index);
  if (elementCount(given.getType()) != 1)
    return build.invalid("its " + what + " must be one number");
  if (isa<IntegerType>(elementTypeOf(given))) {
    FailureOr<SmallVector<NodeContext::Size>> sizes = build.sizesAt(index, what, Dims{otherwise});
    if (failed(sizes))
      return failure();
    return sizes->front();
  }
  double most = intervalAt(index).high;
  if (most >= kMostElements && otherwise >= 0)
    most = static_cast<double>(otherwise);
  if (most >= kMostElements)
    return build.unsupported(
        "its " + what + " is not known before the model runs and has no upper bound, give an upper bound by --bound " +
        build.proto.input(static_cast<int>(index)) + "=N");
  Value size = count(floor(of(build.reshape(given, {}))));
  if (!size)
    return failure();
  if (std::optional<SmallVector<int64_t>> known = getIntegers(size))
    return NodeContext::Size{known->front(), {}};
  return NodeContext::Size{build.roomOf(std::max<int64_t>(static_cast<int64_t>(most), 0), index), size};
}

} // namespace sluice::onnximport
