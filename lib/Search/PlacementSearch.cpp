//===- PlacementSearch.cpp - Moving operators between devices -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include <map>

namespace sluice::search {

/// The share of the whole budget that moving operators between devices may take.
static constexpr double kPlacementShare = 0.3;
static constexpr int64_t kStallEvaluations = 1000;

namespace {

/// Operators that move together: those of a colocation colour, or one operator.
struct MovableUnits {
  std::vector<uint32_t> unitOf;               ///< Per operator.
  std::vector<std::vector<OperatorId>> units; ///< Empty where the problem pins an operator of the unit.
};

} // namespace

static MovableUnits movableUnits(const Graph &graph, const std::vector<DeviceId> &pinned) {
  MovableUnits movable;
  std::map<int32_t, uint32_t> unitOfColour;
  movable.unitOf.resize(graph.numOperators());
  for (uint32_t i = 0; i < movable.unitOf.size(); ++i) {
    const int32_t colour = graph.op(OperatorId(i)).colocation;
    uint32_t unit = static_cast<uint32_t>(movable.units.size());
    if (colour >= 0)
      unit = unitOfColour.emplace(colour, unit).first->second;
    if (unit == movable.units.size())
      movable.units.emplace_back();
    movable.unitOf[i] = unit;
    movable.units[unit].push_back(OperatorId(i));
  }
  for (uint32_t i = 0; i < pinned.size(); ++i)
    if (pinned[i].valid())
      movable.units[movable.unitOf[i]].clear();
  return movable;
}

/// Moves an operator, one of its successors, one of that one's and so on to one device: up to 64 operators.
static void moveRun(const SearchState &state, const MovableUnits &movable, std::vector<DeviceId> &placement, Rng &rng) {
  const std::vector<DeviceId> devices = state.machine.computeDevices();
  OperatorId op(static_cast<uint32_t>(rng.below(placement.size())));
  const DeviceId device = devices[rng.below(devices.size())];
  for (uint64_t left = uint64_t(1) << rng.below(7); left > 0; --left) {
    for (OperatorId member : movable.units[movable.unitOf[op.index()]])
      placement[member.index()] = device;
    std::vector<OperatorId> next = state.graph.successors(op);
    if (next.empty())
      break;
    op = next[rng.below(next.size())];
  }
}

/// The part of the search's budget that this strategy may take.
static Budget placementBudget(const SearchState &state) {
  Budget share;
  if (state.hasEvaluationLimit())
    share.evaluations = static_cast<int64_t>(static_cast<double>(state.evaluationLimit) * kPlacementShare);
  if (state.budget.deadline)
    share.deadline = state.begin + std::chrono::duration_cast<Clock::duration>((*state.budget.deadline - state.begin) *
                                                                               kPlacementShare);
  return share;
}

void improvePlacement(SearchState &state, const Schedule &order, int64_t currentNs) {
  const MovableUnits movable = movableUnits(state.graph, state.pinned);
  const Budget share = placementBudget(state);
  const Rng root = Rng(state.params.seed).fork(2);
  std::vector<DeviceId> current = state.space->placement();
  bool isMoved = false;
  int64_t sinceBetter = 0;
  for (uint64_t batch = 0; state.mayContinue() && sinceBetter < kStallEvaluations; ++batch) {
    if (share.late() || state.result.evaluations + static_cast<int64_t>(kNeighbours) > share.evaluations) {
      state.isStopped |= share.late();
      break;
    }
    std::vector<std::vector<DeviceId>> neighbours(kNeighbours, current);
    Wave wave = state.evaluate(kNeighbours, /*firstAlways=*/false, [&](size_t i) {
      Rng rng = root.fork(batch).fork(i);
      moveRun(state, movable, neighbours[i], rng);
      return planSwapOffsets({state.graph, state.machine, state.costs, neighbours[i], order, state.capacities});
    });
    sinceBetter += static_cast<int64_t>(kNeighbours);
    if (!wave.plan || wave.bestNs >= currentNs)
      continue;
    sinceBetter = 0;
    isMoved = true;
    currentNs = wave.bestNs;
    current = std::move(neighbours[wave.best]);
    state.offer(wave, "place=local-search");
  }
  if (!isMoved)
    return;
  state.space = state.spaceFor(current, order);
  Evaluation evaluation;
  evaluation.makespanNs = currentNs;
  state.addBaseline("place=local-search", evaluation);
}

} // namespace sluice::search
