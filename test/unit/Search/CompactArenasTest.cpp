//===- CompactArenasTest.cpp ----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/CompactArenas.h"

#include "RandomGraph.h"
#include "sluice/Search/Orders.h"
#include "sluice/Swap/SwapPlanner.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// On one device: each operator reads the one before's result. Offsets as given.
struct Chain {
  Graph graph;
  Machine machine = starMachine(1);
  Plan plan;

  explicit Chain(const std::vector<int64_t> &bytes, const std::vector<int64_t> &offsets) {
    plan.streams.push_back({DeviceId(1u), StreamKind::Compute});
    plan.arenaBytes.assign(machine.memories.size(), 0);
    for (size_t i = 0; i < bytes.size(); ++i) {
      Tensor tensor;
      tensor.name = concat("t", i);
      tensor.bytes = bytes[i];
      const TensorId made = graph.addTensor(tensor);
      Operator op;
      op.name = concat("op", i);
      if (i > 0)
        op.inputs = {TensorId(i - 1)};
      op.outputs = {made};
      graph.addOperator(op);
      plan.placement.push_back(DeviceId(1u));
      plan.residencies.push_back({made, machine.device(DeviceId(1u)).memory, Segment::Arena, offsets[i], bytes[i]});
      Command command;
      command.stream = StreamId(0u);
      command.op = OperatorId(i);
      if (i > 0)
        command.reads = {ResidencyId(i - 1)};
      command.writes = {ResidencyId(i)};
      plan.commands.push_back(command);
      int64_t &arena = plan.arenaBytes[plan.residencies[i].memory.index()];
      arena = std::max(arena, offsets[i] + bytes[i]);
    }
  }
};

} // namespace

TEST_CASE("a chain side by side needs two neighbours at a time", "[search][compact]") {
  Chain chain({128, 256, 64, 512}, {0, 128, 384, 448});
  REQUIRE(validatePlan(chain.graph, chain.machine, chain.plan));
  compactArenas(chain.plan);
  REQUIRE(validatePlan(chain.graph, chain.machine, chain.plan));
  CHECK(chain.plan.arenaBytes[1] == 64 + 512);
}

TEST_CASE("an arena as small as what is live stays as it is", "[search][compact]") {
  Chain chain({128, 256, 128}, {0, 128, 0});
  const std::vector<Residency> before = chain.plan.residencies;
  compactArenas(chain.plan);
  CHECK(chain.plan.arenaBytes[1] == 384);
  for (size_t i = 0; i < before.size(); ++i)
    CHECK(chain.plan.residencies[i].offset == before[i].offset);
}

TEST_CASE("random plans stay valid, and no arena grows", "[search][compact]") {
  int64_t before = 0, after = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Instance instance = randomInstance(seed, 40, 1 + seed % 3);
    Rng rng(seed);
    const std::vector<DeviceId> devices = instance.machine.computeDevices();
    std::vector<DeviceId> placement;
    for (size_t i = 0; i < instance.graph.numOperators(); ++i)
      placement.push_back(devices[rng.below(devices.size())]);
    std::vector<int64_t> capacities;
    for (const Memory &memory : instance.machine.memories)
      capacities.push_back(seed % 2 ? memory.capacityBytes : std::min<int64_t>(memory.capacityBytes, 8192));
    SwapParams params;
    params.inPlace = seed % 4 < 2;
    Expected<Plan> plan = planSwapOffsets(
        {instance.graph, instance.machine, instance.costs, placement, modelOrder(instance.graph), capacities}, params);
    if (!plan)
      continue;
    const std::vector<int64_t> arenas = plan->arenaBytes;
    compactArenas(*plan);
    CAPTURE(seed);
    const Status valid = validatePlan(instance.graph, instance.machine, *plan);
    INFO((valid ? std::string() : valid.error().message));
    REQUIRE(valid);
    for (size_t m = 0; m < arenas.size(); ++m) {
      CHECK(plan->arenaBytes[m] <= arenas[m]);
      before += arenas[m];
      after += plan->arenaBytes[m];
    }
  }
  CHECK(after < before);
}
