//===- Strategies.h - The ways to search for a plan -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One free function per strategy, each in a file of its own. A strategy offers its
// plans to the state, which keeps the best. solveSearch decides which strategies
// run, in which order.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_STRATEGIES_H
#define SLUICE_LIB_SEARCH_STRATEGIES_H

#include "SearchState.h"

namespace sluice::search {

using ScoredCandidate = GeneticSeed<Candidate>;

/// PlacementChoice.cpp: sets state.space. Takes the placement of the problem, the placement of the start plan, or that
/// placement of the portfolio whose greedy plan is fastest. Fails if the start plan is invalid, or if a placement
/// solver fails.
Status choosePlacement(SearchState &state);

/// PlacementSearch.cpp: moves random sequences of dependent operators to other devices, as long as this makes the plan
/// of `order` faster than `currentNs`. This helps because the model of the placement solvers has no contention of
/// links.
void improvePlacement(SearchState &state, const Schedule &order, int64_t currentNs);

/// UnlimitedMemory.cpp: plans as if memory were unlimited, for the ideal makespan.
/// Returns true if nothing else has to be tried, because the fastest of these plans fits or because the solver makes no
/// other plans.
bool planWithUnlimitedMemory(SearchState &state);

/// GreedySearch.cpp: the candidates of solver `greedy` and, if the solver may recompute, candidates that run operators
/// again. The most promising candidates come first.
std::vector<NamedCandidate> greedySeeds(const SearchState &state);
/// Plans the seeds that the budget allows, the first in any case. Returns the
/// feasible ones, the fastest first.
std::vector<ScoredCandidate> planSeeds(SearchState &state, const std::vector<NamedCandidate> &seeds);

/// GeneticSearch.cpp: how one run of the genetic search differs from others.
struct GeneticRun {
  Mutation mutation = Mutation::Mixed;
  Parts vary;
  int64_t evaluationLimit = 0; ///< Of the whole search, as SearchState::evaluationLimit.
  std::optional<Clock::time_point> deadline;
  /// Runs after the first start from other seeds and with other random numbers.
  uint64_t round = 0;
};
/// Breeds from the scored candidates, on islands unless the mutation is the paper's.
/// Returns the best individual; empty if the budget allowed no run.
std::optional<ScoredCandidate> breed(SearchState &state, const std::vector<ScoredCandidate> &scored,
                                     const GeneticRun &run);

/// LocalSearch.cpp: steepest descent from a candidate over batches of random neighbours. Returns the last one.
ScoredCandidate descend(SearchState &state, ScoredCandidate current, uint64_t round);

/// Search.cpp: genetic and local searches from candidates, the fastest first, until nothing gets better or the budget
/// ends. Returns the best individual.
ScoredCandidate improve(SearchState &state, const std::vector<ScoredCandidate> &scored);

/// PeriodSearch.cpp: the limits of a search on a few of the graph's equal layers; 0: no limit.
struct PeriodBudget {
  int64_t evaluations = 0, timeNs = 0;
};
struct PeriodCandidates {
  static constexpr int64_t kMost = 16;
  std::vector<NamedCandidate> candidates; ///< At most kMost.
  double share = 0;                       ///< The number of planned operators, as a fraction of the graph's.
};
/// Candidates with which that search found its fastest plans, extended to all layers. None if the graph has no
/// repeated layers.
PeriodCandidates candidatesByPeriod(SearchState &state, const PeriodBudget &budget);

/// SwapAdvisorSearch.cpp: the paper's genetic search over orders and pools, and its ablations.
struct SwapAdvisorVariant {
  const char *name;
  Parts vary;
  bool hasFreeClasses = false; ///< Any size may be in any class.
  bool inPlace = false;        ///< Results take the objects of operands that are not read later.
};
std::vector<std::string> swapAdvisorNames();
/// The variant with this name; null if there is none.
const SwapAdvisorVariant *findSwapAdvisor(const std::string &name);
void searchAsSwapAdvisor(SearchState &state, const SwapAdvisorVariant &variant);

/// RandomSearch.cpp: random orders with random pools.
void searchRandomly(SearchState &state);

/// SinglePlan.cpp: a baseline that makes one plan, in the first order.
void planOnce(SearchState &state, const std::string &name,
              const std::function<Expected<Plan>(const SwapProblem &)> &planner);

} // namespace sluice::search

#endif // SLUICE_LIB_SEARCH_STRATEGIES_H
