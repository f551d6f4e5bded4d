//===- StayPlannerTest.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include "sluice/Plan/PlanJson.h"

#include <catch2/catch.hpp>
#include <limits>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// Layers whose weights are read in the forward and in the backward pass, where each is updated. Three weights of 4 MiB
/// and one of 1 MiB fit into the memory of 13 MiB beside small values; 1 MiB tensors in the wrong places split it.
void fillTraining(Instance &instance, size_t layers) {
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  TensorId value = addTensor(graph, "x", kMiB / 4, TensorKind::Input);
  std::vector<TensorId> weights, values;
  for (size_t i = 0; i < layers; ++i) {
    weights.push_back(addTensor(graph, concat("w", i), i % 2 == 0 ? 4 * kMiB : kMiB, TensorKind::State));
    values.push_back(value);
    const TensorId next = addTensor(graph, concat("v", i), kMiB / 4);
    addOperator(graph, concat("f", i), {value, weights[i]}, {next});
    value = next;
  }
  TensorId gradient = value;
  for (size_t i = layers; i-- > 0;) {
    const int64_t bytes = graph.tensor(weights[i]).bytes;
    const TensorId own = addTensor(graph, concat("dw", i), bytes);
    const TensorId next = addTensor(graph, concat("d", i), kMiB / 4);
    addOperator(graph, concat("b", i), {gradient, values[i], weights[i]}, {next, own});
    const TensorId updated = addTensor(graph, concat("u", i), bytes, TensorKind::State);
    graph.setUpdates(updated, weights[i]);
    const OperatorId update = addOperator(graph, concat("s", i), {weights[i], own}, {updated});
    graph.mutableOp(update).inPlace = {{0, 0}};
    gradient = next;
  }
  graph.mutableTensor(gradient).isOutput = true;
  complete(instance);
}

} // namespace

TEST_CASE("stays of random problems make valid plans", "[swap]") {
  Rng rng(11);
  int planned = 0, swapped = 0, refused = 0, faster = 0;
  for (int round = 0; round < 200; ++round) {
    Instance instance;
    fillRandom(instance, rng, 2 + rng.below(60), 1);
    instance.placement.assign(instance.graph.numOperators(), instance.placement.back());
    const std::vector<MinimumBytes> minimum = minimumBytes(instance.problem());
    const std::vector<int64_t> peak = livenessPeakBytes(instance.problem());
    for (double share : {0.0, 0.2, 0.6, 1.0}) {
      instance.capacity[1] =
          minimum[1].bytes + static_cast<int64_t>(share * static_cast<double>(peak[1] - minimum[1].bytes));
      SwapParams params;
      params.keptStates = rng.chance(0.5) ? rng.uniform() : 0;
      params.idleWeight = rng.uniform();
      params.passes = 1 + static_cast<int>(rng.below(4));
      params.restingStates = rng.chance(0.5) ? rng.uniform() : 0;
      params.presence = rng.chance(0.5) ? 0.5 + 0.5 * rng.uniform() : 1;
      const Expected<Plan> plan = planSwapStays(instance.problem(), params);
      if (!plan) {
        // Nothing but a lack of room, or an operator on the host, is a reason.
        const ErrorCode code = plan.error().code;
        CHECK((code == ErrorCode::Infeasible || code == ErrorCode::Unsupported));
        ++refused;
        continue;
      }
      ++planned;
      Machine limited = instance.machine;
      limited.memories[1].capacityBytes = instance.capacity[1];
      const Status status = validatePlan(instance.graph, limited, *plan);
      if (!status)
        FAIL(status.error().message);
      swapped += plan->bytesSwappedOut(instance.graph) > 0;
      // Sometimes they are faster than windows, with and without results in place.
      int64_t windowsNs = std::numeric_limits<int64_t>::max();
      for (bool inPlace : {false, true}) {
        SwapParams windows;
        windows.inPlace = inPlace;
        windows.keptStates = params.keptStates;
        if (const Expected<Plan> other = planSwapOffsets(instance.problem(), windows))
          windowsNs = std::min(windowsNs, makespanNs(instance, *other));
      }
      faster += makespanNs(instance, *plan) < windowsNs;
      CHECK(planToJson(instance.graph, instance.machine, *plan) ==
            planToJson(instance.graph, instance.machine, *planSwapStays(instance.problem(), params)));
    }
  }
  UNSCOPED_INFO(planned << " planned, " << swapped << " with copies out, " << refused << " refused, " << faster
                        << " faster");
  CHECK(planned > 300);
  CHECK(swapped > 100);
  CHECK(faster > 20);
}

TEST_CASE("stays of a training step copy less than windows where memory is scarce", "[swap]") {
  for (int64_t capacity = 10; capacity <= 18; ++capacity) {
    Instance instance;
    fillTraining(instance, 12);
    instance.capacity[1] = capacity * kMiB;
    SwapParams params;
    params.inPlace = true;
    const Expected<Plan> stays = planSwapStays(instance.problem(), params);
    const Expected<Plan> windows = planSwapOffsets(instance.problem(), params);
    REQUIRE(stays);
    REQUIRE(windows);
    // Twelve weights have 30 MiB. Each comes twice, and the small values of the forward pass may come again.
    INFO(capacity << " MiB");
    CHECK(stays->bytesSwappedIn(instance.graph) <= 64 * kMiB);
    CHECK(stays->bytesSwappedIn(instance.graph) <= windows->bytesSwappedIn(instance.graph) + 4 * kMiB);
  }
}

TEST_CASE("states that rest on the device between steps leave and return within a step", "[swap]") {
  int rested = 0, left = 0, faster = 0;
  for (int64_t capacity = 13; capacity <= 26; ++capacity) {
    Instance instance;
    fillTraining(instance, 12);
    instance.capacity[1] = capacity * kMiB;
    SwapParams params;
    const Expected<Plan> without = planSwapStays(instance.problem(), params);
    params.restingStates = 0.5;
    const Expected<Plan> with = planSwapStays(instance.problem(), params);
    REQUIRE(without);
    REQUIRE(with);
    INFO(capacity << " MiB");
    CHECK_FALSE(std::any_of(without->residencies.begin(), without->residencies.end(),
                            [](const Residency &r) { return r.initial && r.segment == Segment::Arena; }));
    for (const Residency &r : with->residencies) {
      if (!r.initial || r.segment != Segment::Arena)
        continue;
      ++rested;
      left += std::any_of(with->commands.begin(), with->commands.end(), [&](const Command &command) {
        return command.kind == CommandKind::Copy && &with->residencies[command.reads[0].index()] == &r;
      });
    }
    faster += makespanNs(instance, *with) < makespanNs(instance, *without);
  }
  // Half of 13 to 26 MiB holds one to three weights of 4 MiB.
  UNSCOPED_INFO(rested << " rested, " << left << " of them left, " << faster << " plans faster");
  CHECK(rested >= 14);
  CHECK(left >= 7);
  CHECK(faster >= 10);
}

TEST_CASE("a kept momentum outlives the weight's update that could overwrite it", "[swap]") {
  // The weight's update may write over the momentum, which no later operator reads. The next step reads it.
  Instance instance;
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  TensorId value = addTensor(graph, "x", kMiB, TensorKind::Input);
  for (size_t i = 0; i < 4; ++i) {
    const TensorId weight = addTensor(graph, concat("w", i), 4 * kMiB, TensorKind::State);
    const TensorId momentum = addTensor(graph, concat("m", i), 4 * kMiB, TensorKind::State);
    const TensorId gradient = addTensor(graph, concat("g", i), 4 * kMiB), next = addTensor(graph, concat("v", i), kMiB);
    addOperator(graph, concat("f", i), {value, weight}, {next, gradient});
    const TensorId newMomentum = addTensor(graph, concat("n", i), 4 * kMiB);
    const TensorId newWeight = addTensor(graph, concat("u", i), 4 * kMiB);
    graph.setUpdates(newMomentum, momentum);
    graph.setUpdates(newWeight, weight);
    for (auto [name, inputs, output] :
         {std::tuple("a", std::vector{momentum, gradient}, newMomentum), {"b", {newMomentum, weight}, newWeight}})
      graph.mutableOp(addOperator(graph, concat(name, i), inputs, {output})).inPlace = {{0, 0}, {1, 0}};
    value = next;
  }
  graph.mutableTensor(value).isOutput = true;
  complete(instance);
  instance.capacity[1] = 22 * kMiB;
  int kept = 0;
  for (StateChoice choice : {StateChoice::Edges, StateChoice::Spread})
    for (double share : {0.13, 0.25, 0.4}) {
      SwapParams params;
      params.inPlace = true;
      params.keptStates = share;
      params.keptChoice = choice;
      for (auto plan : {planSwapStays, planSwapOffsets}) {
        const Expected<Plan> made = plan(instance.problem(), params);
        INFO(share);
        REQUIRE(made);
        for (const Residency &r : made->residencies)
          kept += r.initial && r.segment == Segment::Arena && graph.tensor(r.tensor).name[0] == 'm';
      }
    }
  CHECK(kept > 0);
}

TEST_CASE("stays are refused where operators run on several memories", "[swap]") {
  Rng rng(3);
  Instance instance;
  fillRandom(instance, rng, 20, 2);
  instance.placement.front() = instance.machine.computeDevices().front();
  instance.placement.back() = instance.machine.computeDevices().back();
  const Expected<Plan> plan = planSwapStays(instance.problem());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::Unsupported);
  CHECK(plan.error().message.find("a single accelerator only") != std::string::npos);
}

TEST_CASE("stays that one operator exceeds are refused", "[swap]") {
  Instance instance;
  fillTraining(instance, 4);
  instance.capacity[1] = 8 * kMiB;
  const Expected<Plan> plan = planSwapStays(instance.problem());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::Infeasible);
  CHECK(plan.error().message.find("use a solver that places tensors at free offsets") != std::string::npos);
}

TEST_CASE("a share of the memory that does not exist is refused by plans by stays", "[swap]") {
  Instance instance;
  fillTraining(instance, 12);
  for (double presence : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    SwapParams params;
    params.presence = presence;
    const Expected<Plan> plan = planSwapStays(instance.problem(), params);
    REQUIRE_FALSE(plan);
    CHECK(plan.error().code == ErrorCode::InvalidInput);
    CHECK(plan.error().message.find("parameter 'presence', give a number above 0 and at most 1") != std::string::npos);
  }
}
