//===- LeastMemory.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The search bisects the capacity of all accelerators together, between the least capacity that any plan needs and the
// capacity of the best plan so far. A plan within the allowed slowdown lowers the upper end to what its arenas really
// take. Any other result raises the lower end. The placement of the first plan is kept. Each step has an equal part of
// the budget.
//
//===----------------------------------------------------------------------===//

#include "sluice/Search/LeastMemory.h"

#include "sluice/Search/MemoryOption.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>

namespace sluice {
namespace {

constexpr int kBudgets = 8;

class Bisection {
public:
  Bisection(const SearchProblem &problem, double slowdown, const SearchParams &params)
      : problem(problem), slowdown(slowdown), share(params), machine(*problem.machine) {
    share.timeNs = params.timeNs > 0 ? std::max<int64_t>(params.timeNs / kBudgets, 1) : 0;
    share.evaluations = params.evaluations > 0 ? std::max<int64_t>(params.evaluations / kBudgets, 1) : 0;
    memories = limitableMemories(machine);
  }

  Expected<LeastMemoryResult> run() {
    if (!(slowdown >= 1 && std::isfinite(slowdown)))
      return makeError(ErrorCode::InvalidInput, "the search for the least memory cannot allow a slowdown of ", slowdown,
                       ", give a number of at least 1");
    if (memories.empty())
      return makeError(ErrorCode::InvalidInput, "machine '", machine.name,
                       "' has no accelerator whose memory could be reduced, option '--inference', name a machine with "
                       "an accelerator");
    Expected<SearchResult> own = solveSearch(problem, share);
    result.tried.push_back(tried(problem.capacityBytes, own));
    if (!own)
      return propagate(own);
    idealNs = own->idealNs;
    if (!isFast(*own))
      return makeError(ErrorCode::Infeasible, "the plan takes ", formatDuration(own->makespanNs), ", ",
                       ratioOf(own->makespanNs), " times the ideal, even with all of memory '",
                       machine.memory(memories.front()).name,
                       "', option '--inference', give a greater slowdown or more --memory");
    problem.placement = own->plan.placement;
    std::vector<int64_t> low = problem.capacityBytes;
    for (MemoryId memory : memories)
      low[memory.index()] = std::min(low[memory.index()], own->minimumBytes[memory.index()].bytes);
    keep(std::move(*own));
    for (int i = 1; i < kBudgets && !stoppedByUser(); ++i) {
      // The first is the least there is: it may do.
      std::vector<int64_t> budget = low;
      if (i > 1)
        for (MemoryId memory : memories)
          budget[memory.index()] =
              alignUp(low[memory.index()] + (result.capacityBytes[memory.index()] - low[memory.index()]) / 2);
      if (i > 1 && (budget == low || budget == result.capacityBytes))
        break;
      problem.capacityBytes = budget;
      Expected<SearchResult> found = solveSearch(problem, share);
      result.tried.push_back(tried(budget, found));
      if (found && isFast(*found))
        keep(std::move(*found));
      else if (found || found.error().code == ErrorCode::Infeasible || found.error().code == ErrorCode::Interrupted)
        low = std::move(budget);
      else
        return propagate(found);
      if (result.capacityBytes == low)
        break;
    }
    result.search.evaluations = evaluations;
    result.search.idealNs = idealNs;
    return std::move(result);
  }

private:
  bool isFast(const SearchResult &found) const {
    return static_cast<double>(found.makespanNs) <= slowdown * static_cast<double>(idealNs);
  }
  double ratioOf(int64_t ns) const {
    return std::round(1000.0 * static_cast<double>(ns) / static_cast<double>(std::max<int64_t>(idealNs, 1))) / 1000;
  }
  bool stoppedByUser() const { return share.interrupt && *share.interrupt; }

  TriedBudget tried(const std::vector<int64_t> &budget, const Expected<SearchResult> &found) {
    TriedBudget entry{budget, std::nullopt, 0};
    if (found) {
      evaluations += found->evaluations;
      entry.makespanNs = found->makespanNs;
      entry.lowerBoundNs = found->lowerBoundNs;
    }
    return entry;
  }

  /// The budget is what the plan really takes.
  void keep(SearchResult found) {
    result.capacityBytes = problem.capacityBytes;
    for (MemoryId memory : memories)
      result.capacityBytes[memory.index()] = found.plan.bytesUsed(*problem.graph, machine)[memory.index()];
    result.search = std::move(found);
  }

  SearchProblem problem;
  const double slowdown;
  SearchParams share;
  const Machine &machine;
  std::vector<MemoryId> memories;
  int64_t evaluations = 0, idealNs = 0;
  LeastMemoryResult result;
};

} // namespace

Expected<LeastMemoryResult> findLeastMemory(const SearchProblem &problem, double slowdown, const SearchParams &params) {
  return Bisection(problem, slowdown, params).run();
}

} // namespace sluice
