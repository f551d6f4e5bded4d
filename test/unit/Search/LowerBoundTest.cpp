//===- LowerBoundTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/LowerBound.h"

#include "RandomGraph.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

namespace {

/// input -> a -> b -> ... a chain of operators, each with a parameter.
Instance chain(size_t operators, int64_t activationBytes, int64_t parameterBytes, int64_t timeNs) {
  Instance instance;
  instance.machine = starMachine(1);
  Graph &graph = instance.graph;
  graph.name = "chain";
  auto add = [&](TensorKind kind, int64_t bytes) { return addTensor(graph, kind, bytes); };
  TensorId value = add(TensorKind::Input, activationBytes);
  for (size_t i = 0; i < operators; ++i) {
    Operator op;
    op.name = concat("op", i);
    op.inputs = {value, add(TensorKind::Parameter, parameterBytes)};
    value = add(TensorKind::Activation, activationBytes);
    op.outputs = {value};
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), {1, timeNs});
  }
  graph.mutableTensor(value).isOutput = true;
  instance.costs.numDevices = 2;
  instance.placement.assign(operators, DeviceId(1u));
  return instance;
}

LowerBounds bounds(const Instance &instance, int64_t capacity) {
  std::vector<int64_t> capacities{std::numeric_limits<int64_t>::max(), capacity};
  return planLowerBounds(instance.graph, instance.machine, instance.costs, capacities, instance.placement);
}

} // namespace

TEST_CASE("the bounds of a chain by hand", "[search]") {
  Instance instance = chain(5, 640, 6400, 100);
  LowerBounds roomy = bounds(instance, 1 << 20);
  // In (640 bytes, 10 ns latency), five operators, out.
  CHECK(roomy.path.ns == 650 + 500 + 650);
  CHECK(roomy.work.ns == roomy.path.ns);
  // 640 bytes in and out share 1.6 bytes a nanosecond; a part in 10^6 is given up.
  CHECK(roomy.onceCuts.ns == 799);
  // Room for two parameters beside the two activations: three come each step.
  LowerBounds tight = bounds(instance, 2 * 6400 + 1280);
  // As each parameter's turn takes the room of one, only one of them stays through all turns, and four come; part of a
  // fifth is lost to the relaxation.
  CHECK(tight.onceCuts.ns > 3.5 * 6400 + 640);
  CHECK(tight.onceCuts.ns <= 4 * 6400 + 640);
  CHECK(tight.path.ns == roomy.path.ns);
  CHECK(tight.once().ns == tight.onceCuts.ns);
}

TEST_CASE("what must survive a moment of the step counts against the memory", "[search]") {
  // A chain whose last operator also reads the first's value: training in small.
  Instance instance = chain(6, 640, 64, 10);
  TensorId first = instance.graph.op(OperatorId(0u)).outputs[0];
  Graph graph;
  for (const Tensor &tensor : instance.graph.tensors()) {
    Tensor copy = tensor;
    copy.producer = OperatorId();
    copy.consumers.clear();
    graph.addTensor(copy);
  }
  for (Operator op : instance.graph.operators()) {
    if (op.name == "op5")
      op.inputs.push_back(first);
    graph.addOperator(op);
  }
  instance.graph = graph;
  // Three values of 640 bytes and six parameters: at 1600 bytes, 320 + 384 must
  // come beside the input.
  CHECK(bounds(instance, 1600).onceCuts.ns >= 640 + 320 + 384 - 1);
}

TEST_CASE("what must leave before a moment comes back after it", "[search]") {
  Instance instance = forwardAndBack();
  // When b4 starts it holds 704 bytes, and 1408 - 704 remain for 1920: so
  // 1216 bytes have left by then, at a byte a nanosecond, and come back later. A
  // part in 10^9 of each is given up.
  LowerBounds bound = bounds(instance, 1408);
  CHECK(bound.onceCuts.ns >= 2 * (1216 - 1));
  CHECK(bound.once().ns == bound.onceCuts.ns);
  // Running forward operators again copies nothing, but takes as long as they do.
  CHECK(bound.repeatCuts.ns >= 800);
  CHECK(bound.repeatCuts.ns < bound.onceCuts.ns);
  CHECK(bounds(instance, 1 << 20).onceCuts.ns >= 799);

  std::vector<int64_t> capacities{std::numeric_limits<int64_t>::max(), 1408};
  SearchProblem problem{&instance.graph, &instance.machine, &instance.costs, capacities, instance.placement};
  SearchParams params;
  params.timeNs = 0;
  params.evaluations = 100;
  Expected<SearchResult> result = solveSearch(problem, params);
  REQUIRE(result);
  CHECK(result->makespanNs >= bound.always().ns);
  CHECK(result->makespanNs <= 2 * bound.once().ns);

  // With 640 bytes of the host's memory, the two memories have 2048 bytes for the 1920 and the operator's 704: 576 are
  // in the file, to which a byte takes 4 nanoseconds, and back 2.
  addFile(instance.machine);
  capacities = {640, 1408, std::numeric_limits<int64_t>::max()};
  bound = planLowerBounds(instance.graph, instance.machine, instance.costs, capacities, instance.placement);
  CHECK(bound.onceCuts.ns >= (4 * 576 - 1) + (2 * 576 - 1));
  CHECK(bound.repeatCuts.ns < bound.onceCuts.ns);
  problem.capacityBytes = capacities;
  result = solveSearch(problem, params);
  REQUIRE(result);
  CHECK(result->makespanNs >= bound.always().ns);
  params.solver = "no-recompute";
  result = solveSearch(problem, params);
  REQUIRE(result);
  CHECK(result->plan.bytesWritten(instance.graph, instance.machine) >= 576);
  CHECK(result->makespanNs >= bound.once().ns);
}

TEST_CASE("states that no memory has room for cross the file's link each step", "[search]") {
  Instance instance;
  instance.machine = starMachine(1);
  addFile(instance.machine);
  Graph &graph = instance.graph;
  for (int i = 0; i < 3; ++i) {
    Tensor state, next;
    state.name = concat("state", i);
    next.name = concat("next", i);
    state.kind = next.kind = TensorKind::State;
    state.bytes = next.bytes = 640;
    Operator op;
    op.name = concat("update", i);
    op.inputs = {graph.addTensor(state)};
    op.outputs = {graph.addTensor(next)};
    op.inPlace = {{0, 0}};
    graph.setUpdates(op.outputs[0], op.inputs[0]);
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), {1, 100});
  }
  instance.costs.numDevices = 2;
  instance.placement.assign(3, DeviceId(1u));
  // Room for two of three states: one is read and written in each step, whatever is computed again.
  std::vector<int64_t> capacities{0, 1280, std::numeric_limits<int64_t>::max()};
  LowerBounds bound = planLowerBounds(graph, instance.machine, instance.costs, capacities, instance.placement);
  CHECK(bound.onceCuts.ns >= 4 * 640 - 1);
  CHECK(bound.repeatCuts.ns >= 4 * 640 - 1);
  SearchParams params;
  params.timeNs = 0;
  params.evaluations = 100;
  SearchProblem problem{&graph, &instance.machine, &instance.costs, capacities, instance.placement};
  Expected<SearchResult> result = solveSearch(problem, params);
  REQUIRE(result);
  CHECK(result->makespanNs >= bound.always().ns);
}

TEST_CASE("parameters come back with recomputation too", "[search]") {
  Instance instance = chain(5, 640, 6400, 100);
  LowerBounds tight = bounds(instance, 2 * 6400 + 1280);
  // Of five parameters two are there, whatever is computed again.
  CHECK(tight.repeatCuts.ns >= 2 * 6400);
  CHECK(tight.repeatCuts.ns <= tight.once().ns);
}

TEST_CASE("every plan with a file keeps above the bound", "[search]") {
  int plans = 0;
  for (uint64_t seed = 0; seed < 15; ++seed) {
    Instance instance = randomInstance(seed, 14);
    addFile(instance.machine);
    for (double share : {0.0, 0.3})
      for (int64_t host : {1024, 2048, 4096}) {
        SearchProblem problem = instance.problem(share);
        problem.capacityBytes[0] = host;
        SearchParams params;
        params.timeNs = 0;
        params.evaluations = 60;
        Expected<SearchResult> result = solveSearch(problem, params);
        if (!result) { // Inputs and outputs have their homes on the host.
          CHECK(result.error().code == ErrorCode::Infeasible);
          continue;
        }
        ++plans;
        CHECK(result->plan.bytesUsed(instance.graph, instance.machine)[0] <= host);
        CHECK(result->makespanNs >= result->lowerBoundNs);
        for (const Baseline &baseline : result->baselines)
          if (baseline.makespanNs && baseline.name != "ideal")
            CHECK(*baseline.makespanNs >=
                  (baseline.name.starts_with("recompute/") ? result->lowerBoundNs : result->onceBoundNs));
      }
  }
  CHECK(plans > 30);
}

TEST_CASE("every plan keeps above the bound", "[search]") {
  for (uint64_t seed = 0; seed < 15; ++seed)
    for (double share : {0.0, 0.3, 0.7, 2.0}) {
      Instance instance = randomInstance(seed, 12);
      SearchProblem problem = instance.problem(share);
      LowerBounds bound =
          planLowerBounds(instance.graph, instance.machine, instance.costs, problem.capacityBytes, instance.placement);
      for (const char *solver : {"no-recompute", "default"}) {
        SearchParams params;
        params.solver = solver;
        params.timeNs = 0;
        params.evaluations = 60;
        Expected<SearchResult> result = solveSearch(problem, params);
        REQUIRE(result);
        CHECK(result->onceBoundNs == bound.once().ns);
        CHECK(result->lowerBoundNs == bound.always().ns);
        for (const Baseline &baseline : result->baselines)
          if (baseline.makespanNs && baseline.name != "ideal")
            CHECK(*baseline.makespanNs >=
                  (baseline.name.starts_with("recompute/") ? bound.always().ns : bound.once().ns));
        CHECK(result->makespanNs >= (solver == std::string("default") ? bound.always().ns : bound.once().ns));
      }
    }
}
