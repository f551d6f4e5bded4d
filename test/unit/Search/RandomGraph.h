//===- RandomGraph.h - Small graphs to search over --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SEARCH_RANDOMGRAPH_H
#define SLUICE_TEST_UNIT_SEARCH_RANDOMGRAPH_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Search/Search.h"
#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice::test {

/// Adds a tensor that is named by its number.
inline TensorId addTensor(Graph &graph, TensorKind kind, int64_t bytes) {
  Tensor tensor;
  tensor.name = concat("t", graph.numTensors());
  tensor.kind = kind;
  tensor.bytes = bytes;
  return graph.addTensor(tensor);
}

/// A graph on a machine, with the problem that points into it.
struct Instance {
  Graph graph;
  Machine machine;
  CostTable costs;
  std::vector<DeviceId> placement;

  /// Each accelerator holds min + share x (peak - min) bytes, as if all were
  /// placed on it.
  SearchProblem problem(double share) const {
    SearchProblem problem{&graph, &machine, &costs, {}, placement};
    for (const Memory &memory : machine.memories)
      problem.capacityBytes.push_back(memory.capacityBytes);
    for (DeviceId device : machine.computeDevices()) {
      SwapProblem swap{graph, machine, costs, {}, *graph.topologicalOrder(), problem.capacityBytes};
      swap.placement.assign(graph.numOperators(), device);
      size_t m = machine.device(device).memory.index();
      double least = static_cast<double>(minimumBytes(swap)[m].bytes);
      double peak = static_cast<double>(livenessPeakBytes(swap)[m]);
      problem.capacityBytes[m] = alignUp(static_cast<int64_t>(least + share * (peak - least)));
    }
    return problem;
  }
};

/// A host and `accelerators` devices with a memory each, linked to the host: a
/// byte takes a nanosecond, 0.6 where both directions are busy.
inline Machine starMachine(size_t accelerators) {
  Machine machine;
  machine.name = "star";
  machine.memories.push_back({"host"});
  Device cpu;
  cpu.name = "cpu";
  cpu.memory = MemoryId(0u);
  cpu.computes = false;
  machine.devices.push_back(cpu);
  for (size_t i = 0; i < accelerators; ++i) {
    machine.memories.push_back({concat("accel", i)});
    Device device;
    device.name = concat("accel", i);
    device.kind = DeviceKind::Emulated;
    device.memory = MemoryId(i + 1);
    machine.devices.push_back(device);
    Link link;
    link.a = MemoryId(0u);
    link.b = device.memory;
    link.bytesPerSec = 1e9;
    link.duplexBytesPerSec = 1.6e9;
    link.latencyNs = 10;
    machine.links.push_back(link);
  }
  return machine;
}

/// A file behind the link of the first accelerator to the host: a byte takes 4 nanoseconds to it, 2 back.
inline void addFile(Machine &machine) {
  machine.memories.push_back({"ssd", std::numeric_limits<int64_t>::max(), MemoryKind::File});
  Link link;
  link.a = MemoryId(1u);
  link.b = MemoryId(machine.memories.size() - 1);
  link.bytesPerSec = 0.25e9;
  link.reverseBytesPerSec = 0.5e9;
  link.duplexBytesPerSec = 0.75e9;
  link.latencyNs = 10;
  link.trunk = LinkId(0u);
  machine.links.push_back(link);
}

/// A layered random graph: every operator reads one or two recent values and,
/// half of the time, a parameter; values without readers are outputs.
inline Instance randomInstance(uint64_t seed, size_t operators, size_t accelerators = 1) {
  Rng rng(seed);
  Instance instance;
  instance.machine = starMachine(accelerators);
  Graph &graph = instance.graph;
  graph.name = concat("random", seed);
  auto add = [&](TensorKind kind) { return addTensor(graph, kind, 64 * static_cast<int64_t>(1 + rng.below(16))); };
  std::vector<TensorId> values{add(TensorKind::Input)};
  for (size_t i = 0; i < operators; ++i) {
    Operator op;
    op.name = concat("op", i);
    op.kind = "test";
    for (int k = 0; k < 2; ++k) {
      TensorId input = values[values.size() - 1 - rng.below(std::min<size_t>(values.size(), 8))];
      if (std::find(op.inputs.begin(), op.inputs.end(), input) == op.inputs.end())
        op.inputs.push_back(input);
    }
    if (rng.chance(0.5))
      op.inputs.push_back(add(TensorKind::Parameter));
    op.outputs.push_back(add(TensorKind::Activation));
    values.push_back(op.outputs[0]);
    if (rng.chance(0.2))
      op.workspaceBytes = 64 * static_cast<int64_t>(rng.below(4));
    graph.addOperator(op);
  }
  for (TensorId value : values)
    if (graph.tensor(value).producer.valid() && graph.tensor(value).consumers.empty())
      graph.mutableTensor(value).isOutput = true;
  instance.costs.numDevices = instance.machine.devices.size();
  for (size_t i = 0; i < operators * instance.costs.numDevices; ++i)
    instance.costs.operatorNs.push_back(1 + static_cast<int64_t>(rng.below(600)));
  if (accelerators == 1)
    instance.placement.assign(operators, DeviceId(1u));
  return instance;
}

/// Four layers forward and back, 100 ns each, whose values of 640 bytes are read again: the example of verify-plan.md.
inline Instance forwardAndBack() {
  Instance instance;
  instance.machine = starMachine(1);
  Graph &graph = instance.graph;
  graph.name = "forward and back";
  auto add = [&](std::string name, int64_t bytes, TensorKind kind = TensorKind::Activation) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = bytes;
    return graph.addTensor(tensor);
  };
  auto run = [&](std::string name, std::vector<TensorId> inputs, TensorId output) {
    Operator op;
    op.name = std::move(name);
    op.inputs = std::move(inputs);
    op.outputs = {output};
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), {1, 100});
    return output;
  };
  std::vector<TensorId> values{add("x", 64, TensorKind::Input)};
  for (int i = 1; i <= 4; ++i)
    values.push_back(run(concat("f", i), {values.back()}, add(concat("value", i), 640)));
  TensorId gradient = run("b4", {values[4]}, add("gradient4", 64));
  for (int i = 3; i >= 1; --i)
    gradient = run(concat("b", i), {values[i], gradient}, add(concat("gradient", i), 64));
  graph.mutableTensor(gradient).isOutput = true;
  instance.costs.numDevices = 2;
  instance.placement.assign(graph.numOperators(), DeviceId(1u));
  return instance;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SEARCH_RANDOMGRAPH_H
