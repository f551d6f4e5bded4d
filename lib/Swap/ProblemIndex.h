//===- ProblemIndex.h - What a swap problem implies, in flat arrays -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_PROBLEMINDEX_H
#define SLUICE_LIB_SWAP_PROBLEMINDEX_H

#include "sluice/Support/IdRange.h"
#include "sluice/Swap/SwapPlanner.h"
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

/// When a state without a home is in its accelerator's memory.
enum Keeping : uint8_t { Never = 0, Always, BetweenSteps };

/// Facts of a problem that planners look up, computed once.
struct ProblemIndex {
  /// `kept` says for each tensor whether it is a state that is in its accelerator's memory between steps (Keeping).
  /// Empty stands for no state.
  explicit ProblemIndex(const SwapProblem &problem, std::vector<uint8_t> kept = {});

  const SwapProblem &problem;
  size_t numMemories, numPositions;
  size_t numRam; ///< The number of memories that are not files. These come first.

  std::vector<Position> positionOf;   ///< Per operator.
  std::vector<MemoryId> memoryAt;     ///< Per position: the memory of the operator's device.
  std::vector<int64_t> bytes;         ///< Per tensor, aligned.
  std::vector<int64_t> dataBytes;     ///< Per tensor: Tensor::bytes.
  std::vector<uint32_t> totalUses;    ///< Per tensor: its reads in all memories.
  std::vector<Position> lastUse;      ///< Per tensor: its last reader's position, or its producer's.
  std::vector<OperatorId> producers;  ///< For each tensor. Invalid if no operator produces it.
  std::vector<uint8_t> isParameterAt; ///< Per tensor.
  std::vector<int64_t> workingSets;   ///< Per position: Graph::workingSetBytes.
  std::vector<uint8_t> hasHome;       ///< For each tensor: it has a home, or must be in a home when the step ends.
  /// For each tensor: an accelerator writes it, and a device reads it that only the host's
  /// memory is linked to. The tensor is therefore copied out immediately.
  std::vector<uint8_t> pushToHost;
  std::vector<LinkId> links;        ///< [from * numMemories + to]
  std::vector<DeviceId> swapDevice; ///< For each memory: the device whose streams copy in and out.

  IdRange<Position> positions() const { return idsBelow<Position>(numPositions); }
  IdRange<TensorId> tensors() const { return idsBelow<TensorId>(bytes.size()); }
  IdRange<MemoryId> memories() const { return idsBelow<MemoryId>(numMemories); }
  /// All memories except the host's memory and files.
  IdRange<MemoryId> acceleratorMemories() const { return idsBelow<MemoryId>(numRam, 1); }
  IdRange<MemoryId> files() const { return idsBelow<MemoryId>(numMemories, numRam); }
  bool hasFiles() const { return numRam < numMemories; }
  bool isAccelerator(MemoryId memory) const { return memory != Machine::hostMemory() && memory.index() < numRam; }
  /// False for tensors that the host reads or writes, and for inputs and outputs.
  bool mayBeInFile(TensorId t) const;

  SpotId spot(TensorId t, MemoryId memory) const { return SpotId(t.index() * numMemories + memory.index()); }
  size_t numSpots() const { return bytes.size() * numMemories; }
  /// The positions, ascending, at which operators of the memory read the tensor.
  std::span<const Position> uses(SpotId spot) const {
    return {useList.data() + useStart[spot.index()], useStart[spot.index() + 1] - useStart[spot.index()]};
  }
  /// The time of a copy from the host into an accelerator's memory, on machines without files.
  int64_t copyInNs(SpotId spot) const { return copiesInNs[spot.index()]; }
  LinkId link(MemoryId from, MemoryId to) const { return links[from.index() * numMemories + to.index()]; }
  MemoryId memoryOf(Position position) const { return memoryAt[position.index()]; }
  OperatorId opAt(Position position) const { return problem.order[position.index()]; }
  const Operator &operatorAt(Position position) const { return problem.graph.op(opAt(position)); }
  /// Invalid for a tensor that no operator produces.
  Position producedAt(TensorId t) const {
    const OperatorId producer = producers[t.index()];
    return producer.valid() ? positionOf[producer.index()] : Position();
  }
  Position lastPosition() const { return Position(numPositions == 0 ? 0 : numPositions - 1); }
  /// Whether the tensor is a state that always stays in an accelerator's memory and is updated in place.
  bool isKept(TensorId t) const { return !kept.empty() && kept[t.index()] == Keeping::Always; }
  /// Whether the tensor is the new value of such a state.
  bool isNewOfKept(TensorId t) const {
    if (kept.empty())
      return false;
    const TensorId old = problem.graph.tensor(t).updates;
    return old.valid() && isKept(old);
  }
  /// Whether the tensor is a state that is in an accelerator's memory between steps and may leave within a step.
  bool isResting(TensorId t) const { return !kept.empty() && kept[t.index()] == Keeping::BetweenSteps; }
  /// Whether the tensor is the new value of such a state.
  bool isNewOfResting(TensorId t) const {
    if (kept.empty())
      return false;
    const TensorId old = problem.graph.tensor(t).updates;
    return old.valid() && isResting(old);
  }
  /// Whether a step begins with the tensor at an address, and ends with the tensor or its new value there.
  bool staysResident(TensorId t) const { return isParameter(t) || isKept(t); }
  bool isParameter(TensorId t) const { return isParameterAt[t.index()] != 0; }
  bool allOnHost() const;
  /// Whether an output of the operator at a position may take the place of the operand.
  /// This is the last use of the operand, both have the same size, and the operand is not
  /// needed later.
  bool diesFor(Position position, TensorId operand, TensorId output) const;
  /// Finds for each output of the operator at a position the operand whose place it takes,
  /// or none. `mayLose` decides whether an operand that dies there may lose its place.
  template <typename MayLose>
  void matchInPlace(Position position, MayLose mayLose, std::vector<TensorId> &operands) const {
    const Operator &op = operatorAt(position);
    operands.assign(op.outputs.size(), TensorId());
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (isNewOfResting(op.outputs[i]))
        operands[i] = problem.graph.tensor(op.outputs[i]).updates;
    for (auto [input, output] : op.inPlace) {
      TensorId operand = op.inputs[input];
      bool isTaken = std::find(operands.begin(), operands.end(), operand) != operands.end();
      if (!operands[output].valid() && !isTaken && diesFor(position, operand, op.outputs[output]) && mayLose(operand))
        operands[output] = operand;
    }
  }
  /// The least number of aligned bytes that the operator at a position needs at once. This
  /// is its working set, with outputs in the places of operands if that is always possible.
  int64_t leastBytes(Position position) const;

private:
  /// Fills copiesInNs.
  void timeCopiesIn();

  std::vector<uint8_t> kept;
  std::vector<uint32_t> useStart; ///< Per spot, and the end: an index into useList.
  std::vector<Position> useList;
  std::vector<int64_t> copiesInNs; ///< Per spot; empty on machines with files.
};

/// Chooses the states that stay in the memory of the operator that updates them in place, for each tensor. They have
/// `share` of the bytes of all such states, or fewer bytes if operators would not fit beside them. An empty result
/// stands for no state. (KeptStates.cpp)
std::vector<uint8_t> statesToKeep(const SwapProblem &problem, double share, StateChoice choice = StateChoice::Edges);
/// Marks further states, of at most `bytes` bytes, as Keeping::BetweenSteps. Those at the edges of the step come first.
void restStates(const SwapProblem &problem, int64_t bytes, std::vector<uint8_t> &kept);

/// sluice::minimumBytes of the problem of the index.
std::vector<MinimumBytes> minimumBytes(const ProblemIndex &index);

/// The stay of a tensor in the arena of one memory, at the positions [first, last]. An
/// invalid tensor stands for a workspace. If `first` is behind `last`, the stay has the positions from `first` to the
/// end of the step and those from its begin to `last`.
struct Stay {
  TensorId tensor;
  Position first, last;
  int64_t bytes = 0;
};
/// The stays in a memory if nothing is evicted. The stay of a parameter covers all positions. Workspaces follow the
/// tensors, in the order of positions.
std::vector<Stay> unlimitedStays(const ProblemIndex &index, MemoryId memory);
/// The greatest number of bytes at one position, and the first such position.
std::pair<int64_t, Position> peakOfStays(const ProblemIndex &index, std::span<const Stay> stays);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_PROBLEMINDEX_H
