//===- Search.h - Order, memory and swaps together --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The joint search over schedules, allocators and eviction policies. It plans every candidate completely and times it
// by the simulator, after SwapAdvisor (Huang, Jin and Li, ASPLOS 2020). There are three allocators
// (Swap/SwapPlanner.h): planSwapOffsets may choose any offset; planSwapStays first decides when each tensor is in
// memory and then packs all offsets; planSwapPool divides a memory into objects of a few sizes (SwapAdvisor's pools).
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

/// The graph, machine and costs must outlive the problem.
struct SearchProblem {
  const Graph *graph = nullptr;
  const Machine *machine = nullptr;
  const CostTable *costs = nullptr;
  /// Per memory: the limit of the arena's bytes. Plans also keep within Memory::capacityBytes.
  std::vector<int64_t> capacityBytes;
  /// Per operator: its device, or an invalid id if the search may place it. If the list is empty, the search places all
  /// operators.
  std::vector<DeviceId> placement;
};

struct SearchProgress {
  /// The makespan of the best plan so far; empty until there is a plan.
  std::optional<int64_t> makespanNs;
  int64_t idealNs = 0;
  int64_t lowerBoundNs = 0;
  int64_t evaluations = 0;
  int64_t elapsedNs = 0;
  /// Mean and worst makespan of the feasible candidates in the population of the genetic
  /// search; empty if no genetic search is running.
  std::optional<double> meanNs;
  std::optional<int64_t> worstNs;
};

struct SearchParams {
  /// One of searchSolverNames().
  std::string solver = "default";
  /// One of placementSolverNames(). It is used if the problem leaves the placement open. `best` makes a greedy plan for
  /// the placement of each other placement solver and takes the placement whose plan is fastest in the simulation. The
  /// search solver `default` then improves this placement by moving single operators.
  std::string placementSolver = "best";
  /// With `best`: the plan uses several devices only if its makespan is at most (1 - leastGain) times the makespan of
  /// the best plan on one device. The margin leastGain is in [0, 1). It covers the errors of the costs, which are
  /// greater if devices share cores and caches.
  double leastGain = 0;
  /// Whether operators may run more than once. Only the solvers `default` and `by-period` read this field.
  bool mayRecompute = true;
  /// Clock limit; 0 means no limit. The first candidates are always planned.
  int64_t timeNs = 5'000'000'000;
  /// Number of plans to make; 0 means no limit. If this is the only limit, the result is the same on any number of
  /// threads. Without any limit, the search makes 10,000 plans.
  int64_t evaluations = 0;
  uint64_t seed = 0;
  /// A plan from which the search starts; may be null. The search keeps its placement, and
  /// the result is not slower. The search fails if the plan is invalid or exceeds the
  /// capacities.
  const Plan *start = nullptr;
  int threads = 1; ///< 0 means as many as the machine has.
  const std::atomic<bool> *interrupt = nullptr;
  /// Called on the caller's thread.
  std::function<void(const SearchProgress &)> progress;
};

struct Baseline {
  std::string name;
  std::optional<int64_t> makespanNs;
  /// If there is no makespan: a text that says what does not fit. If the makespan is below the makespan of the result:
  /// why this plan was not chosen. Otherwise empty.
  std::string reason;
};

/// The makespan of the best plan after a number of evaluations.
struct SearchPoint {
  int64_t evaluations = 0;
  int64_t makespanNs = 0;
};

struct SearchResult {
  Plan plan;
  int64_t makespanNs = 0;
  /// The makespan with unlimited memory: the best simulated makespan of planIdeal over the greedy orders. On a machine
  /// with a single compute device, orders hardly change the time. There the search tries only the orders whose liveness
  /// peak fits the capacities, because an ideal plan that fits is the result of the search. If there is no such order,
  /// it tries only the first order. The value is a reference and not a lower bound: another order may be faster.
  int64_t idealNs = 0;
  /// A lower bound of the makespan of all plans with the given placement, or of all plans
  /// if the placement is open.
  int64_t lowerBoundNs = 0;
  /// Why lowerBoundNs holds.
  std::optional<BoundCertificate> certificate;
  /// A lower bound of the makespan of plans that run each operator once; at least lowerBoundNs.
  int64_t onceBoundNs = 0;
  /// Why onceBoundNs holds.
  std::optional<BoundCertificate> onceCertificate;
  std::vector<MinimumBytes> minimumBytes; ///< Per memory, for the plan's placement and order.
  std::vector<int64_t> peakBytes;         ///< Per memory: livenessPeakBytes of the same placement and order.
  std::vector<Baseline> baselines;
  /// Number of plans made, including baselines and ideal plans.
  int64_t evaluations = 0;
  /// Each improvement of the best plan, by ascending evaluations and descending makespan.
  std::vector<SearchPoint> history;
};

/// The names that solveSearch accepts, the default first.
///  default      greedy plans; then a genetic search over orders, eviction policies, pools and
///               sets of operators that run again; then a local search around the best
///  no-recompute like default, but every operator runs once
///  by-period    like default, but faster for graphs of many repeated layers: plans eight of the
///               layers, extends the decisions to all layers, and plans the whole graph a few
///               times. Without repeated layers, it is the same as default
///  greedy       five orders, each with every eviction policy; also plans of planSwapStays, and
///               plans of planSwapPool for each order with three layouts of pools: one class
///               for all sizes, one class for each power of two, one class for each size
///  swapadvisor  SwapAdvisor's genetic search over orders and pools only
///  swapadvisor-in-place
///               as swapadvisor, but results overwrite operands that are not read later
///  swapadvisor-schedule
///               SwapAdvisor's search over orders only; the pool is taken from the best
///               greedy plan
///  swapadvisor-pool
///               SwapAdvisor's search over pools only; the order is taken from the best
///               greedy plan
///  swapadvisor-free-classes
///               as swapadvisor, but without SwapAdvisor's restriction of the sizes that
///               a class of a pool may have
///  random       the best of random orders with random pools
///  odswap       on-demand swapping, whose copies are then prefetched (SwapAdvisor's
///               baseline)
///  odswap-in-place
///               as odswap, but results overwrite operands that are not read later
///  activations-only
///               parameters stay, activations swap, in the model's order (as
///               vDNN and TFLMS); infeasible if parameters leave no room
///  dtr          dynamic tensor rematerialization in the model's order: nothing is
///               swapped; infeasible if parameters and states leave no room
///  pofo         optimal recomputation and offloading of training steps that are
///               chains of stages; unsupported for other steps
///  ideal        the plan for unlimited memory; infeasible if it exceeds the capacity
std::vector<std::string> searchSolverNames();

/// Minimizes the simulated makespan of a step. The plan passes validatePlan and fits the capacities. The makespans of
/// `default` and `greedy` never exceed the makespan of `odswap`. Before its genetic search, `default` makes the plans
/// of `greedy` and some plans that run operators again. If the placement is given and the evaluations suffice for all
/// these plans, the makespan of `default` does not exceed the makespan of `greedy`. If the graph has repeated layers
/// and the clock limit allows only few plans of the whole graph, `default` and `no-recompute` begin with the method of
/// `by-period`. If the ideal plan fits, it is returned at once. The search stops when a plan meets the lower bound.
/// Fails with Infeasible, naming what does not fit and how many bytes are missing, or with Interrupted if the search is
/// stopped before it has a plan.
Expected<SearchResult> solveSearch(const SearchProblem &problem, const SearchParams &params = {});

} // namespace sluice

#endif // SLUICE_SEARCH_SEARCH_H
