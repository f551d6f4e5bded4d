//===- ListScheduler.h - What the placement solvers share -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H
#define SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H

#include "IdleSlots.h"
#include "sluice/Placement/Placement.h"

#include <span>
#include <vector>

namespace sluice {

/// Times of moving tensors between memories, over one link or by the host.
class Routes {
public:
  explicit Routes(const Machine &machine);
  int64_t timeNs(MemoryId from, MemoryId to, int64_t bytes) const;
  /// Mean over ordered pairs of distinct compute devices; not rounded.
  double meanNs(int64_t bytes) const { return meanLatencyNs + meanNsPerByte * static_cast<double>(bytes); }
  /// Mean over compute devices, to or from the host.
  double meanHostNs(int64_t bytes) const { return meanHostLatencyNs + meanHostNsPerByte * static_cast<double>(bytes); }

private:
  struct Hop {
    LinkId first, second; ///< Both invalid: one memory.
  };
  const Hop &hop(MemoryId from, MemoryId to) const { return hops[from.index() * numMemories + to.index()]; }

  const Machine &machine;
  size_t numMemories;
  std::vector<Hop> hops;
  double meanLatencyNs = 0, meanNsPerByte = 0;
  double meanHostLatencyNs = 0, meanHostNsPerByte = 0;
};

/// Operators that must share a device: a colocation colour, or one operator.
struct Units {
  std::vector<uint32_t> unitOf;                 ///< Per operator.
  std::vector<std::vector<OperatorId>> members; ///< Per unit.
  std::vector<DeviceId> device;                 ///< Per unit; invalid while open.

  explicit Units(const PlacementProblem &problem);
};

/// Builds a schedule operator by operator, predecessors first.
class ListScheduler {
public:
  ListScheduler(const PlacementProblem &problem, const Routes &routes, bool insertion, bool communication = true);

  /// When `op` would run on `device`.
  Interval tryPlace(OperatorId op, DeviceId device) const;
  void place(OperatorId op, DeviceId device);
  /// End of the last operator on `device`.
  int64_t freeNs(DeviceId device) const { return idle[device.index()].lastEnd(); }
  /// On its unit's device if that is settled, else where it ends first; the
  /// unit's device is settled then.
  void placeWhereFirst(OperatorId op, Units &units);
  /// All operators must be placed.
  PlacementSolution finish(std::string solver) &&;

private:
  const PlacementProblem &problem;
  const Routes &routes;
  bool insertion, communication;
  std::vector<DeviceId> candidates;
  std::vector<IdleSlots> idle; ///< Per device.
  PlacementSolution solution;
};

/// Who updates the state that `reader` reads as `input`, and so comes after it;
/// invalid where none does, or the reader itself.
OperatorId writerAfter(const Graph &graph, OperatorId reader, TensorId input);

/// Upward ranks: mean time plus the greatest over readers of communication and
/// their rank, and over those who update what it reads, of their rank. With
/// communication also the way of outputs to the host.
std::vector<double> upwardRanks(const PlacementProblem &problem, const Routes &routes,
                                std::span<const OperatorId> topological, bool communication);
/// Descending ranks, predecessors first where equal.
std::vector<OperatorId> byDescendingRank(std::span<const OperatorId> topological, std::span<const double> ranks);

using PlacementSolver = Expected<PlacementSolution> (*)(const PlacementProblem &problem, const Routes &routes,
                                                        std::span<const OperatorId> topological);

Expected<PlacementSolution> placeHeft(const PlacementProblem &, const Routes &, std::span<const OperatorId>);
Expected<PlacementSolution> placeHeftNoComm(const PlacementProblem &, const Routes &, std::span<const OperatorId>);
Expected<PlacementSolution> placeCpop(const PlacementProblem &, const Routes &, std::span<const OperatorId>);
Expected<PlacementSolution> placeSingleDevice(const PlacementProblem &, const Routes &, std::span<const OperatorId>);
Expected<PlacementSolution> placeFastestNode(const PlacementProblem &, const Routes &, std::span<const OperatorId>);
Expected<PlacementSolution> placeRoundRobin(const PlacementProblem &, const Routes &, std::span<const OperatorId>);
Expected<PlacementSolution> placeExhaustively(const PlacementProblem &, const Routes &, std::span<const OperatorId>);

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H
