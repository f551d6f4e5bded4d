//===- LeastMemoryTest.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/LeastMemory.h"

#include "RandomGraph.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sluice;
using namespace sluice::test;

namespace {

SearchParams counted(int64_t evaluations, int threads = 1) {
  SearchParams params;
  params.evaluations = evaluations;
  params.timeNs = 0;
  params.threads = threads;
  return params;
}

/// No budget below what was found that was tried was fast enough, and the plan
/// keeps what it says.
void checkResult(const Instance &instance, const LeastMemoryResult &found, double slowdown) {
  const double allowed = slowdown * static_cast<double>(found.search.idealNs);
  REQUIRE(validatePlan(instance.graph, instance.machine, found.search.plan));
  CHECK(static_cast<double>(found.search.makespanNs) <= allowed);
  CHECK(found.search.plan.arenaBytes[1] == found.capacityBytes[1]);
  CHECK(found.capacityBytes[1] >= found.search.minimumBytes[1].bytes);
  CHECK(found.tried.size() <= 8);
  bool seen = false;
  for (const TriedBudget &tried : found.tried) {
    const bool fast = tried.makespanNs && static_cast<double>(*tried.makespanNs) <= allowed;
    CHECK((!fast || tried.capacityBytes[1] >= found.capacityBytes[1]));
    if (tried.makespanNs)
      CHECK(tried.lowerBoundNs <= *tried.makespanNs);
    seen |= tried.makespanNs == found.search.makespanNs;
  }
  CHECK(seen);
}

} // namespace

TEST_CASE("the least memory within a slowdown", "[search][least-memory]") {
  bool saved = false;
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Instance instance = randomInstance(seed, 30);
    const SearchProblem problem = instance.problem(1.5);
    int64_t before = std::numeric_limits<int64_t>::max();
    for (double slowdown : {1.0, 1.5, 1e6}) {
      Expected<LeastMemoryResult> found = findLeastMemory(problem, slowdown, counted(400));
      REQUIRE(found);
      checkResult(instance, *found, slowdown);
      // Each allows all that the ones before did.
      CHECK(found->capacityBytes[1] <= before);
      before = found->capacityBytes[1];
      // Any plan is within the last.
      if (slowdown == 1e6)
        CHECK(found->capacityBytes[1] <= found->search.minimumBytes[1].bytes);
      saved |= slowdown == 1.5 && found->capacityBytes[1] < instance.problem(1).capacityBytes[1];
    }
  }
  CHECK(saved);
}

TEST_CASE("a plan within less memory would be too slow by its bound", "[search][least-memory]") {
  // A chain that reads every parameter once: whatever is not kept comes over the
  // link in every step, a nanosecond a byte, beside 100 ns of work.
  Instance instance;
  instance.machine = starMachine(1);
  Graph &graph = instance.graph;
  graph.name = "chain";
  auto add = [&](std::string name, TensorKind kind, int64_t bytes) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = bytes;
    return graph.addTensor(tensor);
  };
  TensorId value = add("x", TensorKind::Input, 64);
  for (int i = 0; i < 8; ++i) {
    Operator op;
    op.name = concat("op", i);
    op.kind = "test";
    op.inputs = {value, add(concat("w", i), TensorKind::Parameter, 6400)};
    op.outputs = {value = add(concat("y", i), TensorKind::Activation, 64)};
    graph.addOperator(op);
  }
  graph.mutableTensor(value).isOutput = true;
  instance.costs.numDevices = 2;
  instance.costs.operatorNs.assign(16, 100);
  instance.placement.assign(8, DeviceId(1u));
  const SearchProblem problem = instance.problem(1);
  Expected<LeastMemoryResult> found = findLeastMemory(problem, 2.0, counted(400));
  REQUIRE(found);
  checkResult(instance, *found, 2.0);
  // The ideal is 8 x 100 ns and a copy in and out; twice that brings no
  // parameter of 6400 ns, so that all eight must stay.
  CHECK(found->capacityBytes[1] >= 8 * 6400);
  int refuted = 0;
  for (const TriedBudget &tried : found->tried)
    refuted += tried.lowerBoundNs > 2 * found->search.idealNs;
  CHECK(refuted > 0);
}

TEST_CASE("the least memory is the same on any number of threads", "[search][least-memory]") {
  const Instance instance = randomInstance(9, 40);
  const SearchProblem problem = instance.problem(1);
  Expected<LeastMemoryResult> one = findLeastMemory(problem, 1.3, counted(640, 1));
  Expected<LeastMemoryResult> two = findLeastMemory(problem, 1.3, counted(640, 2));
  REQUIRE(one);
  REQUIRE(two);
  CHECK(one->capacityBytes == two->capacityBytes);
  CHECK(one->search.makespanNs == two->search.makespanNs);
  CHECK(one->search.evaluations == two->search.evaluations);
  CHECK(one->search.evaluations <= 640);
}

TEST_CASE("the least memory of several accelerators", "[search][least-memory]") {
  Instance instance = randomInstance(4, 30, 2);
  const SearchProblem problem = instance.problem(1);
  Expected<LeastMemoryResult> found = findLeastMemory(problem, 2.0, counted(640));
  REQUIRE(found);
  checkResult(instance, *found, 2.0);
  CHECK(found->search.plan.arenaBytes[2] == found->capacityBytes[2]);
}

TEST_CASE("what has no least memory is refused", "[search][least-memory]") {
  const Instance instance = randomInstance(2, 20);
  for (double slowdown : {0.99, 0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    CHECK_FALSE(findLeastMemory(instance.problem(1), slowdown, counted(50)));
  // Below the least working set, as the search says it.
  SearchProblem small = instance.problem(0);
  small.capacityBytes[1] = 64;
  Expected<LeastMemoryResult> none = findLeastMemory(small, 2.0, counted(50));
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::Infeasible);
  CHECK(none.error().message.find("needs") != std::string::npos);
  // The limit given is too slow itself.
  Expected<LeastMemoryResult> slow = findLeastMemory(instance.problem(0), 1.0, counted(400));
  REQUIRE_FALSE(slow);
  CHECK(slow.error().code == ErrorCode::Infeasible);
  CHECK(slow.error().message.find("times the ideal") != std::string::npos);
  // Nothing to save on a host alone.
  Instance host = randomInstance(2, 20);
  host.machine = starMachine(0);
  host.machine.devices[0].computes = true;
  host.costs.numDevices = 1;
  host.costs.operatorNs.resize(20);
  host.placement.assign(20, DeviceId(0u));
  Expected<LeastMemoryResult> hostOnly =
      findLeastMemory({&host.graph, &host.machine, &host.costs, {int64_t(1) << 40}, host.placement}, 2.0, counted(50));
  REQUIRE_FALSE(hostOnly);
  CHECK(hostOnly.error().code == ErrorCode::InvalidInput);
}
