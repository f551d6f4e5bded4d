//===- Plans.h - Plans by hand, whose reasons are known ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_EXPLAIN_PLANS_H
#define SLUICE_TEST_UNIT_EXPLAIN_PLANS_H

#include "ExamplePlan.h"
#include "sluice/Explain/Explain.h"
#include "sluice/Simulator/Simulator.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace sluice::test {

/// The host, whose processor takes 900 ns an operator, and accelerators that take 100 ns; a link moves a byte a
/// nanosecond each way, after 10 ns.
inline Machine handMachine(int accelerators, int64_t capacityBytes) {
  Machine machine;
  machine.name = "by hand";
  machine.memories.push_back({"host"});
  machine.devices.push_back({});
  machine.devices[0].name = "cpu";
  machine.devices[0].memory = MemoryId(0u);
  for (int i = 1; i <= accelerators; ++i) {
    machine.memories.push_back({concat("m", i), capacityBytes});
    Device device;
    device.name = concat("acc", i);
    device.kind = DeviceKind::Emulated;
    device.memory = MemoryId(i);
    machine.devices.push_back(device);
    machine.links.push_back({MemoryId(0u), MemoryId(i), 1e9, 2e9, 10});
  }
  return machine;
}

/// With its problem, which it must be a valid plan of.
inline PlanFile fileOf(const Graph &graph, const Machine &machine, const Plan &plan) {
  PlanFile file;
  file.problem.graph = graph;
  file.problem.machine = machine;
  file.problem.costs.numDevices = machine.devices.size();
  for (size_t i = 0; i < graph.numOperators(); ++i)
    for (const Device &device : machine.devices)
      file.problem.costs.operatorNs.push_back(device.kind == DeviceKind::Cpu ? 900 : 100);
  for (const Memory &memory : machine.memories)
    file.problem.capacities.push_back(memory.capacityBytes);
  file.plan = plan;
  file.summary.makespanNs = simulate(graph, machine, file.problem.costs, plan).makespanNs;
  file.summary.minimumBytes.assign(machine.memories.size(), 0);
  file.summary.peakBytes.assign(machine.memories.size(), 0);
  Status valid = validatePlan(graph, machine, plan);
  INFO((valid ? "" : valid.error().message));
  REQUIRE(valid);
  return file;
}

/// ExamplePlan's on that machine, with 256 bytes: copyX 0-74, a 74-174, outT 174-248, b 248-348, c 348-448,
/// inW 448-522, inT 522-596, d 596-696, outY 696-770. With `early`, inT comes before inW: inT 248-322, inW 448-522,
/// d 448-548, outY 548-622.
inline PlanFile examplePlan(bool early = false) {
  Example example;
  example.graph.name = "example";
  if (early) {
    std::swap(example.command(example.inW), example.command(example.inT));
    example.command(example.runD).waits = {example.inW};
  }
  return fileOf(example.graph, handMachine(1, 256), example.plan);
}

/// Plans built a command at a time. Every stream of the machine is there; results lie where they are put.
struct Builder {
  Graph graph;
  Machine machine;
  Plan plan;

  Builder(int accelerators, int64_t capacityBytes) : machine(handMachine(accelerators, capacityBytes)) {
    for (size_t i = 0; i < machine.devices.size(); ++i)
      for (StreamKind kind : {StreamKind::Compute, StreamKind::SwapIn, StreamKind::SwapOut})
        plan.streams.push_back({DeviceId(i), kind});
    for (const Memory &memory : machine.memories)
      plan.arenaBytes.push_back(std::min<int64_t>(memory.capacityBytes, 4096));
  }

  TensorId tensor(const std::string &name, TensorKind kind, int64_t bytes = 64, bool isOutput = false) {
    Tensor tensor;
    tensor.name = name;
    tensor.kind = kind;
    tensor.bytes = bytes;
    tensor.isOutput = isOutput;
    return graph.addTensor(tensor);
  }
  OperatorId op(const std::string &name, std::vector<TensorId> inputs, std::vector<TensorId> outputs, size_t device) {
    Operator op;
    op.name = name;
    op.kind = "k";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    plan.placement.push_back(DeviceId(device));
    return graph.addOperator(op);
  }
  ResidencyId at(TensorId tensor, uint32_t memory, int64_t offset, bool initial = false) {
    plan.residencies.push_back({tensor, MemoryId(memory), Segment::Arena, offset, graph.tensor(tensor).bytes, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  ResidencyId home(TensorId tensor, bool initial) {
    plan.residencies.push_back({tensor, Machine::hostMemory(), Segment::Home, 0, graph.tensor(tensor).bytes, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  CommandId launch(OperatorId op, std::vector<ResidencyId> reads, std::vector<ResidencyId> writes,
                   std::vector<CommandId> waits = {}) {
    const size_t stream = 3 * plan.placement[op.index()].index();
    plan.commands.push_back(
        {CommandKind::Launch, StreamId(stream), op, {}, std::move(reads), std::move(writes), waits});
    return CommandId(plan.commands.size() - 1);
  }
  /// Over the first accelerator's link, by its stream in or out.
  CommandId copy(ResidencyId from, ResidencyId to, std::vector<CommandId> waits = {}) {
    const bool isIn = plan.residencies[from.index()].memory == Machine::hostMemory();
    plan.commands.push_back({CommandKind::Copy, StreamId(isIn ? 4 : 5), {}, LinkId(0u), {from}, {to}, waits});
    return CommandId(plan.commands.size() - 1);
  }
  PlanFile file() const { return fileOf(graph, machine, plan); }
};

inline std::string textOf(const std::vector<Sentence> &sentences) {
  std::string text;
  for (const Sentence &sentence : sentences)
    text += sentence.about + ": " + sentence.text + "\n";
  return text;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_EXPLAIN_PLANS_H
