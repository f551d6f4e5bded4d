//===- ProblemIndex.h - What a swap problem implies, in flat arrays -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_PROBLEMINDEX_H
#define SLUICE_LIB_SWAP_PROBLEMINDEX_H

#include "sluice/Swap/SwapProblem.h"

#include <algorithm>
#include <limits>
#include <span>

namespace sluice::swap {

constexpr uint32_t kNever = std::numeric_limits<uint32_t>::max();

/// Positions count along the order. A tensor in a memory is a *spot*.
struct ProblemIndex {
  explicit ProblemIndex(const SwapProblem &problem);

  const SwapProblem &problem;
  size_t numMemories, numPositions;

  std::vector<uint32_t> positionOf; ///< Per operator.
  std::vector<uint32_t> memoryAt;   ///< Per position.
  std::vector<int64_t> bytes;       ///< Per tensor, aligned.
  std::vector<uint32_t> totalUses;  ///< Per tensor: reads anywhere.
  std::vector<uint32_t> lastUse;    ///< Per tensor: position, or its producer's.
  std::vector<uint8_t> hasHome;     ///< Per tensor: has, or must end with, one.
  /// Per tensor: written on an accelerator and read where only the host's
  /// memory leads, so it is copied out at once.
  std::vector<uint8_t> pushToHost;
  std::vector<LinkId> links;        ///< [from * numMemories + to]
  std::vector<DeviceId> swapDevice; ///< Per memory: whose streams its copies take.

  size_t spot(TensorId t, uint32_t memory) const { return t.index() * numMemories + memory; }
  std::span<const uint32_t> uses(size_t spot) const {
    return {useList.data() + useStart[spot], useStart[spot + 1] - useStart[spot]};
  }
  LinkId link(uint32_t from, uint32_t to) const { return links[from * numMemories + to]; }
  OperatorId opAt(size_t position) const { return problem.order[position]; }
  const Operator &operatorAt(size_t position) const { return problem.graph.op(opAt(position)); }
  bool isParameter(TensorId t) const { return problem.graph.tensor(t).kind == TensorKind::Parameter; }
  bool allOnHost() const;
  /// True where an output of the operator at a position may take the operand's
  /// place: its last use, the same size, and nothing that must be there later.
  bool diesFor(size_t position, TensorId operand, TensorId output) const;
  /// Per output of the operator at a position: the operand whose place it takes,
  /// or none. `mayLose`: of an operand that dies there.
  template <typename MayLose>
  void matchInPlace(size_t position, MayLose mayLose, std::vector<TensorId> &operands) const {
    const Operator &op = operatorAt(position);
    operands.assign(op.outputs.size(), TensorId());
    for (auto [input, output] : op.inPlace) {
      TensorId operand = op.inputs[input];
      bool isTaken = std::find(operands.begin(), operands.end(), operand) != operands.end();
      if (!operands[output].valid() && !isTaken && diesFor(position, operand, op.outputs[output]) && mayLose(operand))
        operands[output] = operand;
    }
  }
  /// Aligned bytes that the operator at a position needs at once at least: its
  /// working set, outputs in their operands' places where that is always possible.
  int64_t leastBytes(size_t position) const;

private:
  std::vector<uint32_t> useStart, useList;
};

/// A stay of a tensor (or, with an invalid tensor, of a workspace) in one
/// memory's arena: positions [first, last].
struct Stay {
  TensorId tensor;
  uint32_t first = 0, last = 0;
  int64_t bytes = 0;
};
/// The stays of a memory when nothing is ever evicted; a parameter's spans all
/// positions. Workspaces follow the tensors, in order of positions.
std::vector<Stay> unlimitedStays(const ProblemIndex &index, uint32_t memory);
/// The most bytes at one position, and the first such position.
std::pair<int64_t, uint32_t> peakOfStays(const ProblemIndex &index, std::span<const Stay> stays);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_PROBLEMINDEX_H
