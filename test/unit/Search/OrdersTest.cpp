//===- OrdersTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Orders.h"

#include "RandomGraph.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

static Schedule schedule(std::initializer_list<uint32_t> ids) {
  Schedule order;
  for (uint32_t id : ids)
    order.push_back(OperatorId(id));
  return order;
}

/// Two branches from one value, of given widths in bytes, joined at the end:
/// operators 0 (head), 1 3 (left), 2 4 (right), 5 (join).
static Graph diamond(int64_t leftBytes, int64_t rightBytes) {
  Graph graph;
  auto add = [&](std::vector<TensorId> inputs, int64_t bytes) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    tensor.bytes = bytes;
    TensorId output = graph.addTensor(tensor);
    Operator op;
    op.name = concat("op", graph.numOperators());
    op.inputs = std::move(inputs);
    op.outputs = {output};
    graph.addOperator(op);
    return output;
  };
  TensorId head = add({}, 100);
  TensorId left = add({head}, leftBytes), right = add({head}, rightBytes);
  left = add({left}, 1);
  right = add({right}, 1);
  add({left, right}, 1);
  return graph;
}

TEST_CASE("the four orders of a diamond", "[search]") {
  Graph graph = diamond(50, 10);
  CHECK(modelOrder(graph) == schedule({0, 1, 2, 3, 4, 5}));
  CHECK(depthFirstOrder(graph) == schedule({0, 1, 3, 2, 4, 5}));
  // The narrow branch first; the wide one's start then frees the head.
  CHECK(memoryAwareOrder(graph) == schedule({0, 2, 1, 3, 4, 5}));
  CostTable costs{1, {1, 1, 1, 1, 9, 1}};
  std::vector<DeviceId> placement(6, DeviceId(0u));
  CHECK(criticalPathOrder(graph, costs, placement) == schedule({0, 2, 4, 1, 3, 5}));
}

TEST_CASE("what communicates is issued early and waited for late", "[search]") {
  // Per layer: its gradient, the sum over ranks, the update; the next layer's gradient needs this one's.
  Graph graph;
  CostTable costs{1, {}};
  auto add = [&](std::vector<TensorId> inputs, int64_t timeNs, bool communicates) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    TensorId output = graph.addTensor(tensor);
    Operator op;
    op.name = concat("op", graph.numOperators());
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.communicates = communicates;
    graph.addOperator(op);
    costs.operatorNs.push_back(timeNs);
    return output;
  };
  std::vector<TensorId> gradient;
  for (int layer = 0; layer < 3; ++layer) {
    gradient = {add(gradient, 100, false)};
    add({add(gradient, 150, true)}, 10, false);
  }
  const std::vector<DeviceId> placement(graph.numOperators(), DeviceId(0u));
  CHECK(modelOrder(graph) == schedule({0, 1, 2, 3, 4, 5, 6, 7, 8}));
  // Sums end at 250, 400 and 550: the first update finds the third gradient begun.
  CHECK(overlappingOrder(graph, costs, placement, modelOrder(graph)) == schedule({0, 1, 3, 6, 4, 2, 7, 5, 8}));
}

TEST_CASE("schedule crossover of SwapAdvisor's figure 4", "[search]") {
  // Operators 1 to 5 of the paper; child 1 starts with SCH2's first three.
  CHECK(crossoverOrders(schedule({1, 2, 3, 0, 4}), schedule({0, 1, 2, 3, 4}), 3) == schedule({1, 2, 3, 0, 4}));
  CHECK(crossoverOrders(schedule({0, 1, 2, 3, 4}), schedule({1, 2, 3, 0, 4}), 1) == schedule({0, 1, 2, 3, 4}));
}

TEST_CASE("every order and every child is topological", "[search]") {
  Rng rng(9);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Instance instance = randomInstance(seed, 40);
    const Graph &graph = instance.graph;
    std::vector<Schedule> orders{modelOrder(graph), depthFirstOrder(graph), memoryAwareOrder(graph),
                                 criticalPathOrder(graph, instance.costs, instance.placement)};
    for (uint32_t i = 0; i < graph.numOperators(); ++i)
      instance.graph.mutableOp(OperatorId(i)).communicates = rng.chance(0.3);
    orders.push_back(overlappingOrder(graph, instance.costs, instance.placement, orders[2]));
    for (int round = 0; round < 50; ++round) {
      const Schedule &a = orders[rng.below(orders.size())], &b = orders[rng.below(orders.size())];
      Schedule child = crossoverOrders(a, b, rng.below(41));
      orders.push_back(round % 2 ? moveOne(graph, child, rng) : mutateOrder(graph, child, 0.1, rng));
    }
    for (const Schedule &order : orders)
      REQUIRE(graph.isTopological(order));
  }
}

TEST_CASE("mutation without chance keeps the order; with it, changes it", "[search]") {
  Instance instance = randomInstance(4, 60);
  Rng rng(1);
  Schedule order = depthFirstOrder(instance.graph);
  CHECK(mutateOrder(instance.graph, order, 0, rng) == order);
  CHECK(mutateOrder(instance.graph, order, 0.5, rng) != order);
  bool moved = false;
  for (int i = 0; i < 20; ++i)
    moved |= moveOne(instance.graph, order, rng) != order;
  CHECK(moved);
}

TEST_CASE("the gradient of a state is summed and applied in one go", "[search]") {
  // A network of four steps that share a weight; its backward pass adds to the gradient in each step.
  Graph graph;
  auto tensor = [&](const char *name, size_t i, TensorKind kind = TensorKind::Activation) {
    Tensor t;
    t.name = concat(name, i);
    t.kind = kind;
    t.bytes = 8;
    return graph.addTensor(t);
  };
  auto add = [&](const char *name, size_t i, std::vector<TensorId> inputs, TensorId output) {
    Operator op;
    op.name = concat(name, i);
    op.inputs = std::move(inputs);
    op.outputs = {output};
    return graph.addOperator(op);
  };
  const TensorId weight = tensor("weight", 0, TensorKind::State), momentum = tensor("momentum", 0, TensorKind::State);
  std::vector<TensorId> values = {tensor("value", 0, TensorKind::Input)};
  constexpr size_t kSteps = 4;
  for (size_t i = 0; i < kSteps; ++i) {
    values.push_back(tensor("value", i + 1));
    add("forward", i, {values[i], weight}, values[i + 1]);
  }
  TensorId back = values.back(), sum;
  std::vector<OperatorId> tail;
  for (size_t i = kSteps; i-- > 0;) {
    const TensorId next = tensor("back", i), more = tensor("sum", i);
    add("backward", i, {back, weight, values[i]}, next);
    std::vector<TensorId> inputs = {next, values[i]};
    if (sum.valid())
      inputs.push_back(sum);
    tail.push_back(add("add", i, inputs, more));
    back = next;
    sum = more;
  }
  graph.mutableTensor(back).isOutput = true;
  const TensorId newMomentum = tensor("momentum", 1), newWeight = tensor("weight", 1);
  graph.setUpdates(newMomentum, momentum);
  graph.setUpdates(newWeight, weight);
  tail.push_back(add("momentum-update", 0, {momentum, sum}, newMomentum));
  tail.push_back(add("weight-update", 0, {weight, newMomentum}, newWeight));
  REQUIRE(graph.check());
  const Schedule order = updatesTogetherOrder(graph, modelOrder(graph));
  REQUIRE(graph.isTopological(order));
  CHECK(std::equal(tail.begin(), tail.end(), order.end() - static_cast<ptrdiff_t>(tail.size())));
}

TEST_CASE("updates together is a topological order of any graph", "[search]") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Instance instance = randomInstance(seed, 1 + seed);
    const Graph &graph = instance.graph;
    const Schedule model = modelOrder(graph);
    CHECK(graph.isTopological(updatesTogetherOrder(graph, model)));
    CHECK(graph.isTopological(updatesTogetherOrder(graph, depthFirstOrder(graph))));
  }
}
