//===- ListScheduler.h - What the placement solvers share -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// List heuristics see the classical model of their papers: a tensor takes its
// time between two memories, links are never contended. What they return is
// timed by the simulator afterwards.
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

/// What every solver is given.
struct SolverInput {
  const PlacementProblem &problem; ///< Checked.
  const Routes &routes;
  const StepIndex &index;
  std::span<const OperatorId> topological;
  Budget budget; ///< Evaluations are of whole orders.
  uint64_t seed = 0;
  int threads = 1;
};

/// What a solver returns: `placement` in `order` is the answer, the rest as the
/// solver sees it.
struct ListSchedule {
  std::vector<DeviceId> placement; ///< Per operator.
  std::vector<OperatorId> order;   ///< Topological.
  std::vector<Interval> intervals; ///< Per operator, links uncontended; empty: none.
  int64_t makespanNs = 0;          ///< With outputs back in the host's memory.
  int64_t evaluations = 0;
  bool optimal = false;
  bool stoppedByClock = false;
  std::vector<std::pair<std::string, int64_t>> members = {};
  std::string winner = {}; ///< Of a portfolio.
  std::vector<std::vector<DeviceId>> runnersUp = {};
  double foldDistance = -1;
};

/// Operators that must share a device: a colocation colour, or one operator.
struct Units {
  std::vector<uint32_t> unitOf;                 ///< Per operator.
  std::vector<std::vector<OperatorId>> members; ///< Per unit.
  std::vector<DeviceId> device;                 ///< Per unit; invalid while open.

  explicit Units(const PlacementProblem &problem);
};

/// Units on devices one after the other, within the capacities.
class Settler {
public:
  explicit Settler(const PlacementProblem &problem);

  const Units &units() const { return all; }
  /// Of the operator's unit; invalid while open.
  DeviceId deviceOf(OperatorId op) const { return all.device[all.unitOf[op.index()]]; }
  bool fits(OperatorId op, DeviceId device) const {
    return use.excessWith(all.members[all.unitOf[op.index()]], device) <= 0;
  }
  void settle(OperatorId op, DeviceId device);
  /// The device with the least `cost` among those with room; the first such.
  /// Infeasible where there is none, naming the operator and the least excess.
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

  /// Says by how much the operator's unit is too large for what is left.
  tl::unexpected<Error> noRoom(OperatorId op) const;

private:
  const PlacementProblem &problem;
  Units all;
  MemoryUse use;
  std::vector<DeviceId> devices;
};

/// Builds a schedule operator by operator, predecessors first.
class ListScheduler {
public:
  ListScheduler(const SolverInput &input, bool insertion, bool communication = true);

  /// When all that `op` reads is in the device's memory.
  int64_t readyNs(OperatorId op, DeviceId device) const;
  /// When `op` would run on `device`.
  Interval tryPlace(OperatorId op, DeviceId device) const { return fit(op, device, readyNs(op, device)); }
  Interval fit(OperatorId op, DeviceId device, int64_t readyNs) const;
  void place(OperatorId op, DeviceId device);
  /// End of the last operator on `device`.
  int64_t freeNs(DeviceId device) const { return idle[device.index()].lastEnd(); }
  DeviceId deviceOf(OperatorId op) const { return solution.placement[op.index()]; }
  int64_t endNs(OperatorId op) const { return solution.intervals[op.index()].endNs; }
  const IdleSlots &idleSlots(DeviceId device) const { return idle[device.index()]; }
  /// On its unit's device if that is settled, else where it ends first; the
  /// unit's device is settled then.
  Status placeWhereFirst(OperatorId op, Settler &settler);
  /// All operators must be placed.
  ListSchedule finish() &&;

private:
  const PlacementProblem &problem;
  const Routes &routes;
  bool insertion, communication;
  std::vector<IdleSlots> idle; ///< Per device.
  ListSchedule solution;
};

/// Who updates the state that `reader` reads as `input`, and so comes after it;
/// invalid where none does, or the reader itself.
OperatorId writerAfter(const Graph &graph, OperatorId reader, TensorId input);

/// Mean time over the devices that compute.
double meanTimeNs(const SolverInput &input, OperatorId op);
/// Upward ranks: mean time plus the greatest over readers of communication and
/// their rank, and over those who update what it reads, of their rank. With
/// communication also the way of outputs to the host.
std::vector<double> upwardRanks(const SolverInput &input, bool communication);
/// Descending ranks, predecessors first where equal.
std::vector<OperatorId> byDescendingRank(std::span<const OperatorId> topological, std::span<const double> ranks);
/// Times a placement as HEFT would order it.
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

/// The heuristics above by name.
std::span<const std::pair<const char *, PlacementSolver>> placementHeuristics();

/// Large-neighbourhood search from the best of the heuristics.
Expected<ListSchedule> placeByNeighbourhoods(const SolverInput &input);
Expected<ListSchedule> placeHtfMpr(const SolverInput &input);
Expected<ListSchedule> placeExhaustively(const SolverInput &input);
/// All of them.
Expected<ListSchedule> placeBest(const SolverInput &input);

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_LISTSCHEDULER_H
