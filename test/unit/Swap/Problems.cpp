//===- Problems.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include "sluice/Simulator/Simulator.h"

#include <algorithm>
#include <stdexcept>

using namespace sluice;
using namespace sluice::test;

Machine test::makeMachine(int accelerators, bool direct) {
  Machine machine;
  machine.name = "units";
  auto addLink = [&](MemoryId a, MemoryId b) {
    Link link;
    link.a = a;
    link.b = b;
    link.bytesPerSec = static_cast<double>(kMiB) * 1e9 / kUnitNs;
    link.duplexBytesPerSec = 2 * link.bytesPerSec;
    link.latencyNs = 0;
    machine.links.push_back(link);
  };
  auto addDevice = [&](std::string memory, std::string name, DeviceKind kind) {
    machine.memories.push_back({std::move(memory), std::numeric_limits<int64_t>::max()});
    Device device;
    device.name = std::move(name);
    device.kind = kind;
    device.memory = MemoryId(machine.memories.size() - 1);
    machine.devices.push_back(device);
  };
  addDevice("host", "cpu", DeviceKind::Cpu);
  for (int i = 0; i < accelerators; ++i) {
    addDevice("accel" + std::to_string(i), "accel" + std::to_string(i), DeviceKind::Emulated);
    addLink(Machine::hostMemory(), MemoryId(i + 1));
  }
  if (direct)
    addLink(MemoryId(1), MemoryId(2));
  return machine;
}

TensorId test::addTensor(Graph &graph, std::string name, int64_t bytes, TensorKind kind) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.bytes = bytes;
  tensor.kind = kind;
  return graph.addTensor(std::move(tensor));
}

OperatorId test::addOperator(Graph &graph, std::string name, std::vector<TensorId> inputs,
                             std::vector<TensorId> outputs) {
  Operator op;
  op.name = std::move(name);
  op.kind = "test";
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return graph.addOperator(std::move(op));
}

void test::complete(Instance &instance) {
  size_t numDevices = instance.machine.devices.size();
  instance.costs.numDevices = numDevices;
  instance.costs.operatorNs.assign(instance.graph.numOperators() * numDevices, kUnitNs);
  Expected<std::vector<OperatorId>> order = instance.graph.topologicalOrder();
  if (!order)
    throw std::logic_error(order.error().message);
  instance.order = *order;
  instance.capacity.clear();
  for (const Memory &memory : instance.machine.memories)
    instance.capacity.push_back(memory.capacityBytes);
  if (instance.placement.empty())
    instance.placement.assign(instance.graph.numOperators(), DeviceId(numDevices - 1));
}

void test::fillRandom(Instance &instance, Rng &rng, size_t numOperators, int accelerators) {
  instance.machine = makeMachine(accelerators, accelerators > 1 && rng.chance(0.5));
  Graph &graph = instance.graph;
  auto bytes = [&] { return static_cast<int64_t>(rng.below(rng.chance(0.3) ? 4000 : 400)); };
  std::vector<TensorId> readable, states;
  for (uint64_t i = 0; i < 1 + rng.below(3); ++i)
    readable.push_back(addTensor(graph, "input" + std::to_string(i), bytes(), TensorKind::Input));
  for (uint64_t i = 0; i < numOperators / 2; ++i)
    readable.push_back(addTensor(graph, "weight" + std::to_string(i), bytes(), TensorKind::Parameter));
  for (uint64_t i = 0; i < rng.below(3); ++i) {
    states.push_back(addTensor(graph, "state" + std::to_string(i), bytes(), TensorKind::State));
    readable.push_back(states.back());
  }
  size_t numGiven = readable.size();
  for (size_t i = 0; i < numOperators; ++i) {
    std::vector<TensorId> inputs, outputs;
    for (uint64_t j = rng.below(4); j-- > 0;) {
      // Recent activations mostly, anything at times.
      size_t recent = readable.size() - numGiven < 6 ? readable.size() : 6;
      TensorId t =
          rng.chance(0.6) ? readable[readable.size() - 1 - rng.below(recent)] : readable[rng.below(readable.size())];
      if (std::find(inputs.begin(), inputs.end(), t) == inputs.end())
        inputs.push_back(t);
    }
    for (uint64_t j = 0; j < (rng.chance(0.1) ? 2 : 1); ++j) {
      Tensor tensor;
      tensor.name = "value" + std::to_string(i) + "_" + std::to_string(j);
      tensor.bytes = bytes();
      tensor.isOutput = rng.chance(0.08);
      if (!states.empty() && rng.chance(0.15)) {
        tensor.updates = states.back();
        tensor.bytes = graph.tensor(states.back()).bytes;
        // The old value's readers all come before.
        readable.erase(std::find(readable.begin(), readable.end(), states.back()));
        --numGiven;
        states.pop_back();
      }
      outputs.push_back(graph.addTensor(std::move(tensor)));
    }
    OperatorId op = addOperator(graph, "op" + std::to_string(i), inputs, outputs);
    if (rng.chance(0.2))
      graph.mutableOp(op).workspaceBytes = bytes();
    readable.insert(readable.end(), outputs.begin(), outputs.end());
  }
  for (size_t i = 0; i < numOperators; ++i)
    instance.placement.push_back(DeviceId(accelerators == 1 && rng.chance(0.9) ? 1 : rng.below(accelerators + 1)));
  complete(instance);
  for (int64_t &time : instance.costs.operatorNs)
    time = 100 + static_cast<int64_t>(rng.below(2000));
}

void test::fillChain(Instance &instance, size_t layers, int64_t activationBytes, int64_t parameterBytes) {
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  std::vector<TensorId> values = {addTensor(graph, "input", activationBytes, TensorKind::Input)};
  for (size_t i = 0; i < layers; ++i) {
    std::vector<TensorId> inputs = {values.back()};
    if (i > 1)
      inputs.push_back(values[i - 1]);
    inputs.push_back(addTensor(graph, "weight" + std::to_string(i), parameterBytes, TensorKind::Parameter));
    values.push_back(addTensor(graph, "value" + std::to_string(i), activationBytes));
    addOperator(graph, "layer" + std::to_string(i), inputs, {values.back()});
  }
  graph.mutableTensor(values.back()).isOutput = true;
  complete(instance);
}

int64_t test::makespanNs(const Instance &instance, const Plan &plan) {
  return simulate(instance.graph, instance.machine, instance.costs, plan).makespanNs;
}

int64_t test::parameterCopies(const Instance &instance, const Plan &plan) {
  return std::count_if(plan.commands.begin(), plan.commands.end(), [&](const Command &command) {
    return command.kind == CommandKind::Copy &&
           instance.graph.tensor(plan.residencies[command.reads[0].index()].tensor).kind == TensorKind::Parameter;
  });
}
