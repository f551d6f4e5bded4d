//===- Problems.h - Swap problems for tests -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SWAP_PROBLEMS_H
#define SLUICE_TEST_UNIT_SWAP_PROBLEMS_H

#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/SwapPlanner.h"

namespace sluice::test {

constexpr int64_t kMiB = int64_t(1) << 20;
constexpr int64_t kUnitNs = 1000000; ///< One operator, or one MiB moved.

/// All a problem refers to, at one address.
struct Instance {
  Graph graph;
  Machine machine;
  CostTable costs;
  std::vector<DeviceId> placement;
  std::vector<OperatorId> order;
  std::vector<int64_t> capacity;

  Instance() = default;
  Instance(const Instance &) = delete;
  SwapProblem problem() const { return {graph, machine, costs, placement, order, capacity}; }
};

/// The host, with a device that computes, and accelerators linked to it; no
/// latency, one MiB a unit each way. With `direct`, accelerators 0 and 1 are
/// also linked to each other.
Machine makeMachine(int accelerators, bool direct = false);

TensorId addTensor(Graph &graph, std::string name, int64_t bytes, TensorKind kind = TensorKind::Activation);
OperatorId addOperator(Graph &graph, std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs);

/// Fills costs (a unit each), order (the graph's own), capacities (the
/// machine's) and, where there is none, a placement on the last device.
void complete(Instance &instance);

/// Random layered graph with parameters, inputs, outputs, states and
/// workspaces, on one or more accelerators and sometimes the host.
void fillRandom(Instance &instance, Rng &rng, size_t numOperators, int accelerators);

/// A chain of `layers` operators, each with its own parameter and a residual
/// from two layers before.
void fillChain(Instance &instance, size_t layers, int64_t activationBytes, int64_t parameterBytes);

/// Makespan as the simulator sees it.
int64_t makespanNs(const Instance &instance, const Plan &plan);
/// Copies into accelerator arenas of parameters, in one step.
int64_t parameterCopies(const Instance &instance, const Plan &plan);

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SWAP_PROBLEMS_H
