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
  const CostTable &costs;          ///< Of this graph on this machine.
  std::vector<DeviceId> placement; ///< Per operator.
  std::vector<OperatorId> order;   ///< One topological order over all devices.
  /// Per memory: the limit of the arena's bytes. Unlike in SearchProblem, Memory::capacityBytes is not read.
  std::vector<int64_t> capacityBytes;
};

/// Fails unless sizes and ids fit together, the order is topological, every operator
/// is on a computing device, no capacity is negative, an operator writes each output
/// and each updated state, and the sizes sum to less than 2^62 bytes.
Status check(const SwapProblem &problem);

struct MinimumBytes {
  int64_t bytes = 0;
  OperatorId op; ///< The operator that needs these bytes; invalid where no operator uses the memory.
};
/// The least arena per memory, in aligned bytes. For an accelerator this is the largest
/// working set of an operator placed on it, with outputs that are written in place at the
/// addresses of operands that die. planSwapOffsets succeeds with this much or more. Tensors cannot be evicted from the
/// host's arena, so for the host it is the liveness peak without the copies that swapping adds. Requires a problem that
/// passes check().
std::vector<MinimumBytes> minimumBytes(const SwapProblem &problem);

/// The liveness peak per memory: the most aligned bytes that are live at one operator of
/// the order, with unlimited memory and every parameter resident where it is used. Homes
/// use no arena. A plan without swapping needs at least this much. Requires a problem
/// that passes check().
std::vector<int64_t> livenessPeakBytes(const SwapProblem &problem);

} // namespace sluice

#endif // SLUICE_SWAP_SWAPPROBLEM_H
