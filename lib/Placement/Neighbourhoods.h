//===- Neighbourhoods.h - Large-neighbourhood search ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_NEIGHBOURHOODS_H
#define SLUICE_LIB_PLACEMENT_NEIGHBOURHOODS_H

#include "ListScheduler.h"

#include <limits>

namespace sluice {

struct TimedSchedule {
  ListSchedule schedule;
  int64_t makespanNs = std::numeric_limits<int64_t>::max(); ///< Simulated.
};

/// The result is never worse than the first of `starts`, which are in ascending order and
/// keep the capacities. The number of chains is fixed. Each chain has its share of the
/// evaluations and its own random numbers.
TimedSchedule searchNeighbourhoods(const SolverInput &input, std::span<const TimedSchedule> starts);

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_NEIGHBOURHOODS_H
