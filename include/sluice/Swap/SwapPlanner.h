//===- SwapPlanner.h - Planning where tensors are ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In each pass a planner walks the order once and makes each operator's tensors
// resident. The plan's waits decide the timing: a copy starts as soon as its data is
// written and its address range is free, however far ahead of its operator that is.
// Steady state: a pass starts with the parameters that were resident when the previous
// pass ended, and restores those that it evicted. The planner returns the best pass.
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
  CostAware,         ///< Weighs the copies that an eviction causes later against the wait now.
  Belady,            ///< Evicts the tensor with the furthest next use.
  EarliestAvailable, ///< Evicts the tensor whose range is free soonest, its copy out included.
  LeastRecentlyUsed,
};

/// Which of the tensors that an accelerator evicts go to a file, where the host's memory cannot have all.
enum class FileDivision : uint8_t {
  FromBegin,     ///< Those that the file's link has time for, in the order of their evictions.
  FromEnd,       ///< The same in the order of their returns, back from the step's end.
  Longest,       ///< Those that are away longest (Belady's rule).
  Latest,        ///< Those that are evicted when the host's memory is full.
  FromBeginLate, ///< As FromBegin; where the file could take more than it must, it takes what is evicted late.
};
constexpr uint64_t kNumFileDivisions = 5;

struct SwapParams {
  EvictionPolicy eviction = EvictionPolicy::CostAware;
  /// CostAware: the weight of a nanosecond spent waiting for a range, relative to a
  /// nanosecond of copying.
  double stallWeight = 1.0;
  /// CostAware: the weight of a nanosecond of an idle swap-in link, relative to a
  /// nanosecond of copying.
  double idleWeight = 1.0;
  /// CostAware: a copy that is d operators ahead has the weight d^-distanceExponent.
  double distanceExponent = 0.5;
  /// Outputs use the addresses of operands that die, where operators work in place. This
  /// evicts less, but at addresses that were chosen for another tensor. An operator
  /// whose working set does not fit otherwise works in place in any case.
  bool inPlace = false;
  /// A tensor that one pass evicts is copied out in the next pass as soon as it is
  /// written, so that the swap-out stream works while memory still fills.
  bool saveEarly = true;
  /// Passes towards a steady state, at least 1. With one pass, every step starts
  /// without resident parameters.
  int passes = 3;
  /// Where the activations and some parameters fit together, the planner also tries a
  /// plan that keeps these parameters resident and streams the others through a buffer
  /// for this many of the largest; the better plan wins. Zero disables the attempt.
  int streamDepth = 4;
  /// Of the bytes of states that operators update in place: the part that stays in an accelerator's memory from step to
  /// step and needs no home, in [0, 1]. The states come first that are read soonest or updated last.
  double keptStates = 0;
  /// On machines with files.
  FileDivision division = FileDivision::FromBegin;
  /// On machines with files: the part of the bytes of homes that may be in the host's memory, in [0, 1], the smallest
  /// first. Fewer homes leave more room for what is evicted.
  double homesOnHost = 1;
  /// CostAware: looks at every window of addresses, instead of those that bounds leave.
  /// The plan is the same, and takes longer to make.
  bool searchAllWindows = false;
};

/// Plans with arbitrary offsets in the arenas. Succeeds whenever every accelerator
/// memory has at least its minimumBytes and the host's arena has room for the tensors
/// swapped out. At livenessPeakBytes and above, no step copies a parameter. An
/// Infeasible error names the operator, the bytes that it needs and the memory.
Expected<Plan> planSwapOffsets(const SwapProblem &problem, const SwapParams &params = {});

/// Objects of one size class: SwapAdvisor's pool for one memory.
struct ObjectClass {
  int64_t bytes = 0;
  int64_t count = 0;
};
/// The classes per memory, by ascending bytes. A tensor occupies an object of the
/// first class that is large enough. The host's entry is not read.
using PoolLayout = std::vector<std::vector<ObjectClass>>;

struct PoolParams {
  /// Where there is a choice, evict only tensors whose last use is at least this long
  /// ago (the paper's THRESH).
  int64_t thresholdNs = 0;
  /// After a parameter's last use in a step, its next use is the first of the next step;
  /// otherwise its next use is infinitely far.
  bool cyclicNextUse = false;
  int passes = 2; ///< As in SwapParams; the paper's double pass.
  /// Outputs are copied out when they are evicted or when the step ends (as the paper's
  /// figure 1 does with all activations); otherwise as soon as they are written.
  bool lazyOutputs = false;
  /// Outputs take the objects of operands of as many bytes that die, where operators work in place, as the paper's
  /// graphs have it of ReLU and residual additions.
  bool inPlace = false;
  /// Within a class, use the weights of SwapParams' CostAware instead of Belady's rule: a
  /// tensor that is needed soon may be evicted where that keeps the streams busy.
  bool costAware = false;
  double stallWeight = 1.0, idleWeight = 1.0, distanceExponent = 0.5;
  /// Overrides of the class by size, per memory and ascending: a tensor's aligned bytes
  /// and the object bytes of its class, where this is not the first class that is large
  /// enough (SwapAdvisor's CLS without its restriction). May be empty.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> classOfSize = {};
};

/// SwapAdvisor's planner (Huang, Jin and Li, ASPLOS 2020, section 4): a tensor uses a free
/// object of its class, or evicts one by Belady's rule; ties are broken by earliest
/// availability. A copy out waits for the last reader. Infeasible where an operator needs
/// more objects of a class than there are; the error names the operator and the class.
Expected<Plan> planSwapPool(const SwapProblem &problem, const PoolLayout &pool, const PoolParams &params = {});

/// The distinct aligned sizes of the tensors and workspaces used in a memory, ascending:
/// SwapAdvisor's TS.
std::vector<int64_t> tensorSizes(const SwapProblem &problem, MemoryId memory);
/// For each class, by ascending object sizes: the most objects that one operator needs at
/// once. A pool with fewer objects is infeasible. `classOfSize` is one memory's entry of
/// PoolParams::classOfSize.
std::vector<int64_t> minimumObjects(const SwapProblem &problem, MemoryId memory,
                                    const std::vector<int64_t> &objectBytes,
                                    std::span<const std::pair<int64_t, int64_t>> classOfSize = {});

/// Baseline (same paper, section 6): on-demand swapping that evicts the least recently used
/// tensor, over a best-fit allocator. The first step starts without resident parameters;
/// the plan returned is the second step, with its copies prefetched. Fragmentation may
/// make it infeasible, and the error says so. `inPlace` as in PoolParams.
Expected<Plan> planOdSwap(const SwapProblem &problem, bool inPlace = false);

/// Baseline (vDNN, TFLMS): activations are swapped by Belady's rule; parameters and states
/// stay resident while the step still needs them. Infeasible where these leave too little
/// room for an operator; the error states how many bytes are missing.
Expected<Plan> planActivationsOnly(const SwapProblem &problem);

/// The plan for unlimited memory: capacities are ignored, nothing is evicted, and every
/// parameter is resident when a step starts. Arenas are packed close to
/// livenessPeakBytes where that delays no command.
Expected<Plan> planIdeal(const SwapProblem &problem);

} // namespace sluice

#endif // SLUICE_SWAP_SWAPPLANNER_H
