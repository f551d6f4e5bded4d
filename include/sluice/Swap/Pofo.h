//===- Pofo.h - Rematerialization and offloading of chains ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A baseline after Beaumont, Eyraud-Dubois and Shilova, "Efficient Combination of
// Rematerialization and Offloading for Training DNNs" (NeurIPS 2021). The network is a
// chain of stages. The forward pass is divided into blocks. A block either keeps all
// that its backward pass needs, or it keeps only its input, and its forward pass runs again
// before the backward pass. The input of a block stays in memory, or it is offloaded and
// comes back for the backward pass.
//
// The blocks, the states of the dynamic program and its model of the link, in which bytes flow continuously, are the
// paper's. The rematerialization within a block is optimal too (Beaumont et al., "Optimal checkpointing for
// heterogeneous chains", 2019, arXiv 1911.13214); nothing is offloaded within a block. Two choices differ from the
// paper. First, a block that is computed again may be limited to less memory than there is, so that offloaded data can
// come back meanwhile. Second, the last block may use the optimal rematerialization already in its first forward pass.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SWAP_POFO_H
#define SLUICE_SWAP_POFO_H

#include "sluice/Plan/Plan.h"
#include "sluice/Swap/SwapProblem.h"

#include <vector>

namespace sluice {

/// One stage. Its forward pass reads the output of the stage before. Its backward pass reads the same output,
/// everything that the forward pass saved, and the gradient of the stage's own output. The peaks exclude the output of
/// the stage before.
struct PofoStage {
  int64_t forwardNs = 0, backwardNs = 0;
  int64_t outputBytes = 0;       ///< Size of the output, which the next stage reads. 0 for the last stage.
  int64_t savedBytes = 0;        ///< Size of all that the forward pass saves for backward passes, and of the output.
  int64_t gradientBytes = 0;     ///< Size of the gradient of the output. 0 for the last stage.
  int64_t keepPeakBytes = 0;     ///< Peak of the forward pass if it saves all; at least savedBytes.
  int64_t dropPeakBytes = 0;     ///< Peak of the forward pass if it saves only the output; at least outputBytes.
  int64_t backwardPeakBytes = 0; ///< Peak of the backward pass, with the gradient and the saved bytes that it reads.
  bool isRepeatable = true;      ///< The forward pass may run more than once.
};

struct PofoChain {
  std::vector<PofoStage> stages;
  int64_t memoryBytes = 0;
  /// The rates of the link while it copies in both directions. 0 means that nothing can be offloaded.
  double outBytesPerNs = 0, inBytesPerNs = 0;
};

/// Stages [first, last]: one entry of a schedule.
struct PofoBlock {
  enum class Kind : uint8_t {
    Keep,  ///< One stage, which saves all.
    Again, ///< Saves only its input and runs again before its backward pass, by the optimal rematerialization.
    Last,  ///< The end of the chain: forward and backward by the optimal rematerialization.
  };
  Kind kind = Kind::Last;
  size_t first = 0, last = 0;
  bool isOffloaded = false; ///< The input of the block leaves and comes back.
  /// For Again and Last: the memory of the rematerialization, without the input of the block.
  int64_t memoryBytes = 0;
};

/// One pass of a stage.
struct PofoRun {
  size_t stage = 0;
  bool isBackward = false;
  bool operator==(const PofoRun &) const = default;
};

struct PofoSchedule {
  std::vector<PofoBlock> blocks;
  std::vector<PofoRun> runs; ///< The runs in order. Each stage has one backward run and at least one forward run.
  double timeNs = 0;         ///< Time of the step in the model: all runs, and the time in which they wait for the link.
};

struct PofoParams {
  /// Sizes in a rematerialization are rounded up to multiples of memory / memoryParts. Long chains use fewer parts.
  int memoryParts = 500;
  /// States of the dynamic program whose bytes differ by less than this fraction of the memory count as one state. If
  /// it is 0, every state that may lead to the best schedule is kept.
  double tolerance = 1.0 / 24;
};

/// The fastest schedule of the chain in the model. Bytes leave continuously in the order of the blocks, and come back
/// in reverse order; a pass waits until the memory that it needs is free. The result is optimal among schedules of
/// blocks if `tolerance` is 0 and no size is rounded. Fails with Infeasible if a stage needs more than the memory, and
/// with Unsupported for more than 400 stages. The time is O(n^3 * memoryParts) for n stages, plus O(n^2) for each state
/// that is kept.
Expected<PofoSchedule> solvePofo(const PofoChain &chain, const PofoParams &params = {});

/// Baseline: POFO's schedule for a training step that is a chain, at addresses packed for the whole step. Parameters,
/// inputs and the states that the forward pass reads stay in memory. If the packing exceeds the memory because of
/// fragmentation, the schedule is made for less memory. Fails with Unsupported if the step is not a chain, if the chain
/// has one stage, if one stage has more than half of the forward operators, or if operators use several memories or the
/// host's. The error says what prevents it.
Expected<Plan> planPofo(const SwapProblem &problem);

} // namespace sluice

#endif // SLUICE_SWAP_POFO_H
