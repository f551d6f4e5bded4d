//===- LinearNetwork.h - The simplest training step -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SWAP_LINEARNETWORK_H
#define SLUICE_TEST_UNIT_SWAP_LINEARNETWORK_H

#include "Problems.h"

namespace sluice::test {

/// DTR's linear network: f(i) reads a(i - 1), and b(i) reads a(i - 1) and the gradient of a(i). All tensors have
/// `bytes`, and all operators take one unit.
inline void fillLinear(Instance &instance, size_t layers, int64_t bytes = 64) {
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  std::vector<TensorId> kept{addTensor(graph, "x", bytes, TensorKind::Input)};
  for (size_t i = 0; i < layers; ++i) {
    kept.push_back(addTensor(graph, "a" + std::to_string(i), bytes));
    addOperator(graph, "f" + std::to_string(i), {kept[i]}, {kept[i + 1]});
  }
  TensorId gradient = kept.back();
  for (size_t i = layers; i-- > 0;) {
    const TensorId next = addTensor(graph, "g" + std::to_string(i), bytes);
    graph.mutableTensor(next).isOutput = i == 0;
    addOperator(graph, "b" + std::to_string(i), {kept[i], gradient}, {next});
    gradient = next;
  }
  complete(instance);
}

/// validatePlan within the instance's capacities.
inline Status validateLimited(const Instance &instance, const Plan &plan) {
  Machine limited = instance.machine;
  for (size_t m = 0; m < limited.memories.size(); ++m)
    limited.memories[m].capacityBytes = instance.capacity[m];
  return validatePlan(instance.graph, limited, plan);
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SWAP_LINEARNETWORK_H
