//===- PlanFacts.cpp - What follows from a plan ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlanFacts.h"

#include <algorithm>
#include <limits>
#include <set>

namespace sluice {

std::string kindOf(const Tensor &tensor) {
  static constexpr const char *kKinds[] = {"activation", "parameter", "input", "state"};
  if (tensor.updates.valid())
    return "new value of a state";
  return tensor.isOutput ? "output" : kKinds[static_cast<size_t>(tensor.kind)];
}

bool overlap(const Residency &a, const Residency &b) {
  return a.segment == Segment::Arena && b.segment == Segment::Arena && a.memory == b.memory &&
         a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

bool meet(const Interval &a, const Interval &b) { return a.startNs < b.endNs && b.startNs < a.endNs; }

CommandId firstReader(const PlanFacts &facts, ResidencyId stay) {
  CommandId first;
  for (CommandId reader : facts.readers[stay.index()])
    if (facts.isLaunch(reader) && (!first.valid() || facts.interval(reader).startNs < facts.interval(first).startNs))
      first = reader;
  return first;
}

PlanFacts::PlanFacts(const PlanFile &file)
    : graph(file.problem.graph), machine(file.problem.machine), costs(file.problem.costs), plan(file.plan),
      capacities(file.problem.capacities), operatorNames(graph.operators()), tensorNames(graph.tensors()),
      timeline(simulate(graph, machine, costs, plan)), before(plan.commands.size()), after(plan.commands.size()),
      creators(plan.residencies.size()), readers(plan.residencies.size()), launches(graph.numOperators()),
      stays(graph.numTensors()), copies(graph.numTensors()), copyNumber(plan.commands.size()),
      byOffset(machine.memories.size()), times(residencyTimes(machine, plan, timeline)), rows(plan.streams.size()) {
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency &residency = plan.residencies[i];
    if (residency.tensor.valid())
      stays[residency.tensor.index()].push_back(ResidencyId(i));
    if (residency.segment == Segment::Arena)
      byOffset[residency.memory.index()].push_back(ResidencyId(i));
  }
  for (std::vector<ResidencyId> &ids : byOffset)
    std::stable_sort(ids.begin(), ids.end(),
                     [&](ResidencyId a, ResidencyId b) { return residency(a).offset < residency(b).offset; });
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const Command &command = plan.commands[i];
    std::vector<CommandId> &row = rows[command.stream.index()];
    if (!row.empty()) {
      before[i] = row.back();
      after[row.back().index()] = CommandId(i);
    }
    row.push_back(CommandId(i));
    for (ResidencyId read : command.reads)
      readers[read.index()].push_back(CommandId(i));
    for (ResidencyId written : command.writes)
      creators[written.index()] = CommandId(i);
    if (command.kind == CommandKind::Launch)
      launches[command.op.index()].push_back(CommandId(i));
    else
      copies[residency(command.reads[0]).tensor.index()].push_back(CommandId(i));
  }
  for (std::vector<CommandId> &ids : copies) {
    std::stable_sort(ids.begin(), ids.end(),
                     [&](CommandId a, CommandId b) { return interval(a).startNs < interval(b).startNs; });
    for (size_t i = 0; i < ids.size(); ++i)
      copyNumber[ids[i].index()] = i + 1;
  }
}

int64_t PlanFacts::homeBytes(MemoryId memory) const {
  return plan.bytesUsed(graph, machine)[memory.index()] - plan.arenaBytes[memory.index()];
}

int64_t PlanFacts::arenaLimit(MemoryId memory) const {
  const int64_t capacity = capacities[memory.index()];
  return capacity == std::numeric_limits<int64_t>::max() ? capacity : capacity - homeBytes(memory);
}

int64_t PlanFacts::eventLatencyNs(CommandId ended, CommandId waiter) const {
  int64_t ns = 0;
  if (command(ended).stream != command(waiter).stream)
    for (CommandId id : {ended, waiter})
      if (!isLaunch(id))
        ns = std::max(ns, machine.link(command(id).link).eventLatencyNs);
  return ns;
}

/// The latest end of each command by a pass over the plan from its end: a command's latest start, less the wake-up of
/// another stream, bounds the ends of all that it is ordered after.
void PlanFacts::fillSlack() {
  const size_t count = plan.commands.size();
  std::vector<int64_t> latestEnd(count, timeline.makespanNs);
  slackBy.assign(count, CommandId());
  for (size_t i = count; i-- > 0;) {
    const CommandId id(i);
    const int64_t latestStart = latestEnd[i] - (interval(id).endNs - interval(id).startNs);
    auto bound = [&](CommandId earlier, int64_t ns) {
      if (ns >= latestEnd[earlier.index()])
        return;
      latestEnd[earlier.index()] = ns;
      slackBy[earlier.index()] = id;
    };
    if (before[i].valid())
      bound(before[i], latestStart);
    for (CommandId wait : plan.commands[i].waits)
      bound(wait, latestStart - eventLatencyNs(wait, id));
  }
  slackNs.resize(count);
  for (size_t i = 0; i < count; ++i)
    slackNs[i] = std::max<int64_t>(latestEnd[i] - timeline.commands[i].endNs, 0);
  critical.assign(count, false);
  for (CommandId id : criticalPath(plan, timeline))
    critical[id.index()] = true;
}

int64_t PlanFacts::stallNs(CommandId id) const {
  const CommandId previous = before[id.index()];
  return interval(id).startNs - (previous.valid() ? interval(previous).endNs : 0);
}

std::vector<CommandId> PlanFacts::needs(CommandId id) const {
  std::set<CommandId> found(command(id).waits.begin(), command(id).waits.end());
  for (ResidencyId read : command(id).reads)
    if (creators[read.index()].valid())
      found.insert(creators[read.index()]);
  return {found.begin(), found.end()};
}

std::vector<MissingFact> PlanFacts::missing(CommandId id) const {
  const int64_t idleNs = interval(id).startNs - stallNs(id);
  std::vector<MissingFact> found;
  for (CommandId needed : needs(id))
    if (interval(needed).endNs > idleNs)
      found.push_back({fact(needed), interval(needed).endNs - idleNs});
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.ns > b.ns; });
  return found;
}

int64_t PlanFacts::waitNs(CommandId id, CommandId besides) const {
  const CommandId previous = before[id.index()];
  int64_t readyNs = previous.valid() && previous != besides ? interval(previous).endNs : 0;
  for (CommandId wait : needs(id))
    if (wait != besides)
      readyNs = std::max(readyNs, interval(wait).endNs);
  return std::max<int64_t>(interval(id).startNs - std::max(readyNs, int64_t(0)), 0);
}

CommandId PlanFacts::lastToEnd(CommandId id, bool onOtherStreams) const {
  CommandId last = onOtherStreams ? CommandId() : before[id.index()];
  for (CommandId wait : command(id).waits)
    if (!last.valid() || interval(wait).endNs > interval(last).endNs)
      last = wait;
  return last;
}

Stall PlanFacts::stall(CommandId id) const {
  Stall result;
  int64_t untilNs = interval(id).startNs;
  const int64_t idleNs = untilNs - stallNs(id);
  for (CommandId held = lastToEnd(id, true); held.valid() && untilNs > idleNs; held = lastToEnd(held)) {
    const int64_t fromNs = std::max(interval(held).startNs, idleNs), ns = untilNs - fromNs;
    (isLaunch(held) ? result.launchNs : result.copyNs) += ns;
    result.chain.push_back(held);
    if (ns > result.longestNs)
      result.longest = held;
    result.longestNs = std::max(result.longestNs, ns);
    untilNs = fromNs;
  }
  return result;
}

std::string PlanFacts::nounOf(OperatorId op) const { return tensorNames.find(nameOf(op)) ? "operator" : std::string(); }

std::string PlanFacts::nounOf(TensorId tensor) const {
  return operatorNames.find(nameOf(tensor)) ? kindOf(graph.tensor(tensor)) : std::string();
}

CommandFact PlanFacts::fact(CommandId id) const {
  CommandFact fact;
  fact.id = id;
  fact.isCopy = !isLaunch(id);
  fact.device = machine.device(deviceOf(id)).name;
  fact.interval = interval(id);
  if (!fact.isCopy) {
    fact.name = nameOf(command(id).op);
    fact.noun = nounOf(command(id).op);
    return fact;
  }
  const Residency &source = residency(command(id).reads[0]), &target = residency(command(id).writes[0]);
  fact.name = nameOf(source.tensor);
  fact.noun = nounOf(source.tensor);
  fact.from = machine.memory(source.memory).name;
  fact.to = machine.memory(target.memory).name;
  fact.copyNumber = copyNumber[id.index()];
  fact.ofCopies = copies[source.tensor.index()].size();
  return fact;
}

PlanFacts::Reason PlanFacts::reasonOf(CommandId waiter, CommandId earlier) const {
  for (ResidencyId read : command(waiter).reads)
    if (creators[read.index()] == earlier)
      return {Dependency::Why::Data, residency(read).tensor};
  for (ResidencyId written : command(waiter).writes) {
    const Residency &target = residency(written);
    for (const auto *touched : {&command(earlier).reads, &command(earlier).writes})
      for (ResidencyId id : *touched) {
        const Residency &other = residency(id);
        if (target.segment == Segment::Home && other.segment == Segment::Home && target.tensor.valid() &&
            graph.tensor(target.tensor).updates == other.tensor && other.tensor.valid())
          return {Dependency::Why::State, other.tensor};
        if (overlap(target, other))
          return {Dependency::Why::Bytes, other.tensor};
      }
  }
  return {};
}

std::optional<Dependency::Sake> PlanFacts::sakeOf(CommandId waiter, CommandId earlier) const {
  constexpr size_t kMost = 256; // Commands that are looked at on each stream.
  auto sake = [&](CommandId command, bool isWaiter, const Reason &reason) {
    const TensorId tensor = reason.tensor;
    return Dependency::Sake{fact(command), isWaiter, reason.why, tensor.valid() ? nameOf(tensor) : std::string(),
                            tensor.valid() ? nounOf(tensor) : std::string()};
  };
  CommandId later = after[waiter.index()];
  for (size_t i = 0; later.valid() && i < kMost; ++i, later = after[later.index()])
    if (const Reason reason = reasonOf(later, earlier); reason.why != Dependency::Why::Order)
      return sake(later, true, reason);
  CommandId previous = before[earlier.index()];
  for (size_t i = 0; previous.valid() && i < kMost; ++i, previous = before[previous.index()])
    if (const Reason reason = reasonOf(waiter, previous); reason.why != Dependency::Why::Order)
      return sake(previous, false, reason);
  return std::nullopt;
}

Dependency PlanFacts::dependency(CommandId waiter, CommandId earlier) const {
  const Reason reason = reasonOf(waiter, earlier);
  Dependency result;
  result.command = fact(earlier);
  result.onSameStream = command(waiter).stream == command(earlier).stream;
  result.why = reason.why;
  if (reason.tensor.valid()) {
    result.tensor = nameOf(reason.tensor);
    result.tensorNoun = nounOf(reason.tensor);
  }
  if (result.why == Dependency::Why::Order && !result.onSameStream)
    result.sake = sakeOf(waiter, earlier);
  return result;
}

std::vector<MissingFact> PlanFacts::sharing(CommandId copy) const {
  auto trunkOf = [&](LinkId link) { return machine.link(link).trunk.valid() ? machine.link(link).trunk : link; };
  std::vector<MissingFact> found;
  for (const std::vector<CommandId> &row : rows) {
    auto at = std::upper_bound(row.begin(), row.end(), interval(copy).startNs,
                               [&](int64_t ns, CommandId id) { return ns < interval(id).endNs; });
    for (; at != row.end() && interval(*at).startNs < interval(copy).endNs; ++at)
      if (*at != copy && !isLaunch(*at) && trunkOf(command(*at).link) == trunkOf(command(copy).link))
        found.push_back({fact(*at), std::min(interval(*at).endNs, interval(copy).endNs) -
                                        std::max(interval(*at).startNs, interval(copy).startNs)});
  }
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.ns > b.ns; });
  return found;
}

std::optional<RoomFact> PlanFacts::room(CommandId waiter, CommandId held) const {
  // Of several the first.
  for (ResidencyId written : command(waiter).writes) {
    const Residency &target = residency(written);
    auto isOver = [&](ResidencyId id) { return overlap(target, residency(id)); };
    if (std::none_of(command(held).reads.begin(), command(held).reads.end(), isOver) &&
        std::none_of(command(held).writes.begin(), command(held).writes.end(), isOver))
      continue;
    RoomFact fact;
    fact.memory = machine.memory(target.memory).name;
    fact.needBytes = target.bytes;
    fact.interval = {interval(waiter).startNs - waitNs(waiter, held), times[written.index()].endNs};
    const int64_t limit = arenaLimit(target.memory);
    if (limit == std::numeric_limits<int64_t>::max())
      return std::nullopt;
    int64_t high = 0;
    auto addRange = [&](int64_t upTo) {
      const int64_t bytes = std::max<int64_t>(upTo - high, 0);
      fact.freeBytes += bytes;
      fact.largestBytes = std::max(fact.largestBytes, bytes);
    };
    for (ResidencyId id : byOffset[target.memory.index()]) {
      if (id == written || !meet(times[id.index()], fact.interval))
        continue;
      addRange(std::min(residency(id).offset, limit));
      high = std::max(high, residency(id).offset + residency(id).bytes);
    }
    addRange(limit);
    return fact;
  }
  return std::nullopt;
}

Timing PlanFacts::timing(CommandId id) const {
  Timing timing;
  timing.command = fact(id);
  timing.stallNs = stallNs(id);
  timing.slackNs = slackNs[id.index()];
  timing.isCritical = critical[id.index()];
  if (const CommandId by = slackBy[id.index()]; by.valid()) {
    timing.slackBy = fact(by);
    timing.isSlackByNext = before[by.index()] == id;
  }
  if (before[id.index()].valid())
    timing.after.push_back(dependency(id, before[id.index()]));
  for (CommandId wait : command(id).waits)
    timing.after.push_back(dependency(id, wait));
  std::stable_sort(timing.after.begin(), timing.after.end(), [](const Dependency &a, const Dependency &b) {
    return a.command.interval.endNs != b.command.interval.endNs ? a.command.interval.endNs > b.command.interval.endNs
                                                                : a.why < b.why;
  });
  return timing;
}

} // namespace sluice
