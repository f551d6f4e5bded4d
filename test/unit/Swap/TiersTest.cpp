//===- TiersTest.cpp - Plans that swap to files ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include "sluice/Plan/PlanJson.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;
using Catch::Contains;

namespace {

constexpr FileDivision kDivisions[] = {FileDivision::FromBegin, FileDivision::FromEnd, FileDivision::Longest,
                                       FileDivision::Latest, FileDivision::FromBeginLate};

/// How a file is connected.
enum class Shape : uint8_t {
  Chain, ///< To the host's memory alone: accelerators reach it by a staging buffer there.
  Star,  ///< To the accelerators' memories alone, over their links to the host.
  Both,
};

/// An SSD that moves a quarter of a MiB a unit to it, and half a MiB back.
void addFile(Instance &instance, Shape shape) {
  Machine &machine = instance.machine;
  const MemoryId file(machine.memories.size());
  machine.memories.push_back({"ssd", std::numeric_limits<int64_t>::max(), MemoryKind::File});
  const uint32_t numRam = file.value;
  for (uint32_t m = shape == Shape::Star ? 1 : 0; m < (shape == Shape::Chain ? 1 : numRam); ++m) {
    Link link;
    link.a = MemoryId(m);
    link.b = file;
    link.bytesPerSec = static_cast<double>(kMiB) * 0.25e9 / kUnitNs;
    link.reverseBytesPerSec = 2 * link.bytesPerSec;
    link.duplexBytesPerSec = 3 * link.bytesPerSec;
    link.latencyNs = 0;
    if (m > 0)
      link.trunk = machine.findLink(Machine::hostMemory(), MemoryId(m));
    machine.links.push_back(link);
  }
  instance.capacity.push_back(machine.memories.back().capacityBytes);
  REQUIRE(machine.check());
}

/// An encoder and decoder: layer i writes a tensor that layer 2n - i reads, the way a training step does.
void fillStep(Instance &instance, size_t layers) {
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  std::vector<TensorId> values, gradients;
  TensorId weight = addTensor(graph, "weight", kMiB, TensorKind::State);
  for (size_t i = 0; i < layers; ++i) {
    values.push_back(addTensor(graph, concat("value", i), 2 * kMiB));
    addOperator(graph, concat("forward", i), i == 0 ? std::vector{weight} : std::vector{values[i - 1]}, {values[i]});
  }
  TensorId gradient = values.back();
  for (size_t i = layers; i-- > 0;) {
    const TensorId next = addTensor(graph, concat("gradient", i), kMiB);
    std::vector<TensorId> inputs = {values[i]};
    if (gradient != values[i])
      inputs.push_back(gradient);
    addOperator(graph, concat("backward", i), inputs, {next});
    gradient = next;
  }
  const TensorId updated = addTensor(graph, "updated", kMiB, TensorKind::State);
  graph.setUpdates(updated, weight);
  const OperatorId update = addOperator(graph, "update", {weight, gradient}, {updated});
  graph.mutableOp(update).inPlace = {{0, 0}};
  complete(instance);
  instance.capacity[1] = 8 * kMiB;
}

int64_t hostBytes(const Instance &instance, const Plan &plan) {
  return plan.bytesUsed(instance.graph, instance.machine)[0];
}

} // namespace

TEST_CASE("a file changes nothing where the host's memory has room", "[swap]") {
  Instance two, three;
  fillStep(two, 12);
  fillStep(three, 12);
  addFile(three, Shape::Star);
  Expected<Plan> plan = planSwapOffsets(two.problem()), beside = planSwapOffsets(three.problem());
  REQUIRE(plan);
  REQUIRE(beside);
  CHECK(beside->bytesWritten(three.graph, three.machine) == 0);
  CHECK(makespanNs(two, *plan) == makespanNs(three, *beside));
  CHECK(plan->residencies.size() == beside->residencies.size());
}

TEST_CASE("what the host's memory cannot have goes to a file", "[swap]") {
  for (Shape shape : {Shape::Chain, Shape::Star, Shape::Both})
    for (FileDivision division : kDivisions)
      for (int64_t host : {6, 10, 14}) {
        Instance instance;
        fillStep(instance, 12);
        addFile(instance, shape);
        instance.capacity[0] = host * kMiB;
        CAPTURE(int(shape), int(division), host);
        SwapParams params;
        params.division = division;
        Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
        INFO((plan ? "" : plan.error().message));
        REQUIRE(plan);
        CHECK(hostBytes(instance, *plan) <= host * kMiB);
        CHECK(plan->bytesWritten(instance.graph, instance.machine) > 0);
        CHECK(plan->bytesRead(instance.graph, instance.machine) >= 0);
      }
}

TEST_CASE("without the host's memory a star swaps to the file alone", "[swap]") {
  Instance instance;
  fillStep(instance, 12);
  addFile(instance, Shape::Star);
  instance.capacity[0] = 0;
  Expected<Plan> plan = planSwapOffsets(instance.problem());
  REQUIRE(plan);
  CHECK(hostBytes(instance, *plan) == 0);
  CHECK(plan->bytesSwappedOut(instance.graph) == 0);
  // 24 MiB of values and a weight do not fit into 8 MiB.
  CHECK(plan->bytesWritten(instance.graph, instance.machine) >= 16 * kMiB);
}

TEST_CASE("a chain without room for staging says so", "[swap]") {
  Instance instance;
  fillStep(instance, 12);
  addFile(instance, Shape::Chain);
  instance.capacity[0] = kMiB;
  Expected<Plan> plan = planSwapOffsets(instance.problem());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::Infeasible);
  CHECK_THAT(plan.error().message, Contains("in memory 'host' in addition to"));
}

TEST_CASE("more of the host's memory makes no slower plan of a step", "[swap]") {
  int64_t lastNs = std::numeric_limits<int64_t>::max();
  for (int64_t host : {0, 8, 16, 24}) {
    Instance instance;
    fillStep(instance, 12);
    addFile(instance, Shape::Star);
    instance.capacity[0] = host * kMiB;
    int64_t bestNs = std::numeric_limits<int64_t>::max();
    for (FileDivision division : kDivisions) {
      SwapParams params;
      params.division = division;
      Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
      REQUIRE(plan);
      bestNs = std::min(bestNs, makespanNs(instance, *plan));
    }
    CAPTURE(host);
    CHECK(bestNs <= lastNs);
    lastNs = bestNs;
  }
}

TEST_CASE("kept states stay on their device and are updated in place", "[swap]") {
  Instance instance;
  fillStep(instance, 12);
  instance.capacity[1] = 12 * kMiB;
  SwapParams params;
  params.keptStates = 1;
  Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  for (const Command &command : plan->commands) {
    if (command.kind != CommandKind::Copy)
      continue;
    const Tensor &tensor = instance.graph.tensor(plan->residencies[command.reads[0].index()].tensor);
    CHECK(tensor.kind != TensorKind::State);
  }
  params.keptStates = 0;
  Expected<Plan> moved = planSwapOffsets(instance.problem(), params);
  REQUIRE(moved);
  CHECK(moved->bytesSwappedIn(instance.graph) >= plan->bytesSwappedIn(instance.graph) + kMiB);
}

TEST_CASE("random problems with files have valid plans", "[swap]") {
  int files = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    Rng rng(seed);
    Instance instance;
    const int accelerators = 1 + static_cast<int>(rng.below(2));
    fillRandom(instance, rng, 5 + rng.below(40), accelerators);
    addFile(instance, static_cast<Shape>(rng.below(3)));
    const SwapProblem open = instance.problem();
    const std::vector<MinimumBytes> least = minimumBytes(open);
    for (int m = 1; m <= accelerators; ++m)
      instance.capacity[static_cast<size_t>(m)] =
          alignUp(least[static_cast<size_t>(m)].bytes + static_cast<int64_t>(rng.below(4000)));
    Expected<Plan> relaxed = planSwapOffsets(instance.problem());
    INFO("seed " << seed << (relaxed ? "" : relaxed.error().message));
    REQUIRE(relaxed);
    const int64_t wanted = hostBytes(instance, *relaxed);
    for (int64_t host : {wanted * 3 / 4, wanted / 2, int64_t(0)}) {
      instance.capacity[0] = host;
      SwapParams params;
      params.division = static_cast<FileDivision>(rng.below(kNumFileDivisions));
      params.homesOnHost = rng.uniform();
      params.keptStates = rng.uniform();
      // Not every problem fits: inputs, outputs and what the host computes need its memory. What fits is valid.
      for (const Expected<Plan> &plan : {planSwapOffsets(instance.problem(), params), planOdSwap(instance.problem())}) {
        if (!plan) {
          INFO(plan.error().message);
          CHECK(plan.error().code == ErrorCode::Infeasible);
          continue;
        }
        CHECK(hostBytes(instance, *plan) <= host);
        files += plan->bytesWritten(instance.graph, instance.machine) > 0;
      }
    }
  }
  CHECK(files > 30);
}

TEST_CASE("both searches of windows find the same where a file is nearer than the host's memory", "[swap]") {
  int planned = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    Rng rng(seed);
    Instance instance;
    fillRandom(instance, rng, 20 + rng.below(80), 1);
    addFile(instance, Shape::Star);
    for (Link &link : instance.machine.links)
      if (link.b == MemoryId(2u))
        link.bytesPerSec = link.reverseBytesPerSec = link.duplexBytesPerSec =
            16 * instance.machine.links[0].bytesPerSec;
    const int64_t least = minimumBytes(instance.problem())[1].bytes;
    const int64_t peak = livenessPeakBytes(instance.problem())[1];
    instance.capacity[1] = alignUp(least + (peak - least) * static_cast<int64_t>(seed % 4) / 4);
    const Expected<Plan> relaxed = planSwapOffsets(instance.problem());
    REQUIRE(relaxed);
    instance.capacity[0] = hostBytes(instance, *relaxed) * 2 / 3;
    SwapParams all;
    all.searchAllWindows = true;
    const Expected<Plan> plan = planSwapOffsets(instance.problem()), other = planSwapOffsets(instance.problem(), all);
    INFO(seed);
    REQUIRE(plan.has_value() == other.has_value());
    if (!plan)
      continue;
    ++planned;
    CHECK(planToJson(instance.graph, instance.machine, *plan) == planToJson(instance.graph, instance.machine, *other));
  }
  CHECK(planned > 40);
}
