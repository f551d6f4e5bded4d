//===- ListScheduler.h - What the placement solvers share -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// List heuristics use the classical model of their papers: the time of moving a
// tensor between two memories is fixed, and links are never contended. The simulator
// determines the time of their result afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H
#define SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H

#include "IdleSlots.h"
#include "MemoryUse.h"
#include "StepWalk.h"
#include "sluice/Optimize/Budget.h"

#include <span>
#include <vector>

namespace sluice {

/// A topological order of a problem that passes check().
Expected<std::vector<OperatorId>> checkedOrder(const PlacementProblem &problem);

/// Times of moving tensors between memories, over one link or through the host's memory.
class Routes {
public:
  explicit Routes(const Machine &machine);
  int64_t timeNs(MemoryId from, MemoryId to, int64_t bytes) const;
  /// The mean over ordered pairs of distinct compute devices, not rounded.
  double meanNs(int64_t bytes) const { return meanLatencyNs + meanNsPerByte * static_cast<double>(bytes); }
  /// The mean over compute devices, to or from the host.
  double meanHostNs(int64_t bytes) const { return meanHostLatencyNs + meanHostNsPerByte * static_cast<double>(bytes); }

private:
  struct Hop {
    LinkId first, second; ///< Both are invalid if the memories are the same.
  };
  const Hop &hop(MemoryId from, MemoryId to) const { return hops[from.index() * numMemories + to.index()]; }

  const Machine &machine;
  size_t numMemories;
  std::vector<Hop> hops;
  double meanLatencyNs = 0, meanNsPerByte = 0;
  double meanHostLatencyNs = 0, meanHostNsPerByte = 0;
};

/// The input of every solver.
struct SolverInput {
  const PlacementProblem &problem; ///< The problem passes check().
  const Routes &routes;
  const StepIndex &index;
  std::span<const OperatorId> topological;
  Budget budget; ///< An evaluation simulates a whole order.
  uint64_t seed = 0;
  int threads = 1;
};

/// The result of a solver: `placement` in `order`. The other members are as the solver computed them.
struct ListSchedule {
  std::vector<DeviceId> placement; ///< For each operator.
  std::vector<OperatorId> order;   ///< Topological.
  std::vector<Interval> intervals; ///< For each operator, with uncontended links. May be empty.
  int64_t makespanNs = 0;          ///< With outputs back in the host's memory.
  int64_t evaluations = 0;
  bool optimal = false;
  bool stoppedByClock = false;
  std::vector<std::pair<std::string, int64_t>> members = {};
  std::string winner = {}; ///< The winner of a portfolio.
  std::vector<std::vector<DeviceId>> runnersUp = {};
  double foldDistance = -1;
};

/// Operators that must share a device: those of a colocation colour, or one operator.
struct Units {
  std::vector<uint32_t> unitOf;                 ///< For each operator.
  std::vector<std::vector<OperatorId>> members; ///< For each unit.
  std::vector<DeviceId> device;                 ///< For each unit. Invalid while it is open.

  explicit Units(const PlacementProblem &problem);
};

/// Assigns units to devices one after the other, within the capacities.
class Settler {
public:
  explicit Settler(const PlacementProblem &problem);

  const Units &units() const { return all; }
  /// The device of the operator's unit. Invalid while it is open.
  DeviceId deviceOf(OperatorId op) const { return all.device[all.unitOf[op.index()]]; }
  bool fits(OperatorId op, DeviceId device) const {
    return use.excessWith(all.members[all.unitOf[op.index()]], device) <= 0;
  }
  void settle(OperatorId op, DeviceId device);
  /// The first device with the least `cost` among those with room. If no device has
  /// room, an Infeasible error names the operator and the least excess.
  template <typename Cost>
  Expected<DeviceId> choose(OperatorId op, const Cost &cost) {
    DeviceId best;
    decltype(cost(DeviceId())) least{};
    for (DeviceId device : devices) {
      if (!fits(op, device))
        continue;
      auto value = cost(device);
      if (!best.valid() || value < least) {
        best = device;
        least = value;
      }
    }
    if (!best.valid())
      return noRoom(op);
    settle(op, best);
    return best;
  }

  /// An error with the bytes by which the operator's unit exceeds the remaining room.
  tl::unexpected<Error> noRoom(OperatorId op) const;

private:
  const PlacementProblem &problem;
  Units all;
  MemoryUse use;
  std::vector<DeviceId> devices;
};

/// Builds a schedule operator by operator. Predecessors come first.
class ListScheduler {
public:
  ListScheduler(const SolverInput &input, bool insertion, bool communication = true);

  /// The time when all operands of `op` are in the memory of the device.
  int64_t readyNs(OperatorId op, DeviceId device) const;
  /// The interval in which `op` would run on `device`.
  Interval tryPlace(OperatorId op, DeviceId device) const { return fit(op, device, readyNs(op, device)); }
  Interval fit(OperatorId op, DeviceId device, int64_t readyNs) const;
  void place(OperatorId op, DeviceId device);
  /// The end of the last operator on `device`.
  int64_t freeNs(DeviceId device) const { return idle[device.index()].lastEnd(); }
  DeviceId deviceOf(OperatorId op) const { return solution.placement[op.index()]; }
  int64_t endNs(OperatorId op) const { return solution.intervals[op.index()].endNs; }
  const IdleSlots &idleSlots(DeviceId device) const { return idle[device.index()]; }
  /// Places the operator on the device of its unit, if there is one. Otherwise places it
  /// where it ends first, which determines the device of the unit.
  Status placeWhereFirst(OperatorId op, Settler &settler);
  /// Requires that all operators are placed.
  ListSchedule finish() &&;

private:
  const PlacementProblem &problem;
  const Routes &routes;
  bool insertion, communication;
  std::vector<IdleSlots> idle; ///< For each device.
  ListSchedule solution;
};

/// The operator that updates the state which `reader` reads as `input`. It comes after the
/// reader. Invalid if no operator updates the state, or if the reader itself does.
OperatorId writerAfter(const Graph &graph, OperatorId reader, TensorId input);

/// The mean time over the devices that compute.
double meanTimeNs(const SolverInput &input, OperatorId op);
/// Upward ranks. The rank of an operator is its mean time plus the greatest of these numbers: for each reader, the
/// communication time plus the reader's rank; and for each operator that updates a state which this operator reads, the
/// rank of that operator. With communication, the maximum includes the copy of outputs to the host.
std::vector<double> upwardRanks(const SolverInput &input, bool communication);
/// Operators by descending rank. Of equal ones, predecessors come first.
std::vector<OperatorId> byDescendingRank(std::span<const OperatorId> topological, std::span<const double> ranks);
/// Determines the time of a placement in the order in which HEFT would schedule it.
ListSchedule scheduleAsHeft(const SolverInput &input, std::span<const DeviceId> placement);
ListSchedule scheduleUnits(const SolverInput &input, const Units &units);

using PlacementSolver = Expected<ListSchedule> (*)(const SolverInput &input);

Expected<ListSchedule> placeHeft(const SolverInput &input);
Expected<ListSchedule> placeHeftNoComm(const SolverInput &input);
Expected<ListSchedule> placeLookahead(const SolverInput &input);
Expected<ListSchedule> placeCpop(const SolverInput &input);
Expected<ListSchedule> placePeft(const SolverInput &input);
Expected<ListSchedule> placeEtf(const SolverInput &input);
Expected<ListSchedule> placeSct(const SolverInput &input);
Expected<ListSchedule> placeDpSplit(const SolverInput &input);
Expected<ListSchedule> placeSingleDevice(const SolverInput &input);
Expected<ListSchedule> placeFastestNode(const SolverInput &input);
Expected<ListSchedule> placeRoundRobin(const SolverInput &input);

/// The heuristics above, by name.
std::span<const std::pair<const char *, PlacementSolver>> placementHeuristics();

/// Large-neighbourhood search from the best of the heuristics.
Expected<ListSchedule> placeByNeighbourhoods(const SolverInput &input);
Expected<ListSchedule> placeHtfMpr(const SolverInput &input);
Expected<ListSchedule> placeExhaustively(const SolverInput &input);
/// All heuristics.
Expected<ListSchedule> placeBest(const SolverInput &input);

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H
