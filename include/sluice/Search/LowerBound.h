//===- LowerBound.h - What no plan can beat ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_LOWERBOUND_H
#define SLUICE_SEARCH_LOWERBOUND_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"

#include <span>
#include <vector>

namespace sluice {

/// Each bound alone holds for the makespan of every valid plan of the steady
/// step with this placement, whatever its order and addresses; linkNs and splitNs
/// only where each operator runs once.
struct LowerBounds {
  int64_t computeNs = 0; ///< Work of the busiest device, with what must precede and follow.
  int64_t pathNs = 0;    ///< Longest chain of operators and copies between memories.
  int64_t linkNs = 0;    ///< Bytes that must enter and leave the busiest memory.
  /// Work and bytes that come before some operator, and those that come after.
  int64_t splitNs = 0;
  /// As linkNs and splitNs, for plans that may run operators again.
  int64_t recomputeNs = 0;

  /// The best that holds for every plan.
  int64_t always() const;
  /// The best that holds where each operator runs once.
  int64_t once() const;
};

/// `placement` has a device per operator, `capacities` bytes per memory. Looks
/// at no more than 256 moments of the step for the link bound, fewer of a large
/// graph's, so that it takes time linear in the graph.
LowerBounds planLowerBounds(const Graph &graph, const Machine &machine, const CostTable &costs,
                            std::span<const int64_t> capacities, std::span<const DeviceId> placement);

} // namespace sluice

#endif // SLUICE_SEARCH_LOWERBOUND_H
