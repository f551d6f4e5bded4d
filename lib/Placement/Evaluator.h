//===- Evaluator.h - How long an order takes --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_EVALUATOR_H
#define SLUICE_LIB_PLACEMENT_EVALUATOR_H

#include "StepWalk.h"

#include <limits>

namespace sluice {

/// planOfPlacement, with an index that exists already.
Plan planOfPlacement(const StepIndex &index, std::span<const DeviceId> placement, std::span<const OperatorId> order);

/// Computes the makespan of the simulator, by the timer alone if it is exact.
class Evaluator {
public:
  explicit Evaluator(const StepIndex &index) : index(index), timer(index) {}

  /// Returns some number above `limitNs` as soon as the makespan certainly exceeds it.
  int64_t makespanNs(std::span<const DeviceId> placement, std::span<const OperatorId> order,
                     int64_t limitNs = std::numeric_limits<int64_t>::max()) {
    const int64_t least = timer.time(placement, order, limitNs);
    if (least > limitNs || !index.timesAreBounds)
      return least;
    return simulate(index.graph, index.machine, *index.problem.costs, planOfPlacement(index, placement, order))
        .makespanNs;
  }

private:
  const StepIndex &index;
  StepTimer timer;
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_EVALUATOR_H
