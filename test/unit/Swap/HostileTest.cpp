//===- HostileTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

static std::string refusal(const SwapProblem &problem) {
  Status status = check(problem);
  for (Expected<Plan> plan : {planSwapOffsets(problem), planOdSwap(problem)})
    CHECK(plan.has_value() == status.has_value());
  return status ? std::string() : status.error().message;
}

static bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

TEST_CASE("malformed swap problems are refused by name", "[swap]") {
  Instance instance;
  fillChain(instance, 4, 100, 100);
  CHECK(refusal(instance.problem()).empty());

  auto spoilt = [&](auto spoil) {
    SwapProblem problem = instance.problem();
    spoil(problem);
    return refusal(problem);
  };
  CHECK(contains(spoilt([](SwapProblem &p) { p.placement.pop_back(); }), "3 devices for 4 operators"));
  for (DeviceId nowhere : {DeviceId(9), DeviceId()})
    CHECK(contains(spoilt([&](SwapProblem &p) { p.placement[2] = nowhere; }), "'layer2' is not placed on a device"));
  CHECK(contains(spoilt([](SwapProblem &p) { std::swap(p.order[0], p.order[1]); }), "not a topological order"));
  CHECK(contains(spoilt([](SwapProblem &p) { p.order.pop_back(); }), "not a topological order"));
  CHECK(contains(spoilt([](SwapProblem &p) { p.order[1] = p.order[0]; }), "not a topological order"));
  CHECK(contains(spoilt([](SwapProblem &p) { p.capacityBytes[1] = -1; }),
                 "capacity of memory 'accel0' is negative, -1 bytes"));
  CHECK(contains(spoilt([](SwapProblem &p) { p.capacityBytes.pop_back(); }), "1 capacities are given for 2 memories"));

  instance.machine.devices[1].computes = false;
  CHECK(contains(refusal(instance.problem()), "does not compute"));
  instance.machine.devices[1].computes = true;
  instance.costs.numDevices = 1;
  CHECK(contains(refusal(instance.problem()), "cost table"));
}

TEST_CASE("outputs that no operator writes are refused", "[swap]") {
  Instance instance;
  fillChain(instance, 4, 100, 100);
  instance.graph.mutableTensor(TensorId(0)).isOutput = true;
  CHECK(contains(refusal(instance.problem()), "'input' is an output that no operator writes"));
}

TEST_CASE("operators that communicate are on one device", "[swap]") {
  Instance instance;
  instance.machine = makeMachine(2);
  const TensorId x = addTensor(instance.graph, "x", 64, TensorKind::Input);
  for (const char *name : {"a", "b", "c"}) {
    const TensorId y = addTensor(instance.graph, name, 64);
    instance.graph.mutableTensor(y).isOutput = true;
    addOperator(instance.graph, name, {x}, {y});
  }
  for (OperatorId op : {OperatorId(0u), OperatorId(2u)})
    instance.graph.mutableOp(op).communicates = true;
  complete(instance);
  CHECK(refusal(instance.problem()).empty());
  instance.placement[1] = DeviceId(1u);
  CHECK(refusal(instance.problem()).empty());
  instance.placement[2] = DeviceId(1u);
  CHECK(refusal(instance.problem()) == "operators 'a' and 'c' communicate and are placed on devices 'accel1' and "
                                       "'accel0', place both on one device");
}

TEST_CASE("sizes that overflow are refused", "[swap]") {
  Instance instance;
  fillChain(instance, 4, int64_t(1) << 61, std::numeric_limits<int64_t>::max());
  CHECK(contains(refusal(instance.problem()), "more than 2^61 bytes"));
}

TEST_CASE("empty graphs and empty tensors have plans", "[swap]") {
  Instance empty;
  empty.machine = makeMachine(1);
  complete(empty);
  for (Expected<Plan> plan :
       {planSwapOffsets(empty.problem()), planOdSwap(empty.problem()), planIdeal(empty.problem())})
    CHECK(plan);

  Instance zero;
  fillChain(zero, 5, 0, 0);
  zero.capacity[1] = 0;
  for (Expected<Plan> plan :
       {planSwapOffsets(zero.problem()), planOdSwap(zero.problem()), planSwapPool(zero.problem(), PoolLayout(2))}) {
    if (!plan)
      FAIL(plan.error().message);
    CHECK(plan->arenaBytes[1] == 0);
  }
}
