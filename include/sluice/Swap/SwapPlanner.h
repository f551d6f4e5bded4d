//===- SwapPlanner.h - Planning where tensors are ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A planner makes several passes. In each pass it goes through the order of operators once and makes the tensors of
// each operator resident. The plan's waits decide the timing: a copy starts as soon as its data is written and its
// address range is free, even if this is long before the operator that needs it. For a steady state, the second
// pass starts with the parameters that are resident at the end of the first pass, and each later pass starts with the
// parameters that stayed resident throughout the previous pass. If a pass evicts a parameter with which it started, it
// copies the parameter in again at its end, so that a step ends as it began. The planner returns the best pass.
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
  CostAware,         ///< Weighs the copies that an eviction causes later against the waiting time that it causes now.
  Belady,            ///< Evicts the tensor with the furthest next use.
  EarliestAvailable, ///< Evicts the tensor whose address range becomes free first: when its copy out has ended.
  LeastRecentlyUsed,
};

/// The rule that selects the tensors that are evicted to a file when the host's memory cannot hold all evicted tensors.
enum class FileDivision : uint8_t {
  /// Evictions are visited in order. A tensor is selected if the file's link is idle, or soon idle, at its eviction.
  /// Then, as far as the host's memory has room, the selected tensors with the shortest absence are taken back from the
  /// selection and stay in the host's memory.
  FromBegin,
  FromEnd, ///< Like FromBegin, but visits the copies that bring evicted tensors back, from the step's end backwards.
  Longest, ///< The tensors with the longest absence (close to Belady's rule).
  Latest,  ///< The tensors that are evicted while the host's memory is full.
  /// Like FromBegin, but the tensors that are taken back are those that are evicted first.
  FromBeginLate,
};
constexpr uint64_t kNumFileDivisions = 5;

/// The rule that chooses the states that stay in an accelerator's memory from step to step.
enum class StateChoice : uint8_t {
  Edges,  ///< The states that are read first or updated last, because no other work hides their copies.
  Spread, ///< Evenly spread over the order of updates, so that the load of the link is even over the step.
};

struct SwapParams {
  EvictionPolicy eviction = EvictionPolicy::CostAware;
  /// CostAware: the weight of a nanosecond of waiting for an address range, relative to a
  /// nanosecond of copying.
  double stallWeight = 1.0;
  /// CostAware: the weight of a nanosecond of an idle swap-in link, relative to a
  /// nanosecond of copying.
  double idleWeight = 1.0;
  /// CostAware: a copy that is d operators ahead has the weight d^-distanceExponent.
  double distanceExponent = 0.5;
  /// If true, the output of an operator that can work in place overwrites an operand without later readers. This causes
  /// fewer evictions, but the output then lies at an address that was chosen for the operand. Even if this is false, an
  /// operator works in place if its working set would otherwise not fit.
  bool inPlace = false;
  /// If true, a tensor that one pass evicts is copied out in the next pass as soon as it is written, so that the
  /// swap-out stream works before the memory is full.
  bool saveEarly = true;
  /// Passes towards a steady state, at least 1. With one pass, the plan's step starts without resident parameters.
  int passes = 3;
  /// If all activations and some parameters fit together, the planner also tries a streaming plan. In this plan, these
  /// parameters are resident. All other parameters are copied in for each use through a buffer that has room for
  /// `streamDepth` parameters of the largest size. The faster plan is returned. If `streamDepth` is 0, no streaming
  /// plan is tried.
  int streamDepth = 4;
  /// In [0, 1]: a fraction of the bytes of all states that are updated in place. States with this share of the bytes
  /// stay in an accelerator's memory from step to step. These states need no home.
  double keptStates = 0;
  StateChoice keptChoice = StateChoice::Edges;
  /// For planSwapStays, in [0, 1]: the fraction of an accelerator's memory that holds further states between steps.
  /// Unlike the states of `keptStates`, these states may leave the memory and return within a step. They need no home
  /// either.
  double restingStates = 0;
  /// For planSwapStays, in (0, 1]: a fraction of the memory. At each operator, the operator's tensors and the tensors
  /// that wait in memory for a later use may together occupy at most this fraction. The rest is for copies that run
  /// ahead of their readers or behind their writers.
  double presence = 1;
  /// Only for machines that have a memory of kind File: how evicted tensors are divided between the host's memory and
  /// the file.
  FileDivision division = FileDivision::FromBegin;
  /// Only for machines that have a memory of kind File: the fraction, in [0, 1], of the bytes of homes that may be in
  /// the host's memory; the smallest homes are chosen first. Fewer homes leave more room for evicted tensors.
  double homesOnHost = 1;
  /// CostAware: evaluates every address range instead of excluding ranges by bounds. The plan is the same, and planning
  /// takes longer.
  bool searchAllWindows = false;
};

/// Plans with arbitrary offsets in the arenas. Succeeds whenever every accelerator
/// memory has at least its minimumBytes and the host's arena has room for the tensors
/// swapped out. If the arenas have at least livenessPeakBytes, no step copies a parameter. An Infeasible error names
/// the operator, the bytes that it needs and the memory.
Expected<Plan> planSwapOffsets(const SwapProblem &problem, const SwapParams &params = {});

/// Decides for the whole order in which intervals (*stays*) each tensor is in the accelerator's memory, and then packs
/// the stays. Results overwrite operands that are not read later. Of `params`, reads only `keptStates`, `keptChoice`,
/// `restingStates`, `presence`, `passes`, `stallWeight` and `idleWeight`. Two fields have another meaning here:
/// `stallWeight` is the cost of a copy out relative to the cost of a copy in, and copies are assumed to take 1 +
/// `idleWeight` times as long as a copy alone on the link. Fails with Unsupported if operators run on several memories
/// or the machine has files, and with InvalidInput if `presence` is out of range. Fails with Infeasible if the stays
/// cannot be packed, or if an operator needs more than the fraction `presence` of the memory.
Expected<Plan> planSwapStays(const SwapProblem &problem, const SwapParams &params = {});

/// Objects of one size class: SwapAdvisor's pool for one memory.
struct ObjectClass {
  int64_t bytes = 0;
  int64_t count = 0;
};
/// The classes per memory, by ascending bytes. A tensor occupies an object of the
/// first class that is large enough. The host's entry is not read.
using PoolLayout = std::vector<std::vector<ObjectClass>>;

struct PoolParams {
  /// A tensor whose last use is less than this time ago is evicted only if there is no other choice (SwapAdvisor's
  /// THRESH).
  int64_t thresholdNs = 0;
  /// If true, the next use after a parameter's last use in a step is its first use in the next step. If false, there is
  /// no next use after the last use in a step.
  bool cyclicNextUse = false;
  int passes = 2; ///< As in SwapParams. The default is the double pass of SwapAdvisor.
  /// If true, outputs are copied out when they are evicted or when the step ends, as SwapAdvisor's figure 1 does with
  /// all activations. If false, they are copied as soon as they are written.
  bool lazyOutputs = false;
  /// If true, an output of an in-place operator takes the object of an operand of the same size that is not read later,
  /// as ReLU and residual additions do in the paper's graphs.
  bool inPlace = false;
  /// If true, within a class, evictions are chosen by EvictionPolicy::CostAware, with the weights below, instead of by
  /// Belady's rule. A tensor that is needed soon may then be evicted if this keeps the streams busy.
  bool costAware = false;
  double stallWeight = 1.0, idleWeight = 1.0, distanceExponent = 0.5;
  /// Exceptions to the rule that a tensor uses the first class that is large enough. SwapAdvisor's map from sizes to
  /// classes (CLS) always follows this rule. Per memory, by ascending tensor size: pairs (aligned bytes of the tensor,
  /// object bytes of the class that it uses). May be empty.
  std::vector<std::vector<std::pair<int64_t, int64_t>>> classOfSize = {};
};

/// SwapAdvisor's planner (Huang, Jin and Li, ASPLOS 2020, section 4): a tensor uses a free object of its class; if none
/// is free, a tensor in an object of this class is evicted by Belady's rule. Tie-break: earliest availability. A copy
/// out waits for the last reader. Fails with Infeasible if an operator needs more objects of a class than there are;
/// the error names the operator and the class.
Expected<Plan> planSwapPool(const SwapProblem &problem, const PoolLayout &pool, const PoolParams &params = {});

/// The distinct aligned sizes of the tensors and workspaces used in a memory, ascending:
/// SwapAdvisor's TS.
std::vector<int64_t> tensorSizes(const SwapProblem &problem, MemoryId memory);
/// For each class, by ascending object sizes: the largest number of objects that one operator
/// needs at once. A pool with fewer objects is infeasible. `classOfSize` is one memory's entry of
/// PoolParams::classOfSize.
std::vector<int64_t> minimumObjects(const SwapProblem &problem, MemoryId memory,
                                    const std::vector<int64_t> &objectBytes,
                                    std::span<const std::pair<int64_t, int64_t>> classOfSize = {});

/// Baseline of SwapAdvisor's paper (section 6): on-demand swapping that evicts the least recently used tensor, over a
/// best-fit allocator. The planner plans two steps, of which the first starts without resident parameters, and returns
/// the second. The copies of the plan start as early as its waits allow, so a copy in may precede its operator.
/// Fragmentation may make the plan infeasible, and the error says so. `inPlace`: see PoolParams.
Expected<Plan> planOdSwap(const SwapProblem &problem, bool inPlace = false);

/// Baseline (vDNN, TFLMS): activations are swapped by Belady's rule; parameters and states
/// stay resident while the step still needs them. Fails with Infeasible if these leave too little room for an operator;
/// the error states how many bytes are missing.
Expected<Plan> planActivationsOnly(const SwapProblem &problem);

/// Whether a state may stay in the memory of an accelerator from step to step: the graph has a state that an operator
/// updates, and the machine has an accelerator that computes.
bool mayKeepStates(const Graph &graph, const Machine &machine);

/// The plan for unlimited memory: capacities are ignored, nothing is evicted, and every
/// parameter is resident when a step starts. With `keepsStates`, states that are updated in place
/// stay on their accelerators; otherwise they are copied in and out in every step. Arenas are packed
/// close to livenessPeakBytes, unless a plan that uses no address twice is faster.
Expected<Plan> planIdeal(const SwapProblem &problem, bool keepsStates = true);

} // namespace sluice

#endif // SLUICE_SWAP_SWAPPLANNER_H
