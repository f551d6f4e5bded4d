//===- Simulator.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The simulator is in the inner loop of the search. It uses flat arrays, and one heap with at most a few events for
// each stream. If a command waited for a command of another stream, it starts an event latency later. A copy first
// waits for the latency of its link, and then shares the link. All copies in one direction of a link move at the same
// rate, so a direction has a single counter: the bytes that each of its copies has moved. A copy is complete when the
// counter reaches the copy's own target. Only the earliest target of a direction needs an event. Links with one trunk
// form a group, in which a copy on one link changes the rates of all links.
//
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Simulator.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <array>

namespace sluice {

namespace {

constexpr uint32_t kNone = Id<void>::kNone;

enum class EventKind : uint8_t { Done, Join, Drained };

/// Two registers: an event that is written in parts and read whole stalls the processor.
struct Event {
  Event(int64_t timeNs, EventKind kind, uint32_t index, uint32_t version)
      : timeNs(timeNs), rest(uint64_t(kind) << 62 | uint64_t(index) << 32 | version) {}

  int64_t timeNs;
  /// From the highest bit down: 2 of the kind, 30 of the index, 32 of the version.
  uint64_t rest;

  EventKind kind() const { return static_cast<EventKind>(rest >> 62); }
  /// Done, Join: command. Drained: direction.
  uint32_t index() const { return static_cast<uint32_t>(rest >> 32) & ((1U << 30) - 1); }
  /// Drained: stale unless the direction's own.
  uint32_t version() const { return static_cast<uint32_t>(rest); }

  /// Heap order: earliest on top; ties by kind and index, so that runs repeat. Without branches: which of two events
  /// is earlier cannot be predicted.
  friend bool operator<(const Event &x, const Event &y) {
    return static_cast<int>(x.timeNs > y.timeNs) |
           (static_cast<int>(x.timeNs == y.timeNs) & static_cast<int>(x.rest > y.rest));
  }
};

/// One direction of a link: 2 x link, or 2 x link + 1 from b to a.
struct Direction {
  struct Copy {
    double target; ///< Complete once `served` reaches it.
    uint32_t command;
    friend bool operator<(const Copy &x, const Copy &y) {
      return x.target != y.target ? x.target > y.target : x.command > y.command;
    }
  };
  std::vector<Copy> active; ///< A heap, least target on top.
  double served = 0;        ///< Bytes given to each copy since the direction was idle.
  double bytesPerSec = 0;   ///< Each copy's present rate.
  int64_t updatedNs = 0;
  uint32_t version = 0;

  void advance(int64_t nowNs) {
    served += bytesPerSec * 1e-9 * static_cast<double>(nowNs - updatedNs);
    updatedNs = nowNs;
  }
};

class Simulation {
public:
  Simulation(const Graph &graph, const Machine &machine, const CostTable &costs, const Plan &plan)
      : graph(graph), machine(machine), costs(costs), plan(plan), directions(2 * machine.links.size()) {
    timeline.commands.resize(plan.commands.size());
    buildDependencies();
    buildGroups();
  }

  Timeline run() {
    for (size_t i = 0; i < plan.commands.size(); ++i)
      if (missing[i] == 0)
        start(static_cast<uint32_t>(i), 0);
    while (!events.empty()) {
      std::pop_heap(events.begin(), events.end());
      Event event = events.back();
      events.pop_back();
      if (event.kind() == EventKind::Done)
        finish(event.index(), event.timeNs);
      else if (event.kind() == EventKind::Join)
        join(event.index(), event.timeNs);
      else if (event.version() == directions[event.index()].version)
        drain(event.index(), event.timeNs);
    }
    return std::move(timeline);
  }

private:
  const Graph &graph;
  const Machine &machine;
  const CostTable &costs;
  const Plan &plan;
  Timeline timeline;
  std::vector<uint32_t> missing;    ///< Per command: dependencies not complete.
  std::vector<uint32_t> streamNext; ///< Per command: the next of its stream.
  /// Who waits for command i: waiters[firstWaiter[i] .. firstWaiter[i + 1]).
  std::vector<uint32_t> firstWaiter, waiters;
  std::vector<Event> events;
  std::vector<Direction> directions;
  /// Per link: the links of its group, ascending; empty for a link that has no trunk and is none.
  std::vector<std::vector<uint32_t>> groups;

  void buildGroups() {
    groups.resize(machine.links.size());
    for (uint32_t i = 0; i < machine.links.size(); ++i)
      if (machine.links[i].trunk.valid())
        groups[machine.links[i].trunk.index()].push_back(i);
    for (uint32_t i = 0; i < machine.links.size(); ++i) {
      if (groups[i].empty() || machine.links[i].trunk.valid())
        continue;
      std::vector<uint32_t> members = groups[i];
      members.insert(std::lower_bound(members.begin(), members.end(), i), i);
      for (uint32_t member : members)
        groups[member] = members;
    }
  }

  void buildDependencies() {
    size_t count = plan.commands.size();
    missing.assign(count, 0);
    streamNext.assign(count, kNone);
    firstWaiter.assign(count + 1, 0);
    std::vector<uint32_t> last(plan.streams.size(), kNone);
    for (size_t i = 0; i < count; ++i) {
      const Command &command = plan.commands[i];
      missing[i] = static_cast<uint32_t>(command.waits.size());
      for (CommandId wait : command.waits)
        ++firstWaiter[wait.index() + 1];
      uint32_t &previous = last[command.stream.index()];
      if (previous != kNone) {
        streamNext[previous] = static_cast<uint32_t>(i);
        ++missing[i];
      }
      previous = static_cast<uint32_t>(i);
    }
    for (size_t i = 0; i < count; ++i)
      firstWaiter[i + 1] += firstWaiter[i];
    waiters.resize(firstWaiter[count]);
    std::vector<uint32_t> fill(firstWaiter.begin(), firstWaiter.end() - 1);
    for (size_t i = 0; i < count; ++i)
      for (CommandId wait : plan.commands[i].waits)
        waiters[fill[wait.index()]++] = static_cast<uint32_t>(i);
  }

  void push(Event event) {
    events.push_back(event);
    std::push_heap(events.begin(), events.end());
  }

  void start(uint32_t index, int64_t nowNs) {
    const Command &command = plan.commands[index];
    timeline.commands[index].startNs = nowNs;
    if (command.kind == CommandKind::Launch) {
      int64_t ns = costs.timeNs(command.op, plan.placement[command.op.index()]);
      push({saturatingAdd(nowNs, ns), EventKind::Done, index, 0});
    } else {
      push({saturatingAdd(nowNs, machine.link(command.link).latencyNs), EventKind::Join, index, 0});
    }
  }

  void satisfy(uint32_t index, int64_t nowNs) {
    if (--missing[index] == 0)
      start(index, nowNs);
  }

  /// From the end of a command to the start of one whose stream sleeps until then.
  int64_t eventLatencyNs(uint32_t ended, uint32_t waiter) const {
    if (plan.commands[ended].stream == plan.commands[waiter].stream)
      return 0;
    int64_t ns = 0;
    for (uint32_t index : {ended, waiter})
      if (plan.commands[index].kind == CommandKind::Copy)
        ns = std::max(ns, machine.link(plan.commands[index].link).eventLatencyNs);
    return ns;
  }

  void finish(uint32_t index, int64_t nowNs) {
    timeline.commands[index].endNs = nowNs;
    timeline.makespanNs = std::max(timeline.makespanNs, nowNs);
    if (streamNext[index] != kNone)
      satisfy(streamNext[index], nowNs);
    for (uint32_t i = firstWaiter[index]; i < firstWaiter[index + 1]; ++i)
      if (--missing[waiters[i]] == 0)
        start(waiters[i], saturatingAdd(nowNs, eventLatencyNs(index, waiters[i])));
  }

  /// The rate of one direction of a link alone. `both`: the other direction is busy too.
  static double rateOf(const Link &spec, size_t direction, bool both) {
    const double rate = direction == 0 ? spec.bytesPerSec : spec.rateFrom(spec.b);
    if (!both)
      return rate;
    if (spec.reverseBytesPerSec == 0)
      return std::min(rate, spec.duplexBytesPerSec / 2);
    return std::min(rate, spec.duplexBytesPerSec * (rate / (spec.bytesPerSec + spec.reverseBytesPerSec)));
  }

  void pushDrained(size_t index, int64_t nowNs) {
    Direction &direction = directions[index];
    double left = direction.active.front().target - direction.served;
    push({saturatingAdd(nowNs, movingTimeNs(left, direction.bytesPerSec)), EventKind::Drained,
          static_cast<uint32_t>(index), ++direction.version});
  }

  void advance(size_t link, int64_t nowNs) {
    auto advanceBoth = [&](size_t member) {
      directions[2 * member].advance(nowNs);
      directions[2 * member + 1].advance(nowNs);
    };
    if (groups[link].empty())
      return advanceBoth(link);
    for (uint32_t member : groups[link])
      advanceBoth(member);
  }

  /// After a change of who is active on a link: new rates, new events.
  void share(size_t link, int64_t nowNs) {
    if (!groups[link].empty())
      return shareGroup(groups[link], nowNs);
    const Link &spec = machine.links[link];
    Direction *pair = &directions[2 * link];
    bool both = !pair[0].active.empty() && !pair[1].active.empty();
    for (size_t d = 0; d < 2; ++d) {
      if (pair[d].active.empty())
        continue;
      pair[d].bytesPerSec = rateOf(spec, d, both) / static_cast<double>(pair[d].active.size());
      pushDrained(2 * link + d, nowNs);
    }
  }

  /// The direction of its trunk whose rate a direction of a link uses.
  size_t trunkDirection(const Link &spec, size_t direction) const {
    const Link &trunk = machine.link(spec.trunk);
    const MemoryId common = spec.a == trunk.a || spec.a == trunk.b ? spec.a : spec.b;
    const bool leavesCommon = (direction == 0 ? spec.a : spec.b) == common;
    return leavesCommon == (trunk.a == common) ? 0 : 1;
  }

  /// Max-min fairness: the copies of a trunk's direction share its rate equally, but none gets more than its own link
  /// gives it, and the others share what it leaves.
  void shareGroup(const std::vector<uint32_t> &members, int64_t nowNs) {
    struct Share {
      double most; ///< What the link gives each copy.
      uint32_t index;
    };
    std::array<std::vector<Share>, 2> shares; // Per direction of the trunk.
    size_t trunk = members.front();
    for (uint32_t member : members) {
      const Link &spec = machine.links[member];
      const Direction *pair = &directions[size_t(2) * member];
      const bool both = !pair[0].active.empty() && !pair[1].active.empty();
      if (spec.trunk.valid())
        trunk = spec.trunk.index();
      for (size_t d = 0; d < 2; ++d)
        if (!pair[d].active.empty())
          shares[spec.trunk.valid() ? trunkDirection(spec, d) : d].push_back(
              {rateOf(spec, d, both) / static_cast<double>(pair[d].active.size()),
               static_cast<uint32_t>(2 * member + d)});
    }
    const bool both = !shares[0].empty() && !shares[1].empty();
    for (size_t d = 0; d < 2; ++d) {
      double left = rateOf(machine.links[trunk], d, both), copies = 0;
      for (const Share &share : shares[d])
        copies += static_cast<double>(directions[share.index].active.size());
      std::stable_sort(shares[d].begin(), shares[d].end(),
                       [](const Share &x, const Share &y) { return x.most < y.most; });
      for (const Share &share : shares[d]) {
        Direction &direction = directions[share.index];
        direction.bytesPerSec = std::min(share.most, left / copies);
        left -= direction.bytesPerSec * static_cast<double>(direction.active.size());
        copies -= static_cast<double>(direction.active.size());
      }
    }
    for (uint32_t member : members)
      for (size_t index : {size_t(2) * member, size_t(2) * member + 1})
        if (!directions[index].active.empty())
          pushDrained(index, nowNs);
  }

  void join(uint32_t index, int64_t nowNs) {
    const Command &command = plan.commands[index];
    const Residency &source = plan.residencies[command.reads[0].index()];
    const Link &spec = machine.link(command.link);
    size_t link = command.link.index();
    double bytes = static_cast<double>(graph.tensor(source.tensor).bytes);
    advance(link, nowNs);
    Direction &direction = directions[2 * link + (source.memory == spec.a ? 0 : 1)];
    direction.active.push_back({direction.served + bytes, index});
    std::push_heap(direction.active.begin(), direction.active.end());
    share(link, nowNs);
  }

  void drain(uint32_t index, int64_t nowNs) {
    size_t link = index / 2;
    advance(link, nowNs);
    Direction &direction = directions[index];
    uint32_t done = direction.active.front().command;
    std::pop_heap(direction.active.begin(), direction.active.end());
    direction.active.pop_back();
    if (direction.active.empty()) { // Idle: start counting anew, so that sums stay exact.
      direction.served = 0;
      direction.bytesPerSec = 0;
      ++direction.version;
    }
    share(link, nowNs);
    finish(done, nowNs);
  }
};

} // namespace

Timeline simulate(const Graph &graph, const Machine &machine, const CostTable &costs, const Plan &plan) {
  return Simulation(graph, machine, costs, plan).run();
}

} // namespace sluice
