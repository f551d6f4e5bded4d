//===- Intervals.h - Bounds of integers that are computed -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_INTERVALS_H
#define SLUICE_LIB_ONNX_IMPORT_INTERVALS_H

#include "SaidBounds.h"

#include "mlir/IR/Value.h"

#include <cstdint>
#include <limits>

namespace sluice::onnximport {

/// The values from `low` to `high`; the limits of int64_t mean that no bound is known.
struct Interval {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t low = std::numeric_limits<int64_t>::min(), high = kNone;

  bool hasHigh() const { return high != kNone; }
  bool hasLow() const { return low != std::numeric_limits<int64_t>::min(); }
};

/// An interval that contains all elements of a tensor of integers or truth values. It follows from the operators that
/// compute the tensor: constants, counts and positions of elements, and sums and products of these. Visits at most a
/// few dozen operators.
Interval intervalOf(mlir::Value value);

/// The values from `low` to `high`; infinities mean that no bound is known.
struct RealInterval {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  bool hasHigh() const { return high < std::numeric_limits<double>::infinity(); }
  bool hasLow() const { return low > -std::numeric_limits<double>::infinity(); }
};

/// The same for numbers of any type: constants, casts of integers, sums, products and quotients. `bounds` has the
/// user's bounds of inputs; may be null.
RealInterval realIntervalOf(mlir::Value value, const SaidBounds *bounds);
/// The intersection of the user's bound and the known interval.
RealInterval within(RealInterval known, const ValueBounds &given);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_INTERVALS_H
