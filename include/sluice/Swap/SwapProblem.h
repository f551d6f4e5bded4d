//===- SwapProblem.h - What a swap planner decides on -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Where operators run and in which order is given; where every tensor is at
// every moment is sought. The host's memory is the hub: parameters, inputs,
// outputs and states have homes there, and what leaves an accelerator's arena
// while still needed goes to the host's arena.
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
  const CostTable &costs;          ///< Of this graph on this machine.
  std::vector<DeviceId> placement; ///< Per operator.
  std::vector<OperatorId> order;   ///< One topological order over all devices.
  /// Arena bytes per memory; use Memory::capacityBytes for "all there is".
  std::vector<int64_t> capacityBytes;
};

/// Checks the input: sizes and ids, the order topological, every operator on a
/// computing device, capacities not negative, no output or updated state
/// without an operator that writes it, and sizes that sum below 2^62 bytes.
Status check(const SwapProblem &problem);

struct MinimumBytes {
  int64_t bytes = 0;
  OperatorId op; ///< Needs that much; invalid where no operator uses the memory.
};
/// Per memory, in aligned bytes. An accelerator's is the largest working set of
/// an operator placed on it, its outputs in the places of operands that die where
/// it works in place: with at least that, planSwapOffsets succeeds. What
/// is in the host's arena has nowhere to go, so the host's is its liveness peak
/// without the copies that swapping adds. Needs a checked problem.
std::vector<MinimumBytes> minimumBytes(const SwapProblem &problem);

/// Per memory: the most aligned bytes live at one operator of the order, with
/// unlimited memory and every parameter resident where it is used; homes take
/// no arena. No plan that copies nothing back and forth needs less. Needs a
/// checked problem.
std::vector<int64_t> livenessPeakBytes(const SwapProblem &problem);

} // namespace sluice

#endif // SLUICE_SWAP_SWAPPROBLEM_H
