//===- Crossing.h - The size from which on a variant is faster --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_CROSSING_H
#define SLUICE_OPTIMIZE_CROSSING_H

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace sluice {

/// The result of comparing a variant with a reference at several sizes.
enum class CrossingState : uint8_t {
  At,     ///< The variant is faster from some size on, which may be the smallest one.
  Never,  ///< The variant is not faster at any measured size.
  Unknown ///< There are too few measurements, or they contradict each other.
};

struct Crossing {
  CrossingState state = CrossingState::Unknown;
  double size = 0; ///< If `state` is At: the smallest size at which the variant is known to be faster.
};

/// A geometric sequence of `count` sizes (at least 2) from `least` to `most`.
std::vector<double> logSpaced(double least, double most, size_t count);

/// Measures `gain` at ascending sizes. Then bisects by geometric means between the last size at which the variant is
/// slower and the first size at which it is faster, until the ratio of the two sizes is at most `precision`. gain(size)
/// > 1 means that the variant is faster. An empty result of `gain` means that the size cannot be measured, and ends the
/// search. There are two further cases of Unknown. First, the variant is slower at the largest size but faster at a
/// smaller one. Second, the measurements contradict each other: the size from which on the variant is always faster is
/// more than `noise` times the smallest size at which it is faster.
Crossing findCrossing(const std::vector<double> &sizes, const std::function<std::optional<double>(double)> &gain,
                      double precision = 1.15, double noise = 8);

} // namespace sluice

#endif // SLUICE_OPTIMIZE_CROSSING_H
