//===- ActivationsOnlyTest.cpp --------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("where only activations swap no parameter is ever copied", "[swap]") {
  Instance instance;
  fillChain(instance, 12, kMiB, kMiB);
  // A backward pass: every value is read again, in reverse.
  TensorId gradient = addTensor(instance.graph, "gradient12", kMiB);
  addOperator(instance.graph, "loss", {TensorId(instance.graph.numTensors() - 2)}, {gradient});
  for (int i = 12; i-- > 1;) {
    TensorId next = addTensor(instance.graph, "gradient" + std::to_string(i), kMiB);
    addOperator(instance.graph, "backward" + std::to_string(i), {gradient, TensorId(2 * i)}, {next});
    gradient = next;
  }
  instance.graph.mutableTensor(gradient).isOutput = true;
  instance.placement.clear();
  complete(instance);

  // Twelve parameters stay, four more are what an operator needs beside its own.
  for (int64_t room : {4, 6, 30}) {
    instance.capacity[1] = (12 + room) * kMiB;
    Expected<Plan> plan = planActivationsOnly(instance.problem());
    INFO((plan ? std::string() : plan.error().message));
    REQUIRE(plan);
    CHECK(parameterCopies(instance, *plan) == 0);
    CHECK(plan->arenaBytes[1] <= instance.capacity[1]);
    // Two outputs leave in any case.
    CHECK((plan->bytesSwappedOut(instance.graph) > 2 * kMiB) == (room < 30));
  }

  instance.capacity[1] = 13 * kMiB;
  Expected<Plan> refused = planActivationsOnly(instance.problem());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Infeasible);
  CHECK_THAT(refused.error().message, Catch::Contains("parameters and states of 12.00 MiB"));
  CHECK(planSwapOffsets(instance.problem()));
}

TEST_CASE("swapping activations alone succeeds exactly where parameters leave room", "[swap]") {
  Rng rng(77);
  int planned = 0;
  for (int round = 0; round < 60; ++round) {
    Instance instance;
    fillRandom(instance, rng, 3 + rng.below(40), 1 + round % 2);
    int64_t most = 0;
    for (const MinimumBytes &minimum : minimumBytes(instance.problem()))
      most = std::max(most, minimum.bytes);
    for (size_t m = 1; m < instance.capacity.size(); ++m)
      instance.capacity[m] = most * static_cast<int64_t>(1 + rng.below(8));
    Expected<Plan> plan = planActivationsOnly(instance.problem());
    if (!plan) {
      INFO(plan.error().message);
      CHECK(plan.error().code == ErrorCode::Infeasible);
      continue;
    }
    ++planned;
    CHECK(parameterCopies(instance, *plan) == 0);
  }
  CHECK(planned > 5);
}

TEST_CASE("parameters may fill a memory to its last byte where activations have none", "[swap]") {
  Instance instance;
  instance.machine = makeMachine(1);
  TensorId weight = addTensor(instance.graph, "weight", 64, TensorKind::Parameter);
  TensorId empty = addTensor(instance.graph, "empty", 0);
  addOperator(instance.graph, "only", {weight}, {empty});
  complete(instance);
  instance.capacity[1] = 64;
  Expected<Plan> plan = planActivationsOnly(instance.problem());
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  CHECK(plan->arenaBytes[1] == 64);
}
