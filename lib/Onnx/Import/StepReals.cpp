//===- StepReals.cpp - Real numbers that a step gives ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "StepReals.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

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
  constexpr double kMostElements = 0x1p40;
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
  auto given = build.bounds->find(build.proto.input(position));
  return given == build.bounds->end() ? known : within(known, given->second);
}

} // namespace sluice::onnximport
