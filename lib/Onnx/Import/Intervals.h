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

/// Values from `low` to `high`; the limits of int64_t: no bound is known.
struct Interval {
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  int64_t low = std::numeric_limits<int64_t>::min(), high = kNone;

  bool hasHigh() const { return high != kNone; }
  bool hasLow() const { return low != std::numeric_limits<int64_t>::min(); }
};

/// What all elements of a tensor of integers or truth values are within, as far as the operators that compute it show:
/// constants, counts and positions of elements, sums and products of these. O(operators looked at), a few dozen at
/// most.
Interval intervalOf(mlir::Value value);

/// Values from `low` to `high`; infinities: no bound is known.
struct RealInterval {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();

  bool hasHigh() const { return high < std::numeric_limits<double>::infinity(); }
  bool hasLow() const { return low > -std::numeric_limits<double>::infinity(); }
};

/// The same of numbers of any type: constants, what integers are cast to, sums, products and quotients. `bounds`: what
/// the user says of inputs; may be null.
RealInterval realIntervalOf(mlir::Value value, const SaidBounds *bounds);
/// What the user says, within what is known.
RealInterval within(RealInterval known, const ValueBounds &given);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_INTERVALS_H
