//===- StayPlanner.cpp - Stays first, then addresses ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A walk that chooses an address for each tensor when it comes cannot know which tensors will want the neighbouring
// addresses. With tensors of a tenth of the memory, fragments soon cause most of the copies. This planner knows the
// order and decides in three steps:
//
// 1. Presence. A sweep over the order keeps the present tensors within a budget of bytes. If an operator does not fit,
//    the tensor with the longest absence leaves, weighed by the copies that the absence causes (a form of Belady's
//    rule). It leaves directly after its last use.
// 2. Time. Stays are lengthened as far as the budget allows: a tensor that is copied out stays until the copy is done,
//    and a tensor that is copied in has its addresses before its first use. The first pass takes the times of the
//    operators alone; each later pass takes the simulated times of the plan before it.
// 3. Addresses. All stays are packed at once. If they need more than the memory, the room for lengthening shrinks,
// after every second attempt also the budget, and the three steps start again.
//
//===----------------------------------------------------------------------===//

#include "Placers.h"
#include "StaticLayout.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <optional>

using namespace sluice;
using namespace sluice::swap;

namespace {

/// A tensor at one place of the memory, at the positions [first, last] of uses. The group holds the address for longer,
/// for copies.
struct Presence {
  TensorId tensor; ///< Invalid: workspace.
  Position first, last;
  bool isFetched = false; ///< It is copied in. Otherwise an operator writes it.
  bool isInitial = false; ///< A parameter that is there when the step begins and ends.
  bool isCopiedOut = false;
  uint32_t group =
      0; ///< Presences with the same group share an address: a result that is written in place follows its operand.
  bool isAtRest = false; ///< A state that is there since the step before.
};

/// Presences that follow each other at one address. If `first` is behind `last`, a state is there from `first` to the
/// end of the step, and from the begin of the next step to `last` (Stay).
struct Group {
  Position first, last; ///< At which the address is reserved, the time for copies included.
  int64_t bytes = 0;
  int64_t offset = 0;
  bool wraps() const { return first > last; }
};

struct StaySchedule {
  std::vector<Presence> presences; ///< By ascending first use. Workspaces come last, by position.
  std::vector<Group> groups;
  std::vector<uint8_t> saveEarly; ///< Per tensor.
};

class StayScheduler {
public:
  StayScheduler(const ProblemIndex &index, MemoryId memory, const SwapParams &params)
      : index(index), memory(memory), params(params) {}

  /// Presences within the budget, lengthened for their copies within `roomBytes`. Operator p runs from startNs[p] to
  /// startNs[p + 1]. Nothing if an operator does not fit.
  std::optional<StaySchedule> schedule(int64_t budgetBytes, int64_t roomBytes, std::span<const int64_t> startNs);

private:
  static constexpr uint32_t kAbsent = std::numeric_limits<uint32_t>::max();
  bool isHere(TensorId t) const { return present[t.index()] != kAbsent; }
  Position usedNext(TensorId t) const {
    const std::span<const Position> uses = index.uses(index.spot(t, memory));
    return cursor[t.index()] < uses.size() ? uses[cursor[t.index()]] : kNever;
  }
  bool mayStayForever(TensorId t) const { return index.isParameter(t) && !wasVictim[t.index()]; }
  int64_t copyNs(TensorId t) const { return index.copyInNs(index.spot(t, memory)); }
  void arrive(TensorId t, Position p, bool isFetched);
  /// The tensor is not present after the position.
  void depart(TensorId t, Position last);
  /// Whether the tensor is a state that is always in the memory, or its new value.
  bool isFixed(TensorId t) const { return index.isKept(t) || index.isNewOfKept(t); }
  /// Whether the tensor is in the memory when the step ends.
  bool mustStay(TensorId t) const { return index.isNewOfResting(t); }
  bool makeRoom(Position p, int64_t bytes);
  void groupPresences(const std::vector<uint32_t> &placeOf);
  void runOperator(Position p);
  void countUsage();
  void lengthen(uint32_t group, Position first, Position last, int64_t roomBytes);
  void giveTime(int64_t roomBytes);
  Position positionAt(int64_t timeNs) const {
    const auto after = std::upper_bound(startNs.begin(), startNs.end() - 1, timeNs);
    return Position(static_cast<size_t>(std::max<std::ptrdiff_t>(after - startNs.begin() - 1, 0)));
  }

  const ProblemIndex &index;
  MemoryId memory;
  const SwapParams &params;
  std::span<const int64_t> startNs;
  int64_t budget = 0, used = 0;
  StaySchedule result;
  std::vector<uint32_t> present;  ///< Per tensor: its presence, or kAbsent.
  std::vector<TensorId> here;     ///< Those that are present, in any order.
  std::vector<uint32_t> hereAt;   ///< Per tensor: its index in `here`.
  std::vector<uint32_t> cursor;   ///< Per tensor: the uses so far.
  std::vector<uint8_t> wasVictim; ///< Per tensor.
  std::vector<uint8_t> isBacked;  ///< Per tensor: no copy out is due when it leaves.
  std::vector<Position> neededAt; ///< Per tensor: the last position that touches it so far.
  std::vector<TensorId> operands; ///< Per output at hand: the operand whose place it takes.
  std::vector<int64_t> usage;     ///< Per position.
};

void StayScheduler::arrive(TensorId t, Position p, bool isFetched) {
  present[t.index()] = static_cast<uint32_t>(result.presences.size());
  hereAt[t.index()] = static_cast<uint32_t>(here.size());
  here.push_back(t);
  used += index.bytes[t.index()];
  result.presences.push_back({t, p, p, isFetched, false, false, 0});
}

void StayScheduler::depart(TensorId t, Position last) {
  result.presences[present[t.index()]].last = last;
  present[t.index()] = kAbsent;
  used -= index.bytes[t.index()];
  hereAt[here.back().index()] = hereAt[t.index()];
  here[hereAt[t.index()]] = here.back();
  here.pop_back();
}

bool StayScheduler::makeRoom(Position p, int64_t bytes) {
  while (used + bytes > budget) {
    TensorId victim;
    double best = -1;
    for (TensorId t : here) {
      if (neededAt[t.index()] == p || index.bytes[t.index()] == 0 || mustStay(t))
        continue;
      // Addresses are reserved for whole positions.
      if (result.presences[present[t.index()]].isAtRest && p == Position(0u))
        continue;
      Position next = usedNext(t);
      int64_t nextNs = 0;
      if (next == kNever) {
        next = index.uses(index.spot(t, memory)).front();
        nextNs = startNs.back();
      }
      nextNs += startNs[next.index()];
      const int64_t lastNs = startNs[result.presences[present[t.index()]].last.index()];
      const double score =
          static_cast<double>(nextNs - lastNs) / (isBacked[t.index()] ? 1.0 : 1.0 + params.stallWeight);
      if (score > best || (score == best && t < victim)) {
        best = score;
        victim = t;
      }
    }
    if (!victim.valid())
      return false;
    Presence &presence = result.presences[present[victim.index()]];
    if (!isBacked[victim.index()]) {
      presence.isCopiedOut = true;
      result.saveEarly[victim.index()] = 1;
      isBacked[victim.index()] = 1;
    }
    wasVictim[victim.index()] = 1;
    depart(victim, presence.last);
  }
  return true;
}

void StayScheduler::runOperator(Position p) {
  const Operator &op = index.operatorAt(p);
  for (TensorId t : op.inputs) {
    if (isFixed(t))
      continue;
    ++cursor[t.index()];
    if (isHere(t))
      result.presences[present[t.index()]].last = p;
  }
  for (TensorId t : op.inputs)
    if (isHere(t) && usedNext(t) == kNever && !mayStayForever(t) && !mustStay(t))
      depart(t, p);
  for (TensorId t : op.outputs)
    if (isHere(t) && usedNext(t) == kNever && !mustStay(t))
      depart(t, p);
}

std::optional<StaySchedule> StayScheduler::schedule(int64_t budgetBytes, int64_t roomBytes,
                                                    std::span<const int64_t> times) {
  const size_t numTensors = index.bytes.size();
  startNs = times;
  budget = budgetBytes;
  used = 0;
  result = StaySchedule();
  result.saveEarly.assign(numTensors, 0);
  present.assign(numTensors, kAbsent);
  here.clear();
  hereAt.assign(numTensors, 0);
  cursor.assign(numTensors, 0);
  wasVictim.assign(numTensors, 0);
  neededAt.assign(numTensors, Position());
  isBacked.assign(numTensors, 0);
  std::vector<uint32_t> placeOf; // Per presence: the presence whose place it takes, or kAbsent.
  for (TensorId t : index.tensors()) {
    isBacked[t.index()] = index.hasHome[t.index()] || (!index.producers[t.index()].valid() && !index.isResting(t));
    if (index.isResting(t)) {
      arrive(t, Position(0u), false);
      result.presences.back().isAtRest = true;
    }
    if (index.isParameter(t) && !index.uses(index.spot(t, memory)).empty())
      arrive(t, Position(0u), true);
  }
  for (Position p : index.positions()) {
    const Operator &op = index.operatorAt(p);
    auto mayLose = [](TensorId) { return true; };
    index.matchInPlace(p, mayLose, operands);
    int64_t bytes = alignUp(op.workspaceBytes);
    for (TensorId t : op.inputs) {
      if (neededAt[t.index()] == p || isFixed(t))
        continue;
      neededAt[t.index()] = p;
      if (!isHere(t))
        bytes += index.bytes[t.index()];
    }
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (!index.isNewOfKept(op.outputs[i]) && !operands[i].valid())
        bytes += index.bytes[op.outputs[i].index()];
    if (!makeRoom(p, bytes))
      return std::nullopt;
    for (TensorId t : op.inputs)
      if (!isHere(t) && !isFixed(t))
        arrive(t, p, true);
    for (size_t i = 0; i < op.outputs.size(); ++i) {
      const TensorId t = op.outputs[i];
      if (index.isNewOfKept(t))
        continue;
      placeOf.resize(result.presences.size(), kAbsent);
      placeOf.push_back(operands[i].valid() ? present[operands[i].index()] : kAbsent);
      arrive(t, p, false);
      neededAt[t.index()] = p;
      result.presences.back().isCopiedOut = index.hasHome[t.index()];
    }
    runOperator(p);
  }
  placeOf.resize(result.presences.size(), kAbsent);
  while (!here.empty()) {
    Presence &presence = result.presences[present[here.back().index()]];
    presence.isInitial = mayStayForever(here.back());
    depart(here.back(), presence.isInitial || mustStay(here.back()) ? index.lastPosition() : presence.last);
  }
  groupPresences(placeOf);
  giveTime(roomBytes);
  return std::move(result);
}

/// Presences that follow each other in place share a group, and so do both ends of a state's rest. Sorts the presences.
void StayScheduler::groupPresences(const std::vector<uint32_t> &placeOf) {
  std::vector<Presence> kept;
  std::vector<uint32_t> restOf(index.bytes.size(), kAbsent); // Per state: the entry of `kept` since the step before.
  std::vector<uint32_t> groupOf(result.presences.size(), kAbsent);
  for (uint32_t i = 0; i < result.presences.size(); ++i) {
    Presence presence = result.presences[i];
    const TensorId t = presence.tensor;
    // A parameter that left at any time is not there when the step begins.
    if (index.isParameter(t) && !presence.isInitial && presence.first == Position(0u)) {
      const std::span<const Position> uses = index.uses(index.spot(t, memory));
      if (presence.last < uses.front())
        continue;
      presence.first = uses.front();
    }
    if (placeOf[i] != kAbsent) {
      groupOf[i] = groupOf[placeOf[i]];
      result.groups[groupOf[i]].last = presence.last;
    } else {
      groupOf[i] = static_cast<uint32_t>(result.groups.size());
      result.groups.push_back({presence.first, presence.last, index.bytes[t.index()], 0});
    }
    presence.group = groupOf[i];
    if (presence.isAtRest)
      restOf[t.index()] = static_cast<uint32_t>(kept.size());
    kept.push_back(presence);
    if (!mustStay(t))
      continue;
    Presence &rest = kept[restOf[index.problem.graph.tensor(t).updates.index()]];
    if (rest.group == presence.group)
      continue;
    // The state returned to the place where the step began with it.
    result.groups[presence.group].last = rest.last;
    result.groups[rest.group].bytes = 0;
    rest.group = presence.group;
  }
  // What rests leaves in the order of its last uses.
  std::stable_sort(kept.begin(), kept.end(), [](const Presence &a, const Presence &b) {
    auto key = [](const Presence &presence) { return presence.isAtRest ? presence.last.value + 1 : 0; };
    return std::pair(a.first, key(a)) < std::pair(b.first, key(b));
  });
  for (Position p : index.positions())
    if (const int64_t bytes = alignUp(index.operatorAt(p).workspaceBytes); bytes > 0) {
      kept.push_back({TensorId(), p, p, false, false, false, static_cast<uint32_t>(result.groups.size())});
      result.groups.push_back({p, p, bytes, 0});
    }
  result.presences = std::move(kept);
}

void StayScheduler::countUsage() {
  usage.assign(index.numPositions + 1, 0);
  for (const Group &group : result.groups) {
    usage[group.first.index()] += group.bytes;
    usage[0] += group.wraps() ? group.bytes : 0;
    usage[group.last.index() + 1] -= group.bytes;
  }
  for (size_t p = 1; p < usage.size(); ++p)
    usage[p] += usage[p - 1];
}

/// Extends the group to [first, last], or as far as there is room.
void StayScheduler::lengthen(uint32_t id, Position first, Position last, int64_t roomBytes) {
  Group &group = result.groups[id];
  const bool wraps = group.wraps();
  while (group.last < last && !(wraps && group.last.value + 1 == group.first.value) &&
         usage[group.last.index() + 1] + group.bytes <= roomBytes) {
    group.last = Position(group.last.value + 1);
    usage[group.last.index()] += group.bytes;
  }
  while (first < group.first && !(wraps && group.last.value + 1 == group.first.value) &&
         usage[group.first.index() - 1] + group.bytes <= roomBytes) {
    group.first = Position(group.first.value - 1);
    usage[group.first.index()] += group.bytes;
  }
}

void StayScheduler::giveTime(int64_t roomBytes) {
  countUsage();
  // Both streams run in order. Where both are busy, each is slower than alone.
  const double slow = 1 + params.idleWeight;
  auto durationNs = [&](TensorId t) { return static_cast<int64_t>(slow * static_cast<double>(copyNs(t))); };
  int64_t busyNs = 0;
  for (const Presence &presence : result.presences) {
    if (!presence.isCopiedOut)
      continue;
    busyNs = std::max(busyNs, startNs[presence.first.index() + 1]) + durationNs(presence.tensor);
    // If a result takes the address in place, the group is not lengthened: the result waits for the copy.
    if (result.groups[presence.group].last == presence.last)
      lengthen(presence.group, result.groups[presence.group].first, positionAt(busyNs - 1), roomBytes);
  }
  std::vector<std::pair<Position, uint32_t>> wanted;
  busyNs = startNs.back();
  for (size_t i = result.presences.size(); i-- > 0;) {
    const Presence &presence = result.presences[i];
    if (!presence.isFetched || presence.isInitial)
      continue;
    busyNs = std::min(busyNs, startNs[presence.first.index()]) - durationNs(presence.tensor);
    wanted.emplace_back(positionAt(std::max<int64_t>(busyNs, 0)), presence.group);
  }
  for (size_t i = wanted.size(); i-- > 0;)
    lengthen(wanted[i].second, wanted[i].first, result.groups[wanted[i].second].last, roomBytes);
}

/// Carries out a schedule.
class StayPlacer final : public Placer {
public:
  StayPlacer(const ProblemIndex &index, MemoryId memory, const StaySchedule &schedule, int64_t base)
      : memory(memory), schedule(schedule), base(base), listStart(index.bytes.size() + 1, 0),
        workspaceOf(index.numPositions, 0) {
    for (const Presence &presence : schedule.presences)
      if (presence.tensor.valid())
        ++listStart[presence.tensor.index() + 1];
    for (size_t t = 1; t < listStart.size(); ++t)
      listStart[t] += listStart[t - 1];
    list.resize(listStart.back());
    std::vector<uint32_t> fill(listStart.begin(), listStart.end() - 1);
    for (uint32_t i = 0; i < schedule.presences.size(); ++i) {
      const Presence &presence = schedule.presences[i];
      if (!presence.tensor.valid()) {
        workspaceOf[presence.first.index()] = i;
        continue;
      }
      list[fill[presence.tensor.index()]++] = i;
      byEnd.push_back(i);
    }
    std::stable_sort(byEnd.begin(), byEnd.end(),
                     [&](uint32_t a, uint32_t b) { return schedule.presences[a].last < schedule.presences[b].last; });
  }
  bool worksInPlace() const override { return true; }
  bool isAlwaysAsked() const override { return true; }
  Status place(const StepPlanner &state, PlaceRequest &request) override {
    const Position p = request.position;
    for (; ended < byEnd.size() && schedule.presences[byEnd[ended]].last < p; ++ended) {
      const Presence &presence = schedule.presences[byEnd[ended]];
      const ResidencyId at = state.residentIn(presence.tensor, memory);
      if (!at.valid() || state.residency(at).offset != offsetOf(presence))
        continue;
      const auto pin = std::find(request.pinned.begin(), request.pinned.end(), at);
      if (pin == request.pinned.end()) {
        request.evictions.push_back(at);
        continue;
      }
      if (offsetAt(presence.tensor, p) == state.residency(at).offset)
        continue;
      request.pinned.erase(pin);
      request.allocations.push_back({presence.tensor, state.residency(at).bytes, true, 0, 0});
    }
    for (Allocation &allocation : request.allocations) {
      allocation.reservedBytes = allocation.bytes;
      allocation.offset = allocation.tensor.valid() ? offsetAt(allocation.tensor, p)
                                                    : offsetOf(schedule.presences[workspaceOf[p.index()]]);
    }
    return {};
  }

private:
  int64_t offsetOf(const Presence &presence) const { return base + schedule.groups[presence.group].offset; }
  /// The place of the tensor at the position.
  int64_t offsetAt(TensorId t, Position p) const {
    const std::span<const uint32_t> own(list.data() + listStart[t.index()],
                                        listStart[t.index() + 1] - listStart[t.index()]);
    for (uint32_t i : own)
      if (p <= schedule.presences[i].last)
        return offsetOf(schedule.presences[i]);
    return own.empty() ? base : offsetOf(schedule.presences[own.back()]);
  }

  MemoryId memory;
  const StaySchedule &schedule;
  int64_t base;
  std::vector<uint32_t> listStart, list; ///< Per tensor: its presences, by first use.
  std::vector<uint32_t> workspaceOf;     ///< Per position: the presence.
  std::vector<uint32_t> byEnd;
  size_t ended = 0; ///< How many of byEnd are over.
};

} // namespace

/// The accelerator whose memory all operators use; invalid if there are several, or files.
static MemoryId onlyMemory(const ProblemIndex &index) {
  if (index.hasFiles() || index.numPositions == 0)
    return MemoryId();
  const MemoryId memory = index.memoryOf(Position(0u));
  for (Position p : index.positions())
    if (index.memoryOf(p) != memory)
      return MemoryId();
  return memory == Machine::hostMemory() ? MemoryId() : memory;
}

static Expected<Plan> planStays(const ProblemIndex &index, MemoryId memory, const SwapParams &params) {
  const SwapProblem &problem = index.problem;
  std::vector<ResidentParameter> kept;
  int64_t base = 0;
  for (TensorId t : index.tensors())
    if (index.isKept(t)) {
      kept.push_back({t, memory, base, index.bytes[t.index()]});
      base += index.bytes[t.index()];
    }
  const int64_t capacity = problem.capacityBytes[memory.index()] / kArenaAlignment * kArenaAlignment - base;
  std::vector<int64_t> startNs(index.numPositions + 1, 0);
  for (Position p : index.positions())
    startNs[p.index() + 1] =
        startNs[p.index()] + problem.costs.timeNs(index.opAt(p), problem.placement[index.opAt(p).index()]);
  StayScheduler scheduler(index, memory, params);
  std::optional<Plan> best;
  int64_t bestNs = 0, budget = static_cast<int64_t>(params.presence * static_cast<double>(capacity)), room = capacity;
  int fruitless = 0;
  for (int pass = 0; pass < std::max(params.passes, 1); ++pass) {
    std::optional<StaySchedule> schedule;
    // Packed addresses may exceed the largest sum of bytes that are present at a time.
    static constexpr int kTries = 12;
    for (int attempt = 0; attempt < kTries; ++attempt) {
      schedule = scheduler.schedule(budget, room, startNs);
      if (!schedule)
        break;
      std::vector<Stay> stays;
      for (const Group &group : schedule->groups)
        stays.push_back({TensorId(), group.first, group.last, group.bytes});
      const StaticLayout layout = packStays(index, stays, capacity);
      for (size_t i = 0; i < stays.size(); ++i)
        schedule->groups[i].offset = layout.offsets[i];
      if (layout.peakBytes <= capacity)
        break;
      schedule.reset();
      // Time for copies is less important than presence.
      const int64_t excess = std::max(std::min(layout.peakBytes - capacity, capacity / 16), capacity / 100);
      room -= excess;
      if (attempt % 2 == 1)
        budget -= excess;
    }
    if (!schedule)
      break;
    StepOptions options;
    options.saveEarly = schedule->saveEarly;
    std::vector<ResidentParameter> initial = kept;
    for (const Presence &presence : schedule->presences)
      if (presence.isInitial || presence.isAtRest)
        initial.push_back({presence.tensor, memory, base + schedule->groups[presence.group].offset,
                           index.bytes[presence.tensor.index()]});
    StayPlacer placer(index, memory, *schedule, base);
    std::vector<Placer *> placers(index.numMemories, nullptr);
    placers[memory.index()] = &placer;
    StepPlanner planner(index, options);
    if (Status ran = planner.run(initial, placers); !ran) {
      if (best)
        break;
      return propagate(ran);
    }
    Plan plan = planner.takePlan();
    const Timeline timeline = simulate(problem.graph, problem.machine, problem.costs, plan);
    for (size_t i = 0; i < plan.commands.size(); ++i)
      if (plan.commands[i].kind == CommandKind::Launch)
        startNs[index.positionOf[plan.commands[i].op.index()].index()] = timeline.commands[i].startNs;
    startNs.back() = timeline.makespanNs;
    if (best && timeline.makespanNs >= bestNs) {
      if (++fruitless == 2)
        break;
      continue;
    }
    fruitless = 0;
    bestNs = timeline.makespanNs;
    best = std::move(plan);
  }
  if (!best)
    return makeError(ErrorCode::Infeasible, "the intervals in which tensors of graph '", problem.graph.name,
                     "' stay on the accelerator cannot be packed into memory '", problem.machine.memory(memory).name,
                     "', use a solver that places tensors at free offsets");
  return validated(problem, std::move(*best), "swap=stays");
}

Expected<Plan> sluice::planSwapStays(const SwapProblem &problem, const SwapParams &params) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  if (!(params.presence > 0 && params.presence <= 1))
    return makeError(ErrorCode::InvalidInput, "a plan by stays cannot use the fraction ", params.presence,
                     " of the memory, parameter 'presence', give a number above 0 and at most 1");
  std::vector<uint8_t> kept = statesToKeep(problem, params.keptStates, params.keptChoice);
  const ProblemIndex index(problem, kept);
  const MemoryId memory = onlyMemory(index);
  if (!memory.valid())
    return makeError(ErrorCode::Unsupported,
                     "intervals in which tensors stay in a memory are planned for a single accelerator only, graph '",
                     problem.graph.name, "' on machine '", problem.machine.name,
                     "', use a solver that places tensors at free offsets");
  // If the states that rest leave too little room for the operators at both ends of the step, fewer rest.
  static constexpr double kLeastShare = 0.05, kLess = 0.75;
  for (double share = std::min(params.restingStates, 1.0); share > kLeastShare; share *= kLess) {
    std::vector<uint8_t> resting = kept;
    restStates(problem, static_cast<int64_t>(share * static_cast<double>(problem.capacityBytes[memory.index()])),
               resting);
    if (Expected<Plan> plan = planStays(ProblemIndex(problem, std::move(resting)), memory, params); plan)
      return plan;
  }
  return planStays(index, memory, params);
}
