//===- BoundCertificateTest.cpp -------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/BoundCertificate.h"

#include "BruteForce.h"
#include "RandomGraph.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// A few operators with parameters, states, workspaces, results in place and outputs; tensors of few sizes.
Instance tinyInstance(uint64_t seed) {
  Rng rng(seed);
  Instance instance;
  instance.machine = starMachine(1);
  instance.machine.links[0].latencyNs = 0;
  instance.machine.links[0].duplexBytesPerSec = 2e9;
  Graph &graph = instance.graph;
  graph.name = concat("tiny", seed);
  auto add = [&](TensorKind kind, int64_t bytes) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    tensor.kind = kind;
    tensor.bytes = bytes;
    return graph.addTensor(tensor);
  };
  auto size = [&] { return 64 * static_cast<int64_t>(1 + rng.below(3)); };
  std::vector<TensorId> values{add(TensorKind::Input, size())};
  std::vector<TensorId> states;
  if (rng.chance(0.5))
    values.push_back(add(TensorKind::Parameter, size()));
  if (rng.chance(0.6)) {
    states.push_back(add(TensorKind::State, size()));
    values.push_back(states.back());
  }
  const size_t operators = 3 + rng.below(2);
  for (size_t i = 0; i < operators; ++i) {
    Operator op;
    op.name = concat("op", i);
    for (int k = 0; k < 2; ++k) {
      const TensorId input = values[rng.below(values.size())];
      if (std::find(op.inputs.begin(), op.inputs.end(), input) == op.inputs.end())
        op.inputs.push_back(input);
    }
    const bool isUpdate = !states.empty() && i + 1 == operators;
    if (isUpdate && std::find(op.inputs.begin(), op.inputs.end(), states[0]) == op.inputs.end() && rng.chance(0.7))
      op.inputs.push_back(states[0]);
    op.outputs.push_back(add(isUpdate ? TensorKind::State : TensorKind::Activation,
                             isUpdate ? graph.tensor(states[0]).bytes : size()));
    if (isUpdate)
      graph.setUpdates(op.outputs[0], states[0]);
    else
      values.push_back(op.outputs[0]);
    if (rng.chance(0.4))
      op.inPlace = {{static_cast<uint32_t>(rng.below(op.inputs.size())), 0}};
    if (rng.chance(0.2))
      op.workspaceBytes = 64;
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(),
                                     {16 + 16 * static_cast<int64_t>(rng.below(8)), 16 + 16 * static_cast<int64_t>(rng.below(8))});
  }
  for (TensorId value : values)
    if (graph.tensor(value).producer.valid() && graph.tensor(value).consumers.empty())
      graph.mutableTensor(value).isOutput = true;
  instance.costs.numDevices = 2;
  instance.placement.assign(operators, DeviceId(1u));
  return instance;
}

int64_t largestWorkingSet(const Graph &graph) {
  int64_t most = 0;
  for (uint32_t i = 0; i < graph.numOperators(); ++i)
    most = std::max(most, graph.workingSetBytes(OperatorId(i)));
  return most;
}

std::vector<int64_t> timesOn(const Instance &instance, size_t device) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < instance.graph.numOperators(); ++i)
    times.push_back(instance.costs.operatorNs[2 * i + device]);
  return times;
}

/// The same operators on the host, whose memory has a file behind it: 4 nanoseconds a byte to it, 2 back.
void moveToHost(Instance &instance) {
  instance.machine.devices[0].computes = true;
  addFile(instance.machine);
  Link &link = instance.machine.links.back();
  link.a = MemoryId(0u);
  link.latencyNs = 0;
  link.trunk = {};
  instance.placement.assign(instance.placement.size(), DeviceId(0u));
}

} // namespace

TEST_CASE("no step of tiny instances beats the bounds", "[search]") {
  int compared = 0, swapped = 0, met = 0;
  for (uint64_t seed = 0; seed < 44; ++seed) {
    const bool isOnHost = seed % 4 == 3;
    Instance instance = tinyInstance(seed);
    if (isOnHost)
      moveToHost(instance);
    const std::vector<int64_t> times = timesOn(instance, isOnHost ? 0 : 1);
    for (int64_t spare : {int64_t(seed % 3 == 0 ? 192 : 0), int64_t(64)}) {
      int64_t capacity = largestWorkingSet(instance.graph) + spare;
      if (isOnHost) // Homes of inputs and outputs count.
        for (const Tensor &tensor : instance.graph.tensors())
          capacity += tensor.kind == TensorKind::Input || tensor.isOutput ? tensor.bytes : 0;
      std::vector<int64_t> capacities(instance.machine.memories.size(), std::numeric_limits<int64_t>::max());
      capacities[isOnHost ? 0 : 1] = capacity;
      if (isOnHost)
        capacities[1] = 0;
      const LowerBounds bounds =
          planLowerBounds(instance.graph, instance.machine, instance.costs, capacities, instance.placement);
      BruteForce force(instance.graph, times, capacity, isOnHost ? 2 : 1, isOnHost ? 4 : 1, isOnHost);
      const std::optional<int64_t> once = force.solve(1), twice = once ? force.solve(2) : std::nullopt;
      INFO("seed " << seed << " spare " << spare);
      if (once) {
        ++compared;
        CHECK(bounds.once().ns <= *once);
        met += bounds.once().ns + 1 >= *once;
        swapped += bounds.onceCuts.ns > std::max(bounds.work.ns, bounds.path.ns);
      }
      if (twice)
        CHECK(bounds.always().ns <= *twice);
      CHECK(bounds.always().ns <= bounds.once().ns);
      CHECK(bounds.repeatCuts.ns <= bounds.onceCuts.ns + bounds.onceCuts.ns / 10 + 1);
    }
  }
  // The bounds are compared often, differ from those of work and chains often, and are met now and then.
  UNSCOPED_INFO(compared << " compared, " << swapped << " by bytes, " << met << " met");
  CHECK(compared > 50);
  CHECK(swapped > 5);
  CHECK(met > 5);
}
