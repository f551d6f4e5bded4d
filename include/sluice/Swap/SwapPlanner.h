//===- SwapPlanner.h - Planning where tensors are ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Every planner walks the order once a pass, makes each operator's tensors
// resident, and leaves the timing to the plan's waits: a copy starts as soon as
// its data and its address range are free, however far ahead of its operator.
// Steady state: a pass starts with the parameters in place that the pass before
// ended with, and puts back what it had to take away; the best pass wins.
//
// Every plan returned has passed validatePlan.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SWAP_SWAPPLANNER_H
#define SLUICE_SWAP_SWAPPLANNER_H

#include "sluice/Plan/Plan.h"
#include "sluice/Swap/SwapProblem.h"

#include <span>
#include <utility>
#include <vector>

namespace sluice {

enum class EvictionPolicy : uint8_t {
  CostAware,         ///< Weighs copies to come against waiting now.
  Belady,            ///< Furthest next use first.
  EarliestAvailable, ///< Whose range is free soonest, copying out included.
  LeastRecentlyUsed,
};

struct SwapParams {
  EvictionPolicy eviction = EvictionPolicy::CostAware;
  /// CostAware: nanoseconds of copying that one of waiting for a range weighs.
  double stallWeight = 1.0;
  /// CostAware: nanoseconds of copying that one of an idle swap-in link weighs.
  double idleWeight = 1.0;
  /// CostAware: a copy that lies d operators ahead weighs d to minus this.
  double distanceExponent = 0.5;
  /// Outputs take the place of operands that die, where operators allow it. Less
  /// is evicted, but from addresses chosen for another tensor. Where an operator's
  /// working set does not fit otherwise, they do in any case.
  bool inPlace = false;
  /// What a pass evicts the next one copies out when it is written, which keeps
  /// the swap-out stream busy while memory still fills.
  bool saveEarly = true;
  /// Passes towards a steady state, at least 1; one means that every step
  /// starts with no parameter in place.
  int passes = 3;
  /// Where activations fit beside some parameters, a plan is also tried that
  /// keeps those for good and streams the others through room for so many of
  /// the largest; the better one wins. Zero: not tried.
  int streamDepth = 4;
};

/// Addresses chosen freely. Succeeds whenever every accelerator memory has at
/// least its minimumBytes and the host's arena has room for what is swapped
/// out. At livenessPeakBytes and above, no step copies a parameter.
/// Infeasible names the operator, the bytes it needs and the memory.
Expected<Plan> planSwapOffsets(const SwapProblem &problem, const SwapParams &params = {});

/// Objects of one size class: SwapAdvisor's pool for one memory.
struct ObjectClass {
  int64_t bytes = 0;
  int64_t count = 0;
};
/// Per memory, classes with ascending bytes; a tensor takes an object of the
/// first class that holds it. The host's entry is not read.
using PoolLayout = std::vector<std::vector<ObjectClass>>;

struct PoolParams {
  /// Evict only what was last used so long before, where there is a choice
  /// (the paper's THRESH).
  int64_t thresholdNs = 0;
  /// Count a parameter's next use in the next step; else it is infinite.
  bool cyclicNextUse = false;
  int passes = 2; ///< As in SwapParams; the paper's double pass.
  /// Outputs are copied out when evicted or when the step ends (in the paper's
  /// figure 1 all activations so); else as soon as they are written.
  bool lazyOutputs = false;
  /// Instead of Belady within a class: the weights of SwapParams' CostAware, so
  /// that what is needed soon may leave where that keeps the streams busy.
  bool costAware = false;
  double stallWeight = 1.0, idleWeight = 1.0, distanceExponent = 0.5;
  /// Per memory, ascending: a tensor's aligned bytes and those of its class's
  /// objects, where that is not the first class that holds it (SwapAdvisor's CLS
  /// without its restriction). May be empty.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> classOfSize = {};
};

/// SwapAdvisor's planner (Huang, Jin and Li, ASPLOS 2020, section 4): a free
/// object of the class, else Belady within it, ties by earliest availability; a
/// copy out waits for the last user. Infeasible where an operator needs more
/// objects of a class than there are, naming both.
Expected<Plan> planSwapPool(const SwapProblem &problem, const PoolLayout &pool, const PoolParams &params = {});

/// Aligned sizes of the tensors and workspaces used in a memory, ascending,
/// each once: SwapAdvisor's TS.
std::vector<int64_t> tensorSizes(const SwapProblem &problem, MemoryId memory);
/// Per class of ascending object sizes: the most objects one operator needs at
/// once. A pool with fewer is infeasible.
/// `classOfSize` as one memory's of PoolParams.
std::vector<int64_t> minimumObjects(const SwapProblem &problem, MemoryId memory,
                                    const std::vector<int64_t> &objectBytes,
                                    std::span<const std::pair<int64_t, int64_t>> classOfSize = {});

/// Baseline (same paper, section 6): on-demand swapping, least recently used
/// first, over a best-fit allocator. The first step starts with no parameter in
/// place and is not the one returned; the decisions of the next are prefetched.
/// Infeasible also by fragmentation, and says so.
Expected<Plan> planOdSwap(const SwapProblem &problem);

/// Baseline (vDNN, TFLMS): parameters and states never leave while a step still
/// needs them, activations swap, Belady's choice first. Infeasible where what
/// stays leaves no room for some operator, saying by how much.
Expected<Plan> planActivationsOnly(const SwapProblem &problem);

/// Unlimited memory: the capacities are ignored, nothing is ever evicted, every
/// parameter is in place when a step starts. Arenas are packed close to
/// livenessPeakBytes where that delays nothing.
Expected<Plan> planIdeal(const SwapProblem &problem);

} // namespace sluice

#endif // SLUICE_SWAP_SWAPPLANNER_H
