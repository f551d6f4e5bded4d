//===- Staying.cpp - The step with a tensor that stays --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This file changes the plan such that a tensor stays in memory, and simulates the step. The changed plan lacks the
// copies that bring the tensor back, and the tensor is at free bytes of its memory meanwhile. The plan validator checks
// each changed plan, so that a statement about it is a statement about a valid plan.
//
//===----------------------------------------------------------------------===//

#include "PlanFacts.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace sluice {

Kept keptOf(const AbsenceFact &absence) {
  return {absence.left, absence.back, absence.isOverEnd, absence.freeOffset.value_or(0)};
}

namespace {

/// What a plan becomes where tensors are kept.
class KeptPlan {
public:
  KeptPlan(const PlanFacts &facts, const std::vector<Kept> &kept)
      : facts(facts), plan(facts.plan), isGone(plan.commands.size(), false), stays(plan.residencies.size()) {
    for (size_t i = 0; i < stays.size(); ++i)
      stays[i] = ResidencyId(i);
    for (const Kept &one : kept)
      keep(one);
  }

  struct Step {
    Plan plan;
    std::vector<CommandId> original; ///< Per command: in the plan that was given.
    Timeline timeline;
  };
  /// With as few waits as the data asks for; where the checker refuses that, with all that the copies stood for.
  std::optional<Step> simulated() const {
    for (bool keepsOrder : {false, true}) {
      Step step = build(keepsOrder);
      if (!validatePlan(facts.graph, facts.machine, step.plan))
        continue;
      step.timeline = simulate(facts.graph, facts.machine, facts.costs, step.plan);
      return step;
    }
    return std::nullopt;
  }

private:
  const PlanFacts &facts;
  Plan plan;                      ///< With the residencies as they become.
  std::vector<bool> isGone;       ///< Per command.
  std::vector<ResidencyId> stays; ///< Per residency: the one that takes its place; invalid: none.

  void keep(const Kept &one) {
    const CommandId copy = facts.creators[one.back.index()];
    if (copy.valid())
      isGone[copy.index()] = true;
    for (ResidencyId id : {one.left, one.back}) {
      Residency &stay = plan.residencies[id.index()];
      stay.offset = one.offset;
      int64_t &arena = plan.arenaBytes[stay.memory.index()];
      arena = std::max(arena, one.offset + stay.bytes);
    }
    if (one.isOverEnd) {
      plan.residencies[one.back.index()].initial = true;
      return;
    }
    stays[one.back.index()] = one.left;
    if (copy.valid())
      dropUnread(facts.command(copy).reads[0]);
  }

  /// A copy out whose result only copies back read.
  void dropUnread(ResidencyId id) {
    const CommandId maker = facts.creators[id.index()];
    const std::vector<CommandId> &readers = facts.readers[id.index()];
    if (!maker.valid() || facts.isLaunch(maker) || facts.residency(id).segment == Segment::Home ||
        !std::all_of(readers.begin(), readers.end(), [&](CommandId reader) { return isGone[reader.index()]; }))
      return;
    isGone[maker.index()] = true;
    stays[id.index()] = ResidencyId();
  }

  /// What a command waits for instead of one that is gone: with the order kept, all that this one came after.
  void addWaits(CommandId id, bool keepsOrder, std::set<CommandId> &waits) const {
    if (!isGone[id.index()]) {
      waits.insert(id);
      return;
    }
    for (CommandId wait : facts.command(id).waits)
      addWaits(wait, keepsOrder, waits);
    if (keepsOrder && facts.before[id.index()].valid())
      addWaits(facts.before[id.index()], keepsOrder, waits);
  }

  std::set<CommandId> waitsOf(CommandId id, bool keepsOrder) const {
    std::set<CommandId> waits;
    for (CommandId need : facts.needs(id))
      if (!isGone[need.index()] || facts.command(id).waits.end() !=
                                       std::find(facts.command(id).waits.begin(), facts.command(id).waits.end(), need))
        addWaits(need, keepsOrder, waits);
    // The command before on the stream may have waited for this one too.
    for (CommandId earlier = facts.before[id.index()]; keepsOrder && earlier.valid() && isGone[earlier.index()];
         earlier = facts.before[earlier.index()])
      for (CommandId wait : facts.command(earlier).waits)
        addWaits(wait, keepsOrder, waits);
    return waits;
  }

  Step build(bool keepsOrder) const {
    Step step{plan, {}, {}};
    step.plan.residencies.clear();
    step.plan.commands.clear();
    std::vector<ResidencyId> newStay(stays.size());
    for (size_t i = 0; i < stays.size(); ++i)
      if (stays[i] == ResidencyId(i)) {
        newStay[i] = ResidencyId(step.plan.residencies.size());
        step.plan.residencies.push_back(plan.residencies[i]);
      }
    std::vector<CommandId> newCommand(plan.commands.size());
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      if (isGone[i])
        continue;
      Command command = plan.commands[i];
      for (std::vector<ResidencyId> *touched : {&command.reads, &command.writes})
        for (ResidencyId &id : *touched)
          id = newStay[stays[id.index()].index()];
      command.waits.clear();
      for (CommandId wait : waitsOf(CommandId(i), keepsOrder))
        if (plan.commands[wait.index()].stream != command.stream)
          command.waits.push_back(newCommand[wait.index()]);
      newCommand[i] = CommandId(step.plan.commands.size());
      step.original.push_back(CommandId(i));
      step.plan.commands.push_back(std::move(command));
    }
    return step;
  }
};

/// What a command of the changed plan starts after; invalid: nothing.
CommandId startsAfter(const KeptPlan::Step &step, size_t command) {
  size_t last = command;
  auto take = [&](size_t other) {
    if (last == command || step.timeline.commands[other].endNs > step.timeline.commands[last].endNs)
      last = other;
  };
  for (size_t before = command; before-- > 0;)
    if (step.plan.commands[before].stream == step.plan.commands[command].stream) {
      take(before);
      break;
    }
  for (CommandId wait : step.plan.commands[command].waits)
    take(wait.index());
  return last == command ? CommandId() : step.original[last];
}

/// A tensor that could stay in a memory alone.
struct Rival {
  AbsenceFact *absence;
  Kept kept;
  TensorId tensor;
};

/// Gives rivals a place, one after the other: the one that gains most first, then that with the least slack, then the
/// smallest. Those that have one keep it during the whole step.
std::vector<Kept> placeRivals(const PlanFacts &facts, std::vector<Rival> &rivals) {
  std::stable_sort(rivals.begin(), rivals.end(), [](const Rival &a, const Rival &b) {
    auto key = [](const Rival &rival) {
      const AbsenceFact &absence = *rival.absence;
      return std::tuple(absence.staying ? -absence.staying->gainNs : 0, absence.backSlackNs, absence.needBytes);
    };
    return key(a) < key(b);
  });
  std::map<int64_t, int64_t> taken; // From an offset to its end.
  std::set<ResidencyId> moved;      // Their places are free.
  std::vector<Kept> placed;
  for (Rival &rival : rivals) {
    const AbsenceFact &absence = *rival.absence;
    const Interval over[] = {{facts.times[absence.left.index()].startNs, facts.timeline.makespanNs},
                             {0, facts.times[absence.back.index()].endNs}};
    std::vector<std::pair<int64_t, int64_t>> others;
    for (ResidencyId id : facts.byOffset[facts.residency(absence.left).memory.index()])
      if (facts.residency(id).tensor != rival.tensor && !moved.count(id) &&
          (meet(facts.times[id.index()], over[0]) || meet(facts.times[id.index()], over[1])))
        others.emplace_back(facts.residency(id).offset, facts.residency(id).offset + facts.residency(id).bytes);
    // Both are in the order of their offsets.
    const auto placedNow = static_cast<std::ptrdiff_t>(others.size());
    others.insert(others.end(), taken.begin(), taken.end());
    std::inplace_merge(others.begin(), others.begin() + placedNow, others.end(),
                       [](const auto &a, const auto &b) { return a.first < b.first; });
    int64_t offset = 0;
    for (const auto &[from, to] : others) {
      if (from - offset >= absence.needBytes)
        break;
      offset = std::max(offset, alignUp(to));
    }
    if (offset > absence.limitBytes - absence.needBytes)
      continue;
    taken.emplace(offset, offset + absence.needBytes);
    moved.insert({absence.left, absence.back});
    rival.kept.offset = offset;
    placed.push_back(rival.kept);
    rival.absence->rivals.emplace().isAmong = true;
  }
  return placed;
}

void compareRivals(const PlanFacts &facts, std::vector<Rival> &rivals) {
  RivalsFact found;
  const std::vector<Kept> placed = placeRivals(facts, rivals);
  found.count = rivals.size();
  found.together = placed.size();
  for (const Rival &rival : rivals) {
    found.bytes = saturatingAdd(found.bytes, rival.absence->needBytes);
    if (rival.absence->rivals)
      found.togetherBytes = saturatingAdd(found.togetherBytes, rival.absence->needBytes);
  }
  if (const std::optional<StayingFact> staying = simulateStaying(facts, placed))
    found.gainNs = staying->gainNs;
  for (const Rival &rival : rivals) {
    const bool isAmong = rival.absence->rivals.has_value();
    rival.absence->rivals = found;
    rival.absence->rivals->isAmong = isAmong;
  }
}

} // namespace

std::optional<StayingFact> simulateStaying(const PlanFacts &facts, const std::vector<Kept> &kept) {
  const std::optional<KeptPlan::Step> step = KeptPlan(facts, kept).simulated();
  if (!step)
    return std::nullopt;
  StayingFact staying;
  staying.gainNs = facts.timeline.makespanNs - step->timeline.makespanNs;
  const CommandId reader = kept.size() == 1 ? firstReader(facts, kept[0].back) : CommandId();
  const auto at = std::find(step->original.begin(), step->original.end(), reader);
  if (!reader.valid() || at == step->original.end())
    return staying;
  staying.reader = facts.fact(reader);
  const size_t index = static_cast<size_t>(at - step->original.begin());
  staying.reader.interval = step->timeline.commands[index];
  if (const CommandId after = startsAfter(*step, index); after.valid())
    staying.readerAfter = facts.fact(after);
  return staying;
}

void explainStaying(const PlanFacts &facts, const std::vector<std::pair<TensorId, TensorFacts *>> &tensors,
                    size_t budget) {
  // A copy out and the copy back share an absence.
  std::map<std::pair<ResidencyId, ResidencyId>, std::vector<AbsenceFact *>> absences;
  std::map<MemoryId, std::vector<Rival>> rivals;
  for (const auto &[id, tensor] : tensors)
    for (CopyFact &copy : tensor->copies)
      if (copy.absence && copy.absence->freeOffset) {
        AbsenceFact &absence = *copy.absence;
        absences[{absence.left, absence.back}].push_back(&absence);
        if (absence.isOverEnd)
          rivals[facts.residency(absence.left).memory].push_back({&absence, keptOf(absence), id});
      }
  std::vector<std::vector<AbsenceFact *> *> bySlack;
  for (auto &[stays, same] : absences)
    bySlack.push_back(&same);
  std::stable_sort(bySlack.begin(), bySlack.end(),
                   [](const auto *a, const auto *b) { return (*a)[0]->backSlackNs < (*b)[0]->backSlackNs; });
  const size_t most = budget / std::max<size_t>(facts.plan.commands.size(), 1);
  for (size_t i = 0; i < std::min(most, bySlack.size()); ++i) {
    const std::optional<StayingFact> staying = simulateStaying(facts, {keptOf(*bySlack[i]->front())});
    for (AbsenceFact *absence : *bySlack[i])
      absence->staying = staying;
  }
  for (auto &[memory, those] : rivals)
    if (those.size() > 1)
      compareRivals(facts, those);
}

} // namespace sluice
