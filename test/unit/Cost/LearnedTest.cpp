//===- LearnedTest.cpp - Times of shapes never measured -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/LearnedCostModel.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {

Operator makeOperator(Graph &graph, const std::string &kind, int64_t flops, int64_t bytes) {
  Tensor out;
  out.bytes = bytes;
  Operator op;
  op.kind = kind;
  op.flops = flops;
  op.outputs = {graph.addTensor(out)};
  return op;
}

/// Convolutions take thrice what the roofline says, and other operators half.
int64_t trueNs(const OperatorShape &shape, const Device &device) {
  const int64_t roofline = rooflineTimeNs(shape, device);
  return std::max<int64_t>(shape.kind == "conv" ? 3 * roofline : roofline / 2, 1);
}

struct Measured {
  Machine machine = *machinePreset("emulated");
  Profile profile;
  Graph unseen;

  explicit Measured(int count) {
    Rng rng(1);
    Graph graph;
    const Device &device = machine.devices[1];
    for (int i = 0; i < 2 * count; ++i) {
      Graph &target = i < count ? graph : unseen;
      const OperatorId id = target.addOperator(makeOperator(
          target, i % 2 ? "conv" : "add", int64_t(1) << (20 + rng.below(14)), int64_t(1) << (10 + rng.below(14))));
      if (i >= count)
        continue;
      const OperatorShape shape = shapeOf(graph, id);
      profile.operators[{std::to_string(i), deviceKey(device)}] = {trueNs(shape, device), 0, 1, shape};
    }
  }
};

} // namespace

TEST_CASE("shapes never measured take the roofline's time by what it was seen to err", "[cost]") {
  const Measured measured(120);
  const LearnedCostModel model(measured.profile, measured.machine);
  const Device &device = measured.machine.devices[1];
  for (uint32_t i = 0; i < measured.unseen.numOperators(); ++i) {
    const double truth = static_cast<double>(trueNs(shapeOf(measured.unseen, OperatorId(i)), device));
    CHECK(static_cast<double>(model.operatorTimeNs(measured.unseen, OperatorId(i), device)) ==
          Approx(truth).epsilon(0.05));
  }
  const std::vector<PredictorQuality> qualities = measurePredictor(measured.profile, measured.machine);
  REQUIRE(qualities.size() == 1);
  CHECK(qualities[0].device == deviceKey(device));
  CHECK(qualities[0].operators == 120);
  CHECK(qualities[0].learned < 1.05);
  CHECK(qualities[0].roofline > 2);
}

TEST_CASE("nothing is learned from few operators, from those without shapes, or of another device", "[cost]") {
  const Measured few(LearnedCostModel::kLeastOperators - 1);
  Measured old(120);
  for (auto &[key, operation] : old.profile.operators)
    operation.shape = {};
  Measured enough(120);
  Device other = enough.machine.devices[1];
  other.speed = 0.5;
  auto isRoofline = [](const Measured &measured, const Device &device) {
    const LearnedCostModel model(measured.profile, measured.machine);
    return model.operatorTimeNs(measured.unseen, OperatorId(0), device) ==
           RooflineCostModel().operatorTimeNs(measured.unseen, OperatorId(0), device);
  };
  CHECK(isRoofline(few, few.machine.devices[1]));
  CHECK(measurePredictor(few.profile, few.machine).empty());
  CHECK(isRoofline(old, old.machine.devices[1]));
  CHECK(isRoofline(enough, other));
  CHECK_FALSE(isRoofline(enough, enough.machine.devices[1]));
}
