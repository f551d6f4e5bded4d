//===- Neighbourhoods.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The search accepts late (Burke and Bykov, "The Late Acceptance Hill-Climbing Heuristic", EJOR 2017): a neighbour
// becomes the current solution if it is not worse than the current solution of some steps ago. There are three kinds of
// neighbours. The first moves an operator, a sequence of dependent operators, or a pair of operators to other devices.
// The second moves an operator within the order. The third frees a few operators that belong together, and puts each of
// them where the whole program ends first.
//
//===----------------------------------------------------------------------===//

#include "Neighbourhoods.h"

#include "Evaluator.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Rng.h"

#include <algorithm>

namespace sluice {
namespace {

/// Fixed, so that the result does not depend on the number of threads.
constexpr size_t kChains = 2;
constexpr size_t kHistory = 40;

class Chain {
public:
  Chain(const SolverInput &input, const TimedSchedule &start, int64_t evaluations, Rng rng)
      : input(input), index(input.index), units(input.problem), evaluator(index), rng(rng), left(evaluations),
        current(start.schedule.placement), order(start.schedule.order), currentNs(start.makespanNs),
        bestPlacement(current), bestOrder(order), best(currentNs), history(kHistory, currentNs),
        position(order.size()) {
    for (size_t unit = 0; unit < units.members.size(); ++unit)
      if (!units.device[unit].valid() && index.devices.size() > 1)
        movable.push_back(static_cast<uint32_t>(unit));
    number();
  }

  void run() {
    if (order.size() < 2 && movable.empty())
      return;
    while (left > 0 && !stopped) {
      const uint64_t dice = rng.below(100);
      if (movable.empty() || dice < 30)
        moveInOrder();
      else if (dice < 60)
        moveUnit();
      else if (dice < 75)
        moveRun();
      else if (dice < 85)
        swapUnits();
      else
        reinsert();
    }
  }

  int64_t bestNs() const { return best; }
  ListSchedule take() && {
    ListSchedule schedule;
    schedule.placement = std::move(bestPlacement);
    schedule.order = std::move(bestOrder);
    schedule.stoppedByClock = stopped;
    return schedule;
  }

private:
  OperatorId anyOperator() { return OperatorId(static_cast<uint32_t>(rng.below(order.size()))); }
  uint32_t anyUnit() { return movable[rng.below(movable.size())]; }
  DeviceId anyDevice() { return index.devices[rng.below(index.devices.size())]; }
  /// A device of an operator that this one feeds or reads from, or any.
  DeviceId likelyDevice(OperatorId op) {
    auto before = index.predecessors(op), after = index.successors(op);
    const size_t count = before.size() + after.size();
    if (count == 0 || rng.chance(0.4))
      return anyDevice();
    const size_t pick = rng.below(count);
    return current[pick < before.size() ? before[pick] : after[pick - before.size()]];
  }

  void number() {
    for (uint32_t i = 0; i < order.size(); ++i)
      position[order[i].index()] = i;
  }

  bool fits(std::span<const DeviceId> placement) const {
    if (input.problem.capacityBytes.empty())
      return true;
    const std::vector<int64_t> bytes = placementBytes(input.problem, placement);
    return std::equal(bytes.begin(), bytes.end(), input.problem.capacityBytes.begin(), std::less_equal<>());
  }

  void setUnit(std::vector<DeviceId> &placement, uint32_t unit, DeviceId device) const {
    for (OperatorId member : units.members[unit])
      placement[member.index()] = device;
  }
  bool isOpen(OperatorId op) const { return !units.device[units.unitOf[op.index()]].valid(); }

  int64_t measure(std::span<const DeviceId> placement, std::span<const OperatorId> sequence, int64_t limitNs) {
    --left;
    stopped |= input.budget.mustStop();
    return evaluator.makespanNs(placement, sequence, limitNs);
  }

  /// Takes `trial` or leaves things as they are; `trial` is equal to `current`
  /// afterwards.
  void offerPlacement() {
    if (trial == current)
      return;
    if (fits(trial)) {
      int64_t &late = history[step++ % kHistory];
      const int64_t limit = std::max(late, currentNs);
      const int64_t makespan = measure(trial, order, limit);
      if (makespan <= limit) {
        current = trial;
        accept(makespan);
      }
      late = currentNs;
    }
    trial = current;
  }

  void accept(int64_t makespan) {
    currentNs = makespan;
    if (makespan >= best)
      return;
    best = makespan;
    bestPlacement = current;
    bestOrder = order;
  }

  void moveUnit() {
    trial = current;
    const uint32_t unit = anyUnit();
    setUnit(trial, unit, likelyDevice(units.members[unit][rng.below(units.members[unit].size())]));
    offerPlacement();
  }

  void swapUnits() {
    trial = current;
    const uint32_t a = anyUnit(), b = anyUnit();
    const DeviceId deviceA = current[units.members[a].front().index()];
    setUnit(trial, a, current[units.members[b].front().index()]);
    setUnit(trial, b, deviceA);
    offerPlacement();
  }

  void moveRun() {
    trial = current;
    OperatorId op = anyOperator();
    const DeviceId device = likelyDevice(op);
    for (uint64_t length = uint64_t(2) << rng.below(6); length > 0; --length) {
      if (isOpen(op))
        setUnit(trial, units.unitOf[op.index()], device);
      auto next = index.successors(op);
      if (next.empty())
        break;
      op = OperatorId(next[rng.below(next.size())]);
    }
    offerPlacement();
  }

  /// To a random place between its last predecessor and its first successor.
  void moveInOrder() {
    const OperatorId op = anyOperator();
    uint32_t low = 0, high = static_cast<uint32_t>(order.size()) - 1;
    for (uint32_t before : index.predecessors(op))
      low = std::max(low, position[before] + 1);
    for (uint32_t after : index.successors(op))
      high = std::min(high, position[after] - 1);
    const uint32_t from = position[op.index()];
    if (low == high) {
      --left; // A chain has nothing to move.
      return;
    }
    uint32_t to = low + static_cast<uint32_t>(rng.below(high - low));
    to += to >= from; // Another place.
    rotate(from, to);
    int64_t &late = history[step++ % kHistory];
    const int64_t limit = std::max(late, currentNs);
    const int64_t makespan = measure(current, order, limit);
    if (makespan <= limit)
      accept(makespan);
    else
      rotate(to, from);
    late = currentNs;
  }

  void rotate(uint32_t from, uint32_t to) {
    auto at = [&](uint32_t i) { return order.begin() + static_cast<ptrdiff_t>(i); };
    if (from < to)
      std::rotate(at(from), at(from + 1), at(to + 1));
    else
      std::rotate(at(to), at(from), at(from + 1));
    for (uint32_t i = std::min(from, to); i <= std::max(from, to); ++i)
      position[order[i].index()] = i;
  }

  /// A few operators around one, each put where the whole ends first.
  void reinsert() {
    trial = current;
    OperatorId op = anyOperator();
    int64_t trialNs = std::numeric_limits<int64_t>::max();
    for (uint64_t length = 2 + rng.below(4); length > 0 && left > 0; --length) {
      const uint32_t unit = units.unitOf[op.index()];
      if (isOpen(op)) {
        DeviceId chosen;
        int64_t least = std::numeric_limits<int64_t>::max();
        for (DeviceId device : index.devices) {
          setUnit(trial, unit, device);
          if (!fits(trial))
            continue;
          const int64_t makespan = measure(trial, order, least);
          if (makespan < least || (makespan == least && rng.chance(0.3))) {
            least = makespan;
            chosen = device;
          }
        }
        if (!chosen.valid())
          chosen = current[op.index()];
        else
          trialNs = least;
        setUnit(trial, unit, chosen);
      }
      auto before = index.predecessors(op), after = index.successors(op);
      if (before.empty() && after.empty())
        break;
      const size_t pick = rng.below(before.size() + after.size());
      op = OperatorId(pick < before.size() ? before[pick] : after[pick - before.size()]);
    }
    int64_t &late = history[step++ % kHistory];
    if (trialNs <= std::max(late, currentNs) && fits(trial)) {
      current = trial;
      accept(trialNs);
    }
    late = currentNs;
  }

  const SolverInput &input;
  const StepIndex &index;
  Units units;
  Evaluator evaluator;
  Rng rng;
  int64_t left;
  bool stopped = false;
  std::vector<DeviceId> current, trial;
  std::vector<OperatorId> order;
  int64_t currentNs;
  std::vector<DeviceId> bestPlacement;
  std::vector<OperatorId> bestOrder;
  int64_t best;
  std::vector<int64_t> history;
  size_t step = 0;
  std::vector<uint32_t> position; ///< Per operator, in `order`.
  std::vector<uint32_t> movable;  ///< Units.
};

} // namespace

TimedSchedule searchNeighbourhoods(const SolverInput &input, std::span<const TimedSchedule> starts) {
  const Rng root(input.seed);
  std::vector<TimedSchedule> ends(kChains);
  parallelFor(input.threads, kChains, [&](size_t i) {
    Chain chain(input, starts[std::min(i, starts.size() - 1)], input.budget.evaluations / int64_t(kChains),
                root.fork(i));
    chain.run();
    ends[i].makespanNs = chain.bestNs();
    ends[i].schedule = std::move(chain).take();
  });
  TimedSchedule best = starts.front();
  bool stopped = false;
  for (TimedSchedule &end : ends) {
    stopped |= end.schedule.stoppedByClock;
    if (end.makespanNs < best.makespanNs) {
      best = std::move(end);
      best.schedule.winner = "lns";
    }
  }
  best.schedule.evaluations = input.budget.evaluations;
  best.schedule.stoppedByClock = stopped;
  return best;
}

} // namespace sluice
