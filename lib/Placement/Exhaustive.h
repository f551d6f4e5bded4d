//===- Exhaustive.h - Branch and bound over a few operators -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_EXHAUSTIVE_H
#define SLUICE_LIB_PLACEMENT_EXHAUSTIVE_H

#include "ListScheduler.h"

namespace sluice {

inline constexpr size_t kExhaustiveOperators = 12;
/// A step computes a bound. An evaluation simulates a whole order.
inline constexpr int64_t kStepsPerEvaluation = 20;

bool isSmallEnough(const SolverInput &input);
/// Improves a schedule, or finds one if `bestNs` is the greatest integer. Returns true if
/// the search is complete: the schedule is optimal, or there is none.
bool searchExhaustively(const SolverInput &input, ListSchedule &best, int64_t &bestNs);

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_EXHAUSTIVE_H
