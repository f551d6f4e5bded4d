//===- ExplainOperator.cpp - Why an operator runs where and when it does --===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlanFacts.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <set>

namespace sluice {

/// Of one copy after the other, through the host's memory where the two have no link.
static int64_t copyNs(const Machine &machine, MemoryId from, MemoryId to, int64_t bytes) {
  if (from == to)
    return 0;
  if (LinkId link = machine.findLink(from, to); link.valid())
    return transferTimeNs(machine.link(link), bytes);
  return saturatingAdd(copyNs(machine, from, Machine::hostMemory(), bytes),
                       copyNs(machine, Machine::hostMemory(), to, bytes));
}

/// Adds the copies that the operator would need on the device and that no other operator needs as well.
static DeviceChoice choiceOf(const PlanFacts &facts, OperatorId op, DeviceId device) {
  const MemoryId memory = facts.machine.device(device).memory;
  DeviceChoice choice{facts.machine.device(device).name, facts.costs.timeNs(op, device), 0, 0};
  auto cross = [&](MemoryId from, MemoryId to, int64_t bytes) {
    if (from == to)
      return;
    choice.crossingBytes = saturatingAdd(choice.crossingBytes, bytes);
    choice.crossingNs = saturatingAdd(choice.crossingNs, copyNs(facts.machine, from, to, bytes));
  };
  for (TensorId input : facts.graph.op(op).inputs) {
    const Tensor &tensor = facts.graph.tensor(input);
    if (tensor.kind == TensorKind::Parameter || tensor.kind == TensorKind::State)
      continue;
    const bool isThere = std::any_of(tensor.consumers.begin(), tensor.consumers.end(),
                                     [&](OperatorId other) { return other != op && facts.memoryOf(other) == memory; });
    if (!isThere)
      cross(tensor.producer.valid() ? facts.memoryOf(tensor.producer) : Machine::hostMemory(), memory, tensor.bytes);
  }
  for (TensorId output : facts.graph.op(op).outputs) {
    const Tensor &tensor = facts.graph.tensor(output);
    std::set<MemoryId> readIn;
    if (tensor.isOutput)
      readIn.insert(Machine::hostMemory());
    for (OperatorId consumer : tensor.consumers)
      readIn.insert(facts.memoryOf(consumer));
    for (MemoryId other : readIn)
      cross(memory, other, tensor.bytes);
  }
  return choice;
}

static int64_t inUseAt(const MemoryProfile &profile, MemoryId memory, int64_t ns) {
  const std::vector<MemoryProfile::Sample> &samples = profile.perMemory[memory.index()];
  auto after = std::upper_bound(samples.begin(), samples.end(), ns,
                                [](int64_t at, const MemoryProfile::Sample &sample) { return at < sample.timeNs; });
  return after == samples.begin() ? 0 : std::prev(after)->bytes;
}

static LaunchFact launchFact(const PlanFacts &facts, const MemoryProfile &profile, CommandId id, bool isFirst) {
  const Command &command = facts.command(id);
  LaunchFact launch;
  launch.timing = facts.timing(id);
  const int64_t startNs = launch.timing.command.interval.startNs;
  for (size_t i = 0; i < facts.plan.commands.size(); ++i)
    if (facts.isLaunch(CommandId(i)) && facts.plan.commands[i].stream == command.stream) {
      ++launch.ofPositions;
      launch.position += i <= id.index();
    }
  for (ResidencyId read : command.reads)
    if (CommandId maker = facts.creators[read.index()]; maker.valid())
      if (facts.interval(maker).endNs > launch.dataReadyNs) {
        launch.dataReadyNs = facts.interval(maker).endNs;
        launch.dataMaker = facts.fact(maker);
      }
  if (const Stall stall = facts.stall(id); stall.longest.valid()) {
    launch.stallFor = facts.fact(stall.longest);
    launch.stallForNs = stall.longestNs;
  }
  for (CommandId earlier = facts.before[id.index()];
       earlier.valid() && facts.isLaunch(earlier) && facts.interval(earlier).endNs > launch.dataReadyNs;
       earlier = facts.before[earlier.index()])
    launch.meanwhile.push_back(facts.nameOf(facts.command(earlier).op));
  std::reverse(launch.meanwhile.begin(), launch.meanwhile.end());
  const MemoryId memory = facts.memoryOf(command.op);
  launch.inUseBytes = inUseAt(profile, memory, startNs);
  const LinkId link = facts.machine.findLink(Machine::hostMemory(), memory);
  for (ResidencyId written : command.writes) {
    const Residency &target = facts.residency(written);
    if (!target.tensor.valid())
      continue;
    for (ResidencyId read : command.reads)
      if (const Residency &source = facts.residency(read); overlap(source, target))
        launch.inPlace.emplace_back(facts.nameOf(target.tensor), facts.nameOf(source.tensor));
    if (isFirst || !link.valid())
      continue;
    const int64_t bytes = facts.graph.tensor(target.tensor).bytes;
    launch.againBytes = saturatingAdd(launch.againBytes, bytes);
    launch.copyInsteadNs = saturatingAdd(launch.copyInsteadNs, transferTimeNs(facts.machine.link(link), bytes));
  }
  return launch;
}

OperatorFacts operatorFacts(const PlanFacts &facts, const MemoryProfile &profile, OperatorId id) {
  const Operator &op = facts.graph.op(id);
  const DeviceId device = facts.plan.placement[id.index()];
  OperatorFacts result;
  result.name = facts.nameOf(id);
  result.kind = op.kind;
  result.stepNs = facts.timeline.makespanNs;
  result.device = facts.machine.device(device).name;
  result.memory = facts.machine.memory(facts.memoryOf(id)).name;
  result.limitBytes = facts.arenaLimit(facts.memoryOf(id));
  result.homeBytes = facts.homeBytes(facts.memoryOf(id));
  result.workspaceBytes = op.workspaceBytes;
  result.chosen = choiceOf(facts, id, device);
  for (DeviceId other : facts.machine.computeDevices())
    if (other != device)
      result.others.push_back(choiceOf(facts, id, other));
  if (op.colocation >= 0)
    for (size_t i = 0; i < facts.graph.numOperators(); ++i)
      if (i != id.index() && facts.graph.op(OperatorId(i)).colocation == op.colocation)
        result.colocated.push_back(facts.nameOf(OperatorId(i)));
  for (CommandId launch : facts.launches[id.index()])
    result.launches.push_back(launchFact(facts, profile, launch, result.launches.empty()));
  return result;
}

} // namespace sluice
