//===- SearchState.h - What the search strategies share ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_SEARCHSTATE_H
#define SLUICE_LIB_SEARCH_SEARCHSTATE_H

#include "Candidate.h"
#include "sluice/Optimize/Budget.h"
#include "sluice/Optimize/Genetic.h"
#include "sluice/Search/Search.h"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::search {

using Clock = std::chrono::steady_clock;

/// Neighbours that a local search tries at once. The number is fixed, so that the
/// result does not depend on the number of threads.
inline constexpr size_t kNeighbours = 16;

/// The outcome of making one plan and simulating it.
struct Evaluation {
  int64_t makespanNs = kInfeasibleObjective;
  Error error;         ///< Why there is no plan.
  bool isDone = false; ///< False if the budget ended before.
};

/// Plans made side by side. A wave keeps its best plan only, because each plan of a
/// large graph takes hundreds of megabytes. Tie-break: the plan of lowest index,
/// whichever thread ends first.
struct Wave {
  std::vector<Evaluation> evaluations;
  std::optional<Plan> plan;
  size_t best = 0;
  int64_t bestNs = kInfeasibleObjective;

  bool isComplete() const;
};

/// The problem, the limits, and the best plan so far. Strategies are free functions
/// that take the state and improve it.
struct SearchState {
  /// The problem and the parameters outlive the state; the problem has a capacity per memory.
  SearchState(const SearchProblem &problem, const SearchParams &params);

  const Graph &graph;
  Machine machine; ///< Its memories have the problem's capacities.
  const CostTable &costs;
  const std::vector<DeviceId> &pinned; ///< The problem's placement; empty or with invalid ids where it is open.
  std::vector<int64_t> capacities;     ///< Per memory, in bytes.
  const SearchParams &params;

  Clock::time_point begin;
  int threads;
  int64_t evaluationLimit;
  Budget budget; ///< The clock and the interrupt alone; evaluationLimit counts plans.

  /// Candidates for the placement chosen; null before it is chosen.
  std::shared_ptr<CandidateSpace> space;
  int64_t bestNs = kInfeasibleObjective; ///< Makespan of result.plan.
  std::optional<Error> firstError;       ///< Reported if there is no plan in the end.
  bool isStopped = false;                ///< The clock or the user ended a strategy.
  SearchResult result;

  /// Whether the solver may run operators again, whether it uses the genetic search, and whether it begins with greedy
  /// plans.
  bool recomputes() const { return params.mayRecompute && breeds() && params.solver != "no-recompute"; }
  bool breeds() const {
    return params.solver == "default" || params.solver == "by-period" || params.solver == "no-recompute";
  }
  bool isGreedy() const { return breeds() || params.solver == "greedy"; }
  /// The lower bound of the plans that the solver can make.
  int64_t targetNs() const { return recomputes() ? result.lowerBoundNs : result.onceBoundNs; }
  bool hasEvaluationLimit() const;
  bool mayContinue() const;
  int64_t evaluationsLeft() const { return evaluationLimit - result.evaluations; }
  bool fits(const std::vector<int64_t> &arenaBytes) const;

  using MakePlan = std::function<Expected<Plan>(size_t)>;
  /// Makes `count` plans on all threads until the budget ends, the first in any
  /// case if `firstAlways`, and counts them as evaluations.
  Wave evaluate(size_t count, bool firstAlways, const MakePlan &make);
  /// Like evaluate(), without counting: for plans that were counted before.
  Wave evaluateUncounted(size_t count, bool firstAlways, const MakePlan &make) const;
  /// Takes the wave's plan as the result if it is faster than the best so far.
  void offer(Wave &wave, const std::string &name);
  void addBaseline(std::string name, const Evaluation &evaluation);
  /// Adds a makespan to the history, if it is the best so far.
  void noteBest(int64_t soFarNs);
  /// Keeps the error of an evaluation that made no plan, if it is the first.
  void noteError(const Evaluation &evaluation);
  /// Tells the caller the progress; `generation` is null outside a genetic search.
  void report(int64_t soFarNs, const Generation *generation = nullptr) const;

  std::shared_ptr<CandidateSpace> spaceFor(std::vector<DeviceId> placement, const Schedule &order) const;
};

/// The operators of a plan by their first launches.
Schedule firstLaunches(const Graph &graph, const Plan &plan);

} // namespace sluice::search

#endif // SLUICE_LIB_SEARCH_SEARCHSTATE_H
