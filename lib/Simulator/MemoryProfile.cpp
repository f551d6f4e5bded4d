//===- MemoryProfile.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Simulator.h"

#include <algorithm>

namespace sluice {

namespace {
/// Which residency holds each initial arena range when the step ends: the last
/// created over it, if that took exactly its place.
class KeptPlaces {
public:
  KeptPlaces(const Machine &machine, const Plan &plan) : plan(plan), places(machine.memories.size()) {
    for (size_t i = 0; i < plan.residencies.size(); ++i) {
      const Residency &r = plan.residencies[i];
      if (r.initial && r.segment == Segment::Arena && r.bytes > 0)
        places[r.memory.index()].push_back({r.offset, r.offset + r.bytes, ResidencyId(i)});
    }
    for (std::vector<Place> &list : places)
      std::sort(list.begin(), list.end(), [](const Place &x, const Place &y) { return x.begin < y.begin; });
    for (const Command &command : plan.commands)
      for (ResidencyId id : command.writes)
        cover(id);
  }

  std::vector<bool> holders() const {
    std::vector<bool> result(plan.residencies.size(), false);
    for (const std::vector<Place> &list : places)
      for (const Place &place : list)
        if (plan.residencies[place.holder.index()].offset == place.begin)
          result[place.holder.index()] = true;
    return result;
  }

private:
  struct Place {
    int64_t begin, end;
    ResidencyId holder;
  };
  const Plan &plan;
  std::vector<std::vector<Place>> places; ///< Per memory, ascending and disjoint.

  void cover(ResidencyId id) {
    const Residency &r = plan.residencies[id.index()];
    if (r.segment != Segment::Arena)
      return;
    std::vector<Place> &list = places[r.memory.index()];
    auto at = std::upper_bound(list.begin(), list.end(), r.offset,
                               [](int64_t offset, const Place &place) { return offset < place.end; });
    for (; at != list.end() && at->begin < r.offset + r.bytes; ++at)
      at->holder = id;
  }
};

struct Change {
  int64_t timeNs;
  int64_t bytes;
};
} // namespace

std::vector<Interval> residencyTimes(const Machine &machine, const Plan &plan, const Timeline &timeline) {
  std::vector<Interval> alive(plan.residencies.size(), Interval{0, 0});
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    Interval interval = timeline.commands[i];
    for (ResidencyId id : plan.commands[i].writes)
      alive[id.index()].startNs = interval.startNs;
    for (const std::vector<ResidencyId> *list : {&plan.commands[i].reads, &plan.commands[i].writes})
      for (ResidencyId id : *list)
        alive[id.index()].endNs = std::max(alive[id.index()].endNs, interval.endNs);
  }
  const std::vector<bool> kept = KeptPlaces(machine, plan).holders();
  for (size_t i = 0; i < alive.size(); ++i)
    if (kept[i])
      alive[i].endNs = timeline.makespanNs;
  return alive;
}

MemoryProfile memoryProfile(const Machine &machine, const Plan &plan, const Timeline &timeline) {
  const size_t count = plan.residencies.size();
  std::vector<CommandId> last(count);
  for (size_t i = 0; i < plan.commands.size(); ++i)
    for (const std::vector<ResidencyId> *list : {&plan.commands[i].reads, &plan.commands[i].writes})
      for (ResidencyId id : *list)
        last[id.index()] = CommandId(i);
  const std::vector<Interval> alive = residencyTimes(machine, plan, timeline);

  std::vector<std::vector<Change>> changes(machine.memories.size());
  for (size_t i = 0; i < count; ++i) {
    const Residency &r = plan.residencies[i];
    if (r.segment != Segment::Arena || r.bytes == 0 || alive[i].endNs <= alive[i].startNs)
      continue;
    changes[r.memory.index()].push_back({alive[i].startNs, r.bytes});
    changes[r.memory.index()].push_back({alive[i].endNs, -r.bytes});
  }
  // An output computed in its input's place takes no second room while its
  // operator runs.
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const Command &command = plan.commands[i];
    if (command.kind != CommandKind::Launch)
      continue;
    for (ResidencyId read : command.reads)
      for (ResidencyId written : command.writes) {
        const Residency &from = plan.residencies[read.index()], &to = plan.residencies[written.index()];
        if (from.segment != Segment::Arena || to.segment != Segment::Arena || last[read.index()] != CommandId(i))
          continue;
        int64_t shared = std::min(from.offset + from.bytes, to.offset + to.bytes) - std::max(from.offset, to.offset);
        if (shared <= 0)
          continue;
        changes[to.memory.index()].push_back({timeline.commands[i].startNs, -shared});
        changes[to.memory.index()].push_back({timeline.commands[i].endNs, shared});
      }
  }

  MemoryProfile profile;
  profile.perMemory.resize(machine.memories.size());
  profile.peakBytes.assign(machine.memories.size(), 0);
  for (size_t m = 0; m < changes.size(); ++m) {
    std::sort(changes[m].begin(), changes[m].end(),
              [](const Change &x, const Change &y) { return x.timeNs < y.timeNs; });
    std::vector<MemoryProfile::Sample> &samples = profile.perMemory[m];
    int64_t bytes = 0;
    for (size_t i = 0; i < changes[m].size();) {
      int64_t timeNs = changes[m][i].timeNs;
      for (; i < changes[m].size() && changes[m][i].timeNs == timeNs; ++i)
        bytes += changes[m][i].bytes;
      if (samples.empty() || samples.back().bytes != bytes)
        samples.push_back({timeNs, bytes});
      profile.peakBytes[m] = std::max(profile.peakBytes[m], bytes);
    }
  }
  return profile;
}

} // namespace sluice
