//===- PoolPlannerTest.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"
#include "sluice/Simulator/Simulator.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {
/// SwapAdvisor's figure 1: a short branch, a long one, and their concatenation.
void fillFigure1(Instance &instance) {
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  std::vector<TensorId> w = {TensorId()}, a;
  for (int i = 1; i <= 4; ++i)
    w.push_back(addTensor(graph, "W" + std::to_string(i), kMiB, TensorKind::Parameter));
  for (int i = 0; i <= 5; ++i)
    a.push_back(addTensor(graph, "A" + std::to_string(i), i == 2 || i == 5 ? 2 * kMiB : kMiB));
  addOperator(graph, "Data", {}, {a[0]});
  addOperator(graph, "Conv1", {a[0], w[1]}, {a[1]});
  addOperator(graph, "Conv2", {a[0], w[2]}, {a[2]});
  addOperator(graph, "Conv3", {a[2], w[3]}, {a[3]});
  addOperator(graph, "Conv4", {a[3], w[4]}, {a[4]});
  addOperator(graph, "Concat", {a[1], a[4]}, {a[5]});
  // A backward pass not drawn needs every activation: evicted, it is copied out.
  for (TensorId t : a)
    graph.mutableTensor(t).isOutput = true;
  complete(instance);
  instance.capacity[1] = 10 * kMiB;
}

std::vector<OperatorId> orderOf(std::initializer_list<int> ids) {
  std::vector<OperatorId> order;
  for (int id : ids)
    order.push_back(OperatorId(id));
  return order;
}
const std::vector<OperatorId> kLeftFirst = orderOf({0, 1, 2, 3, 4, 5}), kRightFirst = orderOf({0, 2, 3, 4, 1, 5});
const PoolLayout kCoarse = {{}, {{2 * kMiB, 5}}}, kFine = {{}, {{kMiB, 8}, {2 * kMiB, 1}}};
/// One step that starts with nothing in place, as the figure's.
const PoolParams kOneStep = {0, false, 1, true};
} // namespace

/// When the figure's last operator is done; what is copied out later is not drawn.
static double unitsUntilConcat(const Instance &instance, const Plan &plan) {
  Timeline timeline = simulate(instance.graph, instance.machine, instance.costs, plan);
  int64_t end = 0;
  for (size_t i = 0; i < plan.commands.size(); ++i)
    if (plan.commands[i].kind == CommandKind::Launch)
      end = std::max(end, timeline.commands[i].endNs);
  return static_cast<double>(end) / kUnitNs;
}

/// Figure 1's four cases, b to e.
static std::vector<double> figure1(const PoolParams &params) {
  Instance instance;
  fillFigure1(instance);
  std::vector<double> units;
  for (auto [order, pool] : {std::pair(&kLeftFirst, &kCoarse), std::pair(&kRightFirst, &kCoarse),
                             std::pair(&kRightFirst, &kFine), std::pair(&kLeftFirst, &kFine)}) {
    instance.order = *order;
    Expected<Plan> plan = planSwapPool(instance.problem(), *pool, params);
    REQUIRE(plan);
    units.push_back(unitsUntilConcat(instance, *plan));
  }
  return units;
}

TEST_CASE("SwapAdvisor's figure 1 takes 7, 7, 6 and 7 units", "[swap]") {
  CHECK(figure1(kOneStep) == std::vector<double>{7, 7, 6, 7});
}

TEST_CASE("weighing copies against waiting, figure 1 takes the best possible 6, 7, 6 and 7", "[swap]") {
  PoolParams params = kOneStep;
  params.costAware = true;
  CHECK(figure1(params) == std::vector<double>{6, 7, 6, 7});
}

TEST_CASE("free addresses need no pool to finish figure 1 in 6 units", "[swap]") {
  Instance instance;
  fillFigure1(instance);
  for (const std::vector<OperatorId> &order : {kLeftFirst, kRightFirst}) {
    instance.order = order;
    SwapParams params;
    params.passes = 1;
    Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
    REQUIRE(plan);
    CHECK(unitsUntilConcat(instance, *plan) == 6);
  }
}

TEST_CASE("evictions have SwapAdvisor's control edges", "[swap]") {
  // Section 4.2: with four units of memory, op1 -> out(W1) -> in(W3) -> op3 and
  // op2 -> out(W2) -> op3, which writes what takes W2's place.
  Instance instance;
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  TensorId w3 = addTensor(graph, "W3", kMiB, TensorKind::Parameter);
  std::vector<TensorId> w, p;
  for (int i = 1; i <= 2; ++i) {
    w.push_back(addTensor(graph, "W" + std::to_string(i), kMiB));
    p.push_back(addTensor(graph, "P" + std::to_string(i), kMiB));
    addOperator(graph, "op" + std::to_string(i), {}, {w.back(), p.back()});
  }
  TensorId y = addTensor(graph, "Y", kMiB), z = addTensor(graph, "Z", kMiB);
  addOperator(graph, "op3", {p[0], p[1], w3}, {y});
  addOperator(graph, "end", {w[0], w[1], y}, {z});
  complete(instance);
  instance.capacity[1] = 4 * kMiB;
  Expected<Plan> plan = planSwapPool(instance.problem(), {{}, {{kMiB, 4}}}, kOneStep);
  REQUIRE(plan);
  auto launch = [&](uint32_t op) {
    for (uint32_t i = 0; i < plan->commands.size(); ++i)
      if (plan->commands[i].kind == CommandKind::Launch && plan->commands[i].op.value == op)
        return CommandId(i);
    return CommandId();
  };
  auto firstCopy = [&](TensorId t) {
    for (uint32_t i = 0; i < plan->commands.size(); ++i)
      if (plan->commands[i].kind == CommandKind::Copy &&
          plan->residencies[plan->commands[i].reads[0].index()].tensor == t)
        return CommandId(i);
    return CommandId();
  };
  auto waits = [&](CommandId later, CommandId earlier) {
    REQUIRE(later.valid());
    const std::vector<CommandId> &list = plan->commands[later.index()].waits;
    return std::find(list.begin(), list.end(), earlier) != list.end();
  };
  CHECK(waits(firstCopy(w[0]), launch(0)));
  CHECK(waits(firstCopy(w3), firstCopy(w[0])));
  CHECK(waits(launch(2), firstCopy(w3)));
  CHECK(waits(firstCopy(w[1]), launch(1)));
  CHECK(waits(launch(2), firstCopy(w[1])));
}

TEST_CASE("pools without room for an operator are refused", "[swap]") {
  Instance instance;
  fillFigure1(instance);
  PoolLayout small = {{}, {{kMiB, 10}}};
  Expected<Plan> plan = planSwapPool(instance.problem(), small);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().code == ErrorCode::Infeasible);
  CHECK(plan.error().message.find("no size class holds 2.00 MiB") != std::string::npos);
  PoolLayout large = {{}, {{2 * kMiB, 6}}};
  plan = planSwapPool(instance.problem(), large);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.find("2097152 bytes more than") != std::string::npos);
  for (const PoolLayout &bad : {PoolLayout{}, PoolLayout{{}, {{0, 1}}}, PoolLayout{{}, {{2, 1}, {1, 1}}},
                                PoolLayout{{}, {{1, -1}}}, PoolLayout{{}, {{int64_t(1) << 62, int64_t(1) << 62}}}})
    CHECK_FALSE(planSwapPool(instance.problem(), bad));
}

TEST_CASE("a pool of the minimum objects is feasible, one less is not", "[swap]") {
  Rng rng(21);
  int tried = 0;
  for (int round = 0; round < 60; ++round) {
    Instance instance;
    fillRandom(instance, rng, 3 + rng.below(40), 1);
    std::vector<int64_t> sizes = tensorSizes(instance.problem(), MemoryId(1));
    if (sizes.empty())
      continue;
    // Every other size is a class of its own.
    std::vector<int64_t> objectBytes;
    for (size_t i = 0; i < sizes.size(); ++i)
      if (i % 2 == 1 || i + 1 == sizes.size())
        objectBytes.push_back(sizes[i]);
    std::vector<int64_t> counts = minimumObjects(instance.problem(), MemoryId(1), objectBytes);
    PoolLayout pool(2);
    for (size_t c = 0; c < objectBytes.size(); ++c)
      pool[1].push_back({objectBytes[c], counts[c]});
    for (int64_t threshold : {0, 3000})
      for (bool cyclic : {false, true}) {
        Expected<Plan> plan = planSwapPool(instance.problem(), pool, {threshold, cyclic, 2});
        if (!plan)
          FAIL(plan.error().message);
        ++tried;
      }
    for (ObjectClass &c : pool[1])
      if (c.count > 0) {
        --c.count;
        Expected<Plan> plan = planSwapPool(instance.problem(), pool);
        REQUIRE_FALSE(plan);
        CHECK(plan.error().code == ErrorCode::Infeasible);
        ++c.count;
      }
  }
  CHECK(tried > 100);
}

TEST_CASE("a second pass keeps parameters between steps", "[swap]") {
  Instance instance;
  fillFigure1(instance);
  instance.order = kRightFirst;
  instance.capacity[1] = 32 * kMiB;
  PoolLayout ample = {{}, {{kMiB, 8}, {2 * kMiB, 4}}};
  Expected<Plan> cold = planSwapPool(instance.problem(), ample, kOneStep);
  Expected<Plan> warm = planSwapPool(instance.problem(), ample, {0, false, 2});
  REQUIRE(cold);
  REQUIRE(warm);
  CHECK(parameterCopies(instance, *cold) == 4);
  CHECK(parameterCopies(instance, *warm) == 0);
}
