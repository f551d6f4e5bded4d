//===- HtfMprTest.cpp - Mappings by a learned predictor -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/HtfMpr.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {

/// Layers of operators that read two of the layer before, on the host and two accelerators.
struct Instance {
  Graph graph;
  Machine machine = *machinePreset("emulated:2");
  CostTable costs;

  explicit Instance(uint64_t seed, int layers = 6) {
    machine.devices[0].computes = true;
    Rng rng(seed);
    std::vector<TensorId> before;
    for (int layer = 0; layer < layers; ++layer) {
      std::vector<TensorId> made;
      for (int i = 0; i < 4; ++i) {
        Tensor out;
        out.name = concat("t", layer, "-", i);
        out.bytes = 64 * static_cast<int64_t>(1 + rng.below(2000));
        out.isOutput = layer + 1 == layers;
        Operator op;
        op.name = concat("op", layer, "-", i);
        for (int reads = 0; reads < 2 && !before.empty(); ++reads)
          if (TensorId read = before[rng.below(before.size())];
              std::find(op.inputs.begin(), op.inputs.end(), read) == op.inputs.end())
            op.inputs.push_back(read);
        op.outputs = {graph.addTensor(out)};
        made.push_back(op.outputs[0]);
        graph.addOperator(op);
        for (size_t device = 0; device < machine.devices.size(); ++device)
          costs.operatorNs.push_back(static_cast<int64_t>(20'000 + rng.below(100'000)));
      }
      before = made;
    }
    costs.numDevices = machine.devices.size();
  }
  PlacementProblem problem() const { return {&graph, &machine, &costs, {}}; }
};

} // namespace

TEST_CASE("the predictor is better than chance and than integers, and what it finds than baselines", "[placement]") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Instance instance(seed);
    const PlacementSolution found = *solvePlacement(instance.problem(), {"htf-mpr", 2000});
    CHECK(found.foldDistance > 0);
    CHECK(found.foldDistance < 0.3);
    CHECK(found.runnersUp.size() > 5);
    CHECK(found.evaluations <= 2000);
    for (const char *baseline : {"single-device", "round-robin", "dp-split"})
      CHECK(found.makespanNs < solvePlacement(instance.problem(), {baseline})->makespanNs);
  }
  const PredictorErrors errors = *measureMappingPredictors(Instance(1).problem(), 400);
  CHECK(errors.mappings == 400);
  CHECK(errors.boosted < errors.integerEncoded);
  CHECK(errors.boosted < errors.integerLinear);
}

TEST_CASE("learned mappings keep pins, colours and capacities", "[placement]") {
  Instance instance(5);
  for (uint32_t i = 0; i < 8; ++i)
    instance.graph.mutableOp(OperatorId(i)).colocation = 1;
  PlacementProblem problem = instance.problem();
  problem.pinned.resize(instance.graph.numOperators());
  problem.pinned[20] = DeviceId(2);
  PlacementSolution found = *solvePlacement(problem, {"htf-mpr", 200});
  CHECK(found.placement[20] == DeviceId(2));
  for (uint32_t i = 1; i < 8; ++i)
    CHECK(found.placement[i] == found.placement[0]);
  // All pinned: one mapping, nothing to learn.
  problem.pinned.assign(instance.graph.numOperators(), DeviceId(1));
  found = *solvePlacement(problem, {"htf-mpr", 200});
  CHECK(found.placement == problem.pinned);
  CHECK(found.foldDistance < 0);
  // One evaluation is not enough to learn from, and not refused.
  CHECK(solvePlacement(instance.problem(), {"htf-mpr", 1}));
}
