//===- SwapProblem.h - What a swap planner decides on -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A swap problem gives the device of each operator and the order; a swap planner
// decides where every tensor is at every moment. The host's memory is the hub:
// parameters, inputs, outputs and states have homes there or, on machines with files,
// in a file. A tensor that is evicted from an accelerator's arena while a later operator
// needs it goes to the host's arena or to a file.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SWAP_SWAPPROBLEM_H
#define SLUICE_SWAP_SWAPPROBLEM_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"

#include <vector>

namespace sluice {

struct SwapProblem {
  const Graph &graph;              ///< Passes Graph::check().
  const Machine &machine;          ///< Passes Machine::check().
  const CostTable &costs;          ///< Times of this graph's operators on this machine.
  std::vector<DeviceId> placement; ///< Per operator: the device that runs it.
  std::vector<OperatorId> order;   ///< One topological order over all devices.
  /// Per memory: the limit of the arena's bytes. Unlike in SearchProblem, Memory::capacityBytes is not read.
  std::vector<int64_t> capacityBytes;
};

/// Checks that sizes and ids fit together, that the order is topological, and that every operator is on a device that
/// computes. An operator must write each output and each updated state. No capacity may be negative, and the sum of all
/// sizes must be below 2^62 bytes.
Status check(const SwapProblem &problem);

struct MinimumBytes {
  int64_t bytes = 0;
  OperatorId op; ///< The operator that needs these bytes; invalid if no operator uses the memory.
};
/// The size of the smallest possible arena per memory, in aligned bytes. For an accelerator, it is the
/// largest working set of an operator placed on it; outputs that can overwrite operands in place do not
/// count. planSwapOffsets succeeds with this size or more. Tensors cannot be evicted from the host's arena.
/// The minimum of the host is therefore its liveness peak, not counting the evicted tensors that a plan stores there.
/// Requires a problem that passes check().
std::vector<MinimumBytes> minimumBytes(const SwapProblem &problem);

/// The liveness peak per memory: the largest number of aligned bytes that are live at one
/// operator of the order, with unlimited memory and every parameter resident in the memories
/// in which it is used. Homes use no arena. The arena of a plan without swapping and
/// without results in place has at least this size. With `keepsStates`, states that are updated in place
/// are resident too, where the machine allows it. Requires a problem that passes check().
std::vector<int64_t> livenessPeakBytes(const SwapProblem &problem, bool keepsStates = false);

} // namespace sluice

#endif // SLUICE_SWAP_SWAPPROBLEM_H
