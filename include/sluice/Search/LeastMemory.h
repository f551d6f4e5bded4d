//===- LeastMemory.h - How little memory will do ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_LEASTMEMORY_H
#define SLUICE_SEARCH_LEASTMEMORY_H

#include "sluice/Search/Search.h"

namespace sluice {

/// A budget that was searched under.
struct TriedBudget {
  std::vector<int64_t> capacityBytes; ///< Per memory.
  /// Of the best plan found; empty: none exists, or none was found in time.
  std::optional<int64_t> makespanNs;
  int64_t lowerBoundNs = 0; ///< No plan within this budget is faster; 0: not known.
};

struct LeastMemoryResult {
  /// Of the least budget; its evaluations are those of all budgets, its ideal is
  /// the first one's, which slowdowns are of.
  SearchResult search;
  /// Per memory: that budget, which the plan uses up in each accelerator's.
  std::vector<int64_t> capacityBytes;
  std::vector<TriedBudget> tried; ///< In the order tried; the first is the problem's own.
};

/// The least budget whose plan found takes at most `slowdown` (at least 1, finite)
/// times the ideal: halves, seven times, what lies between the accelerators' least
/// working sets and their peaks (or the problem's capacities, where those are
/// less), in all of them at once. The problem's own capacities are tried first and
/// their plan's placement is kept. `params` says what all budgets together may
/// take, an eighth each; a stop by the user leaves the least found so far.
///
/// A heuristic in that a longer search may find plans for less; a budget whose
/// lowerBoundNs is above slowdown x ideal has none. Fails as solveSearch does on
/// the problem itself; Infeasible where its plan is too slow already, InvalidInput
/// where no accelerator computes.
Expected<LeastMemoryResult> findLeastMemory(const SearchProblem &problem, double slowdown,
                                            const SearchParams &params = {});

} // namespace sluice

#endif // SLUICE_SEARCH_LEASTMEMORY_H
