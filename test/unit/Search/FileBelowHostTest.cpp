//===- FileBelowHostTest.cpp - A processor that streams from a file -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RandomGraph.h"

#include "sluice/Machine/FileTier.h"
#include "sluice/Plan/PlanJson.h"
#include "sluice/Search/LeastMemory.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Simulator/Simulator.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace sluice;
using namespace sluice::test;
using Catch::Contains;

namespace {

/// A computer whose processor alone computes, with a disk.
Machine plainMachine() {
  Machine machine;
  machine.name = "plain";
  machine.memories.push_back({"host"});
  Device cpu;
  cpu.name = "cpu";
  cpu.memory = Machine::hostMemory();
  machine.devices.push_back(cpu);
  attachDisk(machine, {1e9, 0.5e9, 10'000});
  REQUIRE(machine.check());
  return machine;
}

/// A random graph of tensors of some blocks each, on that computer.
Instance plainInstance(uint64_t seed, size_t operators) {
  Instance instance = randomInstance(seed, operators);
  instance.machine = plainMachine();
  for (size_t t = 0; t < instance.graph.numTensors(); ++t)
    instance.graph.mutableTensor(TensorId(t)).bytes *= 61; // Seldom whole blocks.
  instance.costs = makeCostTable(instance.graph, instance.machine, RooflineCostModel());
  instance.placement.clear();
  return instance;
}

/// Two values that each step updates, one of which another operator reads as well, before a chain of products.
Instance plainStates() {
  Instance instance;
  instance.machine = plainMachine();
  Graph &graph = instance.graph;
  auto add = [&](const char *name, TensorKind kind, int64_t bytes) {
    Tensor tensor;
    tensor.name = name;
    tensor.kind = kind;
    tensor.bytes = bytes;
    return graph.addTensor(tensor);
  };
  auto run = [&](const char *name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    Operator op;
    op.name = name;
    op.kind = "test";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    return graph.addOperator(op);
  };
  const TensorId x = add("x", TensorKind::Input, 5000), cache = add("cache", TensorKind::State, 9000);
  const TensorId next = add("next", TensorKind::Activation, 9000), seen = add("seen", TensorKind::Activation, 30'000);
  graph.setUpdates(next, cache);
  // In the model's order the writer comes first, which a plan must change.
  run("append", {x, cache}, {next});
  run("look", {x, cache}, {seen});
  TensorId value = seen;
  for (const char *name : {"a", "b", "c", "d"}) {
    const TensorId weight = add((std::string("w_") + name).c_str(), TensorKind::Parameter, 100'000);
    const TensorId result = add((std::string("y_") + name).c_str(), TensorKind::Activation, 30'000);
    run(name, {value, weight}, {result});
    value = result;
  }
  graph.mutableTensor(value).isOutput = true;
  REQUIRE(graph.check());
  instance.costs = makeCostTable(graph, instance.machine, RooflineCostModel());
  return instance;
}

SearchProblem limited(const Instance &instance, const std::string &limit) {
  SearchProblem problem{&instance.graph, &instance.machine, &instance.costs, {}, {}};
  for (const Memory &memory : instance.machine.memories)
    problem.capacityBytes.push_back(memory.capacityBytes);
  REQUIRE(applyMemoryOption(problem, limit));
  return problem;
}

/// The plan keeps the limit, streams parameters from the file, and takes the time that is said.
void checkResult(const Instance &instance, const SearchProblem &problem, const SearchResult &result) {
  Machine within = instance.machine;
  within.memories[0].capacityBytes = problem.capacityBytes[0];
  Status valid = validatePlan(instance.graph, within, result.plan);
  INFO((valid ? "" : valid.error().message));
  CHECK(valid);
  CHECK(result.plan.bytesUsed(instance.graph, within)[0] <= problem.capacityBytes[0]);
  CHECK(simulate(instance.graph, within, instance.costs, result.plan).makespanNs == result.makespanNs);
  CHECK(result.lowerBoundNs > 0);
  CHECK(result.lowerBoundNs <= result.makespanNs);
  // The certificate proves the bound on the machine with the file.
  const BoundProblem bounded{instance.graph,        instance.machine,      instance.costs,
                             problem.capacityBytes, result.plan.placement, problem.placement};
  REQUIRE(result.certificate);
  REQUIRE(result.onceCertificate);
  CHECK(provenNs(bounded, *result.certificate).value_or(0) >= result.lowerBoundNs);
  CHECK(provenNs(bounded, *result.onceCertificate).value_or(0) >= result.onceBoundNs);
  for (const Residency &residency : result.plan.residencies) {
    if (residency.segment == Segment::Arena)
      CHECK(residency.offset % kFileBlockBytes == 0);
    else
      CHECK((residency.memory != Machine::hostMemory()) ==
            (instance.graph.tensor(residency.tensor).kind == TensorKind::Parameter));
  }
}

SearchParams quick() {
  SearchParams params;
  params.timeNs = 0;
  params.evaluations = 80;
  return params;
}

} // namespace

TEST_CASE("a processor's plans stream parameters from a file", "[search][file]") {
  for (uint64_t seed = 1; seed <= 12; ++seed)
    for (const char *limit : {"0%", "30%", "host=60%"}) {
      INFO("seed " << seed << ", " << limit);
      const Instance instance = plainInstance(seed, 24);
      const SearchProblem problem = limited(instance, limit);
      Expected<SearchResult> result = solveSearch(problem, quick());
      REQUIRE(result);
      checkResult(instance, problem, *result);
      CHECK(result->makespanNs >= result->idealNs);
      CHECK(result->minimumBytes[0].bytes <= problem.capacityBytes[0]);
    }
}

TEST_CASE("a processor with enough memory reads nothing in a step", "[search][file]") {
  const Instance instance = plainInstance(3, 30);
  const SearchProblem problem = limited(instance, "100%");
  Expected<SearchResult> result = solveSearch(problem, quick());
  REQUIRE(result);
  CHECK(validatePlan(instance.graph, instance.machine, result->plan));
  CHECK(result->plan.bytesCopied(instance.graph) == 0);
  CHECK(result->plan.bytesUsed(instance.graph, instance.machine)[0] <= problem.capacityBytes[0]);
  CHECK(result->makespanNs == result->idealNs);
  CHECK(result->plan.arenaBytes.size() == 2);
}

TEST_CASE("a processor with too little memory names the operator and the bytes", "[search][file]") {
  const Instance instance = plainInstance(5, 20);
  SearchProblem problem = limited(instance, "0%");
  problem.capacityBytes[0] -= kFileBlockBytes;
  Expected<SearchResult> result = solveSearch(problem, quick());
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::Infeasible);
  CHECK_THAT(result.error().message, Contains("memory 'host'") && Contains("operator 'op"));
  problem.capacityBytes[0] = 1;
  result = solveSearch(problem, quick());
  REQUIRE_FALSE(result);
  CHECK_THAT(result.error().message, Contains("inputs, outputs and states need") && Contains("raise --memory host"));
}

TEST_CASE("states and what the caller gives stay in the host's memory", "[search][file]") {
  const Instance instance = plainStates();
  for (const char *limit : {"0%", "40%", "80%"}) {
    INFO(limit);
    const SearchProblem problem = limited(instance, limit);
    Expected<SearchResult> result = solveSearch(problem, quick());
    REQUIRE(result);
    checkResult(instance, problem, *result);
    // Homes: x, the cache with its new value, and the output.
    int64_t homes = 0;
    for (const Residency &residency : result->plan.residencies)
      if (residency.segment == Segment::Home && residency.memory == Machine::hostMemory())
        homes += residency.bytes;
    CHECK(homes == 5000 + 2 * 9000 + 30'000);
  }
}

/// A valid plan within a limit, which `within` gets, in which a tensor is nowhere but at its home in the host's memory.
static Plan planWithHome(const Instance &instance, TensorId tensor, const char *limit, Machine &within) {
  const SearchProblem problem = limited(instance, limit);
  Expected<SearchResult> result = solveSearch(problem, quick());
  REQUIRE(result);
  within.memories[0].capacityBytes = problem.capacityBytes[0];
  CHECK(validatePlan(instance.graph, within, result->plan));
  int homes = 0;
  for (const Residency &residency : result->plan.residencies)
    if (residency.tensor == tensor) {
      CHECK(residency.segment == Segment::Home);
      CHECK(residency.memory == Machine::hostMemory());
      ++homes;
    }
  CHECK(homes == 1);
  return result->plan;
}

TEST_CASE("a table of which few rows are looked up stays where the file is mapped", "[search][file]") {
  Instance instance = plainStates();
  Graph &graph = instance.graph;
  const TensorId table(4u);
  REQUIRE(graph.tensor(table).name == "w_a");
  auto needs = [&] { return *memoryNeeds(limited(instance, "100%"), Machine::hostMemory()); };
  const MemoryNeeds before = needs();
  graph.mutableTensor(table).touchedBytes = 8192;
  REQUIRE(graph.check());
  CHECK(needs().peakBytes == before.peakBytes - 102'400 + 8192);
  Machine within = instance.machine;
  const Plan plan = planWithHome(instance, table, "20%", within);
  // Without these rows' number, all of the table counts.
  graph.mutableTensor(table).touchedBytes = 0;
  CHECK_FALSE(validatePlan(graph, within, plan));
  // Many rows are as good as all.
  graph.mutableTensor(table).touchedBytes = 90'000;
  CHECK(needs().peakBytes == before.peakBytes);
}

TEST_CASE("weights of experts stay in the file, and count with their share of the slots", "[search][file]") {
  Instance instance = plainStates();
  Graph &graph = instance.graph;
  const TensorId weight(4u);
  auto needs = [&] { return *memoryNeeds(limited(instance, "100%"), Machine::hostMemory()); };
  const MemoryNeeds before = needs();
  // More than the quarter up to which rows are looked up.
  graph.mutableTensor(weight).touchedBytes = 70'000;
  graph.mutableTensor(weight).isPooled = true;
  REQUIRE(graph.check());
  CHECK(needs().peakBytes == before.peakBytes - 102'400 + 70'000);
  for (const char *limit : {"20%", "100%"}) {
    Machine within = instance.machine;
    const Plan plan = planWithHome(instance, weight, limit, within);
    // The slots are a part of the limit.
    within.memories[0].capacityBytes = plan.bytesUsed(graph, instance.machine)[0] - 1;
    CHECK_FALSE(validatePlan(graph, within, plan));
  }
}

TEST_CASE("a processor's plan is the same on any number of threads", "[search][file]") {
  const Instance instance = plainInstance(7, 24);
  const SearchProblem problem = limited(instance, "40%");
  SearchParams params = quick();
  Expected<SearchResult> one = solveSearch(problem, params);
  params.threads = 4;
  Expected<SearchResult> four = solveSearch(problem, params);
  REQUIRE((one && four));
  CHECK(planToJson(instance.graph, instance.machine, one->plan) ==
        planToJson(instance.graph, instance.machine, four->plan));
}

TEST_CASE("no search computes outputs again on a processor with a file", "[search][file]") {
  // Layers whose operators write an activation for the way back, and an output, which must not be written twice.
  constexpr int kLayers = 16;
  Instance instance;
  instance.machine = plainMachine();
  Graph &graph = instance.graph;
  auto run = [&](std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs, int64_t ns) {
    Operator op;
    op.name = std::move(name);
    op.kind = "test";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    graph.addOperator(op);
    instance.costs.operatorNs.push_back(ns);
    return graph.operators().back().outputs.front();
  };
  std::vector<TensorId> values = {addTensor(graph, TensorKind::Input, 4096)};
  for (int layer = 0; layer < kLayers; ++layer) {
    const TensorId output = addTensor(graph, TensorKind::Activation, 64);
    graph.mutableTensor(output).isOutput = true;
    values.push_back(run(concat("f", layer), {values.back(), addTensor(graph, TensorKind::Parameter, 65'536)},
                         {addTensor(graph, TensorKind::Activation, 2 << 20), output}, 200'000));
  }
  TensorId last = run("loss", {values.back()}, {addTensor(graph, TensorKind::Activation, 4096)}, 100'000);
  for (int layer = kLayers; layer-- > 0;)
    last = run(concat("b", layer), {last, values[static_cast<size_t>(layer) + 1]},
               {addTensor(graph, TensorKind::Activation, 4096)}, 400'000);
  graph.mutableTensor(last).isOutput = true;
  REQUIRE(graph.check());
  instance.costs.numDevices = 1;
  for (const char *solver : {"default", "by-period", "no-recompute"}) {
    INFO(solver);
    const SearchProblem problem = limited(instance, "30%");
    SearchParams params;
    params.timeNs = 0;
    params.evaluations = 60;
    params.solver = solver;
    const Expected<SearchResult> result = solveSearch(problem, params);
    INFO((result ? "" : result.error().message));
    REQUIRE(result);
    checkResult(instance, problem, *result);
  }
}

TEST_CASE("the least memory of a processor that may take longer", "[search][file]") {
  const Instance instance = plainInstance(9, 24);
  const SearchProblem problem = limited(instance, "100%");
  SearchParams params = quick();
  params.evaluations = 400;
  Expected<LeastMemoryResult> least = findLeastMemory(problem, 3.0, params);
  REQUIRE(least);
  CHECK(least->capacityBytes[0] < problem.capacityBytes[0]);
  CHECK(static_cast<double>(least->search.makespanNs) <= 3.0 * static_cast<double>(least->search.idealNs));
}

TEST_CASE("a search goes on from a plan that streams", "[search][file]") {
  const Instance instance = plainInstance(11, 24);
  const SearchProblem problem = limited(instance, "30%");
  SearchParams params = quick();
  Expected<SearchResult> first = solveSearch(problem, params);
  REQUIRE(first);
  params.start = &first->plan;
  params.solver = "odswap";
  Expected<SearchResult> second = solveSearch(problem, params);
  REQUIRE(second);
  CHECK(second->makespanNs <= first->makespanNs);
}
