//===- Crossing.h - From which size on one way gains ------------*- C++ -*-===//
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

enum class CrossingState : uint8_t {
  At,     ///< From a size on, which may be the smallest one.
  Never,  ///< At no size that was measured.
  Unknown ///< The measurements are too few, or contradict each other.
};

struct Crossing {
  CrossingState state = CrossingState::Unknown;
  double size = 0; ///< With At: the smallest size known to gain.
};

/// `count` sizes from `least` to `most`, each the same factor above the one before; two at least.
std::vector<double> logSpaced(double least, double most, size_t count);

/// Measures `gain` at ascending sizes, then bisects between the last that loses and the first that gains, by geometric
/// means, until they are within a factor `precision`. gain(size) > 1 where the way under test is faster; nothing where
/// it cannot be measured, which ends the search. Wins and losses that alternate over more than a factor `noise` of
/// sizes are a contradiction.
Crossing findCrossing(const std::vector<double> &sizes, const std::function<std::optional<double>(double)> &gain,
                      double precision = 1.15, double noise = 8);

} // namespace sluice

#endif // SLUICE_OPTIMIZE_CROSSING_H
