//===- LeastMemory.h - Least memory for a given slowdown --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_LEASTMEMORY_H
#define SLUICE_SEARCH_LEASTMEMORY_H

#include "sluice/Search/Search.h"

namespace sluice {

/// A memory limit that was tried.
struct TriedBudget {
  std::vector<int64_t> capacityBytes; ///< The limit of each memory.
  /// Makespan of the best plan found; empty if no plan exists or none was found in time.
  std::optional<int64_t> makespanNs;
  int64_t lowerBoundNs = 0; ///< Lower bound of all plans within this limit; 0 if unknown.
};

struct LeastMemoryResult {
  /// The result for the least limit, with two exceptions. `evaluations` is the sum over all limits that were tried.
  /// `idealNs` is the ideal time of the first limit that was tried; slowdowns are relative to this time.
  SearchResult search;
  /// Per memory: the least limit. For limitableMemories(), it is the number of bytes that the
  /// plan uses.
  std::vector<int64_t> capacityBytes;
  std::vector<TriedBudget> tried; ///< The limits in the order of trials. The first are the problem's own capacities.
};

/// Finds the least memory limit for which the search finds a plan of at most `slowdown`
/// times the ideal; `slowdown` is finite and at least 1. The problem's own capacities are
/// tried first, and the placement of their plan is kept. Up to seven smaller limits follow, in
/// all limitableMemories() at once. The first of these smaller limits is the minimum. Each further
/// limit is the mean of the last limit that was too small and the number of bytes that the last
/// plan within `slowdown` uses. Each of the eight limits gets an eighth of the budget in `params`. If the
/// user stops the search, the least limit so far is the result.
///
/// This is a heuristic: a longer search may find plans for less memory. If lowerBoundNs of a
/// limit exceeds slowdown x ideal, no plan within this limit is fast enough. Fails as solveSearch
/// does on the problem, with Infeasible if even the plan for the problem's own capacities exceeds
/// slowdown x ideal, and with InvalidInput if there are no limitableMemories().
Expected<LeastMemoryResult> findLeastMemory(const SearchProblem &problem, double slowdown,
                                            const SearchParams &params = {});

} // namespace sluice

#endif // SLUICE_SEARCH_LEASTMEMORY_H
