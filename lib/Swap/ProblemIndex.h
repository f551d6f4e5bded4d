//===- ProblemIndex.h - What a swap problem implies, in flat arrays -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_PROBLEMINDEX_H
#define SLUICE_LIB_SWAP_PROBLEMINDEX_H

#include "sluice/Support/IdRange.h"
#include "sluice/Swap/SwapProblem.h"

#include <algorithm>
#include <span>

namespace sluice::swap {

/// A position in the problem's order. Positions from numPositions on are in the next step.
using Position = Id<struct PositionTag>;
/// Later than every position.
inline constexpr Position kNever{};
/// A tensor in a memory.
using SpotId = Id<struct SpotTag>;

/// What planners look up about a problem, computed once.
struct ProblemIndex {
  /// `kept`: per tensor, a state stays in its accelerator's memory from step to step; empty: none does.
  explicit ProblemIndex(const SwapProblem &problem, std::vector<uint8_t> kept = {});

  const SwapProblem &problem;
  size_t numMemories, numPositions;
  size_t numRam; ///< Memories that are no files; these come first.

  std::vector<Position> positionOf;   ///< Per operator.
  std::vector<MemoryId> memoryAt;     ///< Per position: the memory of the operator's device.
  std::vector<int64_t> bytes;         ///< Per tensor, aligned.
  std::vector<uint32_t> totalUses;    ///< Per tensor: its reads in all memories.
  std::vector<Position> lastUse;      ///< Per tensor: its last reader's position, or its producer's.
  std::vector<OperatorId> producers;  ///< Per tensor; invalid where no operator makes it.
  std::vector<uint8_t> isParameterAt; ///< Per tensor.
  std::vector<int64_t> workingSets;   ///< Per position: Graph::workingSetBytes.
  std::vector<uint8_t> hasHome;       ///< Per tensor: it has a home, or must be in one when the step ends.
  /// Per tensor: written on an accelerator and read where only the host's
  /// memory leads, so it is copied out at once.
  std::vector<uint8_t> pushToHost;
  std::vector<LinkId> links;        ///< [from * numMemories + to]
  std::vector<DeviceId> swapDevice; ///< Per memory: the device whose streams copy in and out.

  IdRange<Position> positions() const { return idsBelow<Position>(numPositions); }
  IdRange<TensorId> tensors() const { return idsBelow<TensorId>(bytes.size()); }
  IdRange<MemoryId> memories() const { return idsBelow<MemoryId>(numMemories); }
  /// All memories but the host's and files.
  IdRange<MemoryId> acceleratorMemories() const { return idsBelow<MemoryId>(numRam, 1); }
  IdRange<MemoryId> files() const { return idsBelow<MemoryId>(numMemories, numRam); }
  bool hasFiles() const { return numRam < numMemories; }
  bool isAccelerator(MemoryId memory) const { return memory != Machine::hostMemory() && memory.index() < numRam; }
  /// False for what the host reads or writes, and for what the caller gives or gets.
  bool mayBeInFile(TensorId t) const;

  SpotId spot(TensorId t, MemoryId memory) const { return SpotId(t.index() * numMemories + memory.index()); }
  size_t numSpots() const { return bytes.size() * numMemories; }
  /// Ascending: where operators of the memory read the tensor.
  std::span<const Position> uses(SpotId spot) const {
    return {useList.data() + useStart[spot.index()], useStart[spot.index() + 1] - useStart[spot.index()]};
  }
  /// Of a copy from the host into an accelerator's memory, on machines without files.
  int64_t copyInNs(SpotId spot) const { return copiesInNs[spot.index()]; }
  LinkId link(MemoryId from, MemoryId to) const { return links[from.index() * numMemories + to.index()]; }
  MemoryId memoryOf(Position position) const { return memoryAt[position.index()]; }
  OperatorId opAt(Position position) const { return problem.order[position.index()]; }
  const Operator &operatorAt(Position position) const { return problem.graph.op(opAt(position)); }
  /// Invalid for a tensor that no operator makes.
  Position producedAt(TensorId t) const {
    const OperatorId producer = producers[t.index()];
    return producer.valid() ? positionOf[producer.index()] : Position();
  }
  Position lastPosition() const { return Position(numPositions == 0 ? 0 : numPositions - 1); }
  /// A state that is in an accelerator's memory all the time, and is updated in place.
  bool isKept(TensorId t) const { return !kept.empty() && kept[t.index()]; }
  /// The new value of such a state.
  bool isNewOfKept(TensorId t) const {
    const TensorId old = problem.graph.tensor(t).updates;
    return old.valid() && isKept(old);
  }
  /// A step begins with it at an address and ends with it, or with its new value, there.
  bool staysResident(TensorId t) const { return isParameter(t) || isKept(t); }
  bool isParameter(TensorId t) const { return isParameterAt[t.index()] != 0; }
  bool allOnHost() const;
  /// True where an output of the operator at a position may take the operand's
  /// place: its last use, the same size, and nothing that must be there later.
  bool diesFor(Position position, TensorId operand, TensorId output) const;
  /// Per output of the operator at a position: the operand whose place it takes,
  /// or none. `mayLose`: of an operand that dies there.
  template <typename MayLose>
  void matchInPlace(Position position, MayLose mayLose, std::vector<TensorId> &operands) const {
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
  int64_t leastBytes(Position position) const;

private:
  /// Fills copiesInNs.
  void timeCopiesIn();

  std::vector<uint8_t> kept;
  std::vector<uint32_t> useStart; ///< Per spot, and the end: an index into useList.
  std::vector<Position> useList;
  std::vector<int64_t> copiesInNs; ///< Per spot; empty on machines with files.
};

/// Per tensor: a state that stays in the memory of the operator that updates it in place. `share` of the bytes of all
/// such states, those first that are read soonest or updated last, or fewer where operators would not fit beside them.
/// Empty: none. (KeptStates.cpp)
std::vector<uint8_t> statesToKeep(const SwapProblem &problem, double share);

/// sluice::minimumBytes of the index's problem.
std::vector<MinimumBytes> minimumBytes(const ProblemIndex &index);

/// A stay of a tensor (or, with an invalid tensor, of a workspace) in one
/// memory's arena: positions [first, last].
struct Stay {
  TensorId tensor;
  Position first, last;
  int64_t bytes = 0;
};
/// The stays of a memory when nothing is ever evicted; a parameter's spans all
/// positions. Workspaces follow the tensors, in order of positions.
std::vector<Stay> unlimitedStays(const ProblemIndex &index, MemoryId memory);
/// The most bytes at one position, and the first such position.
std::pair<int64_t, Position> peakOfStays(const ProblemIndex &index, std::span<const Stay> stays);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_PROBLEMINDEX_H
