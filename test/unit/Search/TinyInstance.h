//===- TinyInstance.h - Instances for brute force ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SEARCH_TINYINSTANCE_H
#define SLUICE_TEST_UNIT_SEARCH_TINYINSTANCE_H

#include "RandomGraph.h"

namespace sluice::test {

/// A few operators with parameters, states, workspaces, results in place and outputs; tensors of few sizes.
inline Instance tinyInstance(uint64_t seed) {
  Rng rng(seed);
  Instance instance;
  instance.machine = starMachine(1);
  instance.machine.links[0].latencyNs = 0;
  instance.machine.links[0].duplexBytesPerSec = 2e9;
  Graph &graph = instance.graph;
  graph.name = concat("tiny", seed);
  auto add = [&](TensorKind kind, int64_t bytes) { return addTensor(graph, kind, bytes); };
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
    op.outputs.push_back(
        add(isUpdate ? TensorKind::State : TensorKind::Activation, isUpdate ? graph.tensor(states[0]).bytes : size()));
    if (isUpdate)
      graph.setUpdates(op.outputs[0], states[0]);
    else
      values.push_back(op.outputs[0]);
    if (rng.chance(0.4))
      op.inPlace = {{static_cast<uint32_t>(rng.below(op.inputs.size())), 0}};
    if (rng.chance(0.2))
      op.workspaceBytes = 64;
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), {16 + 16 * static_cast<int64_t>(rng.below(8)),
                                                                       16 + 16 * static_cast<int64_t>(rng.below(8))});
  }
  for (TensorId value : values)
    if (graph.tensor(value).producer.valid() && graph.tensor(value).consumers.empty())
      graph.mutableTensor(value).isOutput = true;
  instance.costs.numDevices = 2;
  instance.placement.assign(operators, DeviceId(1u));
  return instance;
}

inline int64_t largestWorkingSet(const Graph &graph) {
  int64_t most = 0;
  for (uint32_t i = 0; i < graph.numOperators(); ++i)
    most = std::max(most, graph.workingSetBytes(OperatorId(i)));
  return most;
}

inline std::vector<int64_t> timesOn(const Instance &instance, size_t device) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < instance.graph.numOperators(); ++i)
    times.push_back(instance.costs.operatorNs[2 * i + device]);
  return times;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SEARCH_TINYINSTANCE_H
