//===- Search.h - Order, memory and swaps together --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The joint search: schedules x allocators x eviction policies, each planned and
// timed by the simulator, after SwapAdvisor (Huang, Jin and Li, ASPLOS 2020)
// with free addresses beside its pools.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_SEARCH_H
#define SLUICE_SEARCH_SEARCH_H

#include "sluice/Plan/Plan.h"
#include "sluice/Search/LowerBound.h"
#include "sluice/Swap/SwapProblem.h"

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// The graph, machine and costs outlive the problem.
struct SearchProblem {
  const Graph *graph = nullptr;
  const Machine *machine = nullptr;
  const CostTable *costs = nullptr;
  /// Arena bytes per memory; what exceeds the memory's own capacity does not
  /// count.
  std::vector<int64_t> capacityBytes;
  /// Per operator; the search decides where empty or an id is invalid.
  std::vector<DeviceId> placement;
};

struct SearchProgress {
  /// Best so far; empty until there is one.
  std::optional<int64_t> makespanNs;
  int64_t idealNs = 0;
  int64_t lowerBoundNs = 0;
  int64_t evaluations = 0;
  int64_t elapsedNs = 0;
  /// Of a genetic search's feasible candidates alive; empty outside one.
  std::optional<double> meanNs;
  std::optional<int64_t> worstNs;
};

struct SearchParams {
  /// One of searchSolverNames().
  std::string solver = "default";
  /// One of placementSolverNames(), where the placement is open; `best` takes
  /// the member whose greedy plan is fastest under the simulator, which solver
  /// `default` then improves by moving operators.
  std::string placementSolver = "best";
  /// Of `best`: several devices are taken only where their plan is faster than that of
  /// one by at least this part of its time, in [0, 1). Costs err, by more where devices
  /// share cores and caches.
  double leastGain = 0;
  /// Clock limit; 0: none. The first candidates are planned whatever it says.
  int64_t timeNs = 5'000'000'000;
  /// Plans to make; 0: no limit. With a limit here and none in time, the result
  /// is the same on any number of threads. With neither, 10,000.
  int64_t evaluations = 0;
  uint64_t seed = 0;
  /// A plan to search on from, which keeps its placement; the result is no slower.
  /// Valid and within the capacities, else the search fails. May be null.
  const Plan *start = nullptr;
  int threads = 1; ///< 0: as many as the machine has.
  const std::atomic<bool> *interrupt = nullptr;
  /// Called on the caller's thread.
  std::function<void(const SearchProgress &)> progress;
};

struct Baseline {
  std::string name;
  std::optional<int64_t> makespanNs;
  /// Why there is none: what cannot fit. Or why a faster one was not taken.
  std::string reason;
};

/// The best makespan after a number of evaluations.
struct SearchPoint {
  int64_t evaluations = 0;
  int64_t makespanNs = 0;
};

struct SearchResult {
  Plan plan;
  int64_t makespanNs = 0;
  /// Best simulated makespan of planIdeal over the greedy orders; on one device,
  /// of the first and of those that fit. A reference, not a bound: another order
  /// may do better.
  int64_t idealNs = 0;
  /// No plan of this problem is faster: of this placement if it was given,
  /// else of any.
  int64_t lowerBoundNs = 0;
  /// Why lowerBoundNs holds; empty where it is a bound of several placements.
  std::optional<BoundCertificate> certificate;
  /// No plan is faster in which each operator runs once; at least lowerBoundNs.
  int64_t onceBoundNs = 0;
  /// Why onceBoundNs holds, likewise.
  std::optional<BoundCertificate> onceCertificate;
  std::vector<MinimumBytes> minimumBytes; ///< Per memory, for the plan's placement and order.
  std::vector<int64_t> peakBytes;         ///< Per memory: livenessPeakBytes, likewise.
  std::vector<Baseline> baselines;
  /// Plans made, baselines and ideal plans included.
  int64_t evaluations = 0;
  /// Each improvement of the best plan, by ascending evaluations and descending makespan.
  std::vector<SearchPoint> history;
};

/// Names solveSearch knows, the default first.
///  default      greedy with choices of what to compute again, then a genetic
///               search over all it tries, then a local search around the best
///  no-recompute the same with every operator running once
///  greedy       four orders x all eviction policies, and three pools
///  swapadvisor  the paper's genetic search over orders and pools alone
///  swapadvisor-in-place
///               the same with results in place of operands that die
///  swapadvisor-schedule
///               the same over orders; the pool is that of the best greedy plan
///  swapadvisor-pool
///               the same over pools; the order is that of the best greedy plan
///  swapadvisor-free-classes
///               the same over orders and pools in which any size may be in any
///               class, which the paper restricts
///  random       the best of random orders with random pools
///  odswap       on-demand swapping, replayed (the paper's baseline)
///  odswap-in-place
///               the same with results in place of operands that die
///  activations-only
///               parameters stay, activations swap, in the model's order (as
///               vDNN and TFLMS); infeasible where parameters leave no room
///  ideal        unlimited memory; infeasible where that exceeds the capacity
std::vector<std::string> searchSolverNames();

/// Minimizes the simulated makespan of a step. The plan passes validatePlan and
/// keeps the capacities. For a given placement and a budget of evaluations that
/// covers the greedy plans (fifty at most), `default` is never slower than
/// `greedy`; nor is either ever slower than `odswap`. Returns the ideal plan at
/// once where it fits, and stops at the lower bound. Infeasible names what cannot
/// fit and by how much; Interrupted if there is no plan yet when told to stop.
Expected<SearchResult> solveSearch(const SearchProblem &problem, const SearchParams &params = {});

} // namespace sluice

#endif // SLUICE_SEARCH_SEARCH_H
