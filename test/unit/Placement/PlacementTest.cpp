//===- PlacementTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/Placement.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>

using namespace sluice;

namespace {

struct Instance {
  Graph graph;
  Machine machine;
  CostTable costs;
  PlacementProblem problem() const { return {&graph, &machine, &costs, {}}; }
};

/// A star around the host: device i computes in memory i + 1, and only the host
/// joins them.
Machine star(size_t devices) {
  Machine machine;
  machine.name = "star";
  machine.memories.push_back({"host"});
  for (size_t i = 0; i < devices; ++i) {
    machine.memories.push_back({concat("m", i)});
    Device device;
    device.name = concat("d", i);
    device.kind = DeviceKind::Emulated;
    device.memory = MemoryId(i + 1);
    machine.devices.push_back(device);
    Link link;
    link.a = MemoryId(0);
    link.b = device.memory;
    link.bytesPerSec = link.duplexBytesPerSec = 1e9;
    link.latencyNs = 3;
    machine.links.push_back(link);
  }
  return machine;
}

Instance randomInstance(uint64_t seed, size_t operators, size_t devices) {
  Rng rng(seed);
  Instance instance;
  instance.machine = star(devices);
  Graph &graph = instance.graph;
  graph.name = concat("random", seed);
  auto tensor = [&](TensorKind kind, bool isOutput) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    tensor.kind = kind;
    tensor.bytes = static_cast<int64_t>(rng.below(60));
    tensor.isOutput = isOutput;
    return graph.addTensor(tensor);
  };
  std::vector<TensorId> values{tensor(TensorKind::Input, false)};
  for (size_t i = 0; i < operators; ++i) {
    Operator op;
    op.name = concat("op", i);
    for (int k = 0; k < 2; ++k) {
      size_t window = std::min<size_t>(values.size(), 20);
      TensorId input = values[values.size() - 1 - rng.below(window)];
      if (std::find(op.inputs.begin(), op.inputs.end(), input) == op.inputs.end())
        op.inputs.push_back(input);
    }
    op.outputs.push_back(tensor(TensorKind::Activation, rng.chance(0.1)));
    values.push_back(op.outputs[0]);
    graph.addOperator(op);
  }
  instance.costs.numDevices = devices;
  for (size_t i = 0; i < operators * devices; ++i)
    instance.costs.operatorNs.push_back(1 + static_cast<int64_t>(rng.below(100)));
  return instance;
}

/// Layers of a forward, an update and a backward operator, that all read the
/// layer's weight. The update comes before the last reader in the graph's order.
Instance trainingInstance(uint64_t seed, size_t layers, size_t devices) {
  Rng rng(seed);
  Instance instance;
  instance.machine = star(devices);
  Graph &graph = instance.graph;
  graph.name = concat("training", seed);
  auto tensor = [&](TensorKind kind) {
    Tensor tensor;
    tensor.name = concat("t", graph.numTensors());
    tensor.kind = kind;
    tensor.bytes = static_cast<int64_t>(rng.below(60));
    return graph.addTensor(tensor);
  };
  auto op = [&](std::vector<TensorId> inputs) {
    Operator op;
    op.name = concat("op", graph.numOperators());
    op.inputs = std::move(inputs);
    op.outputs = {tensor(TensorKind::Activation)};
    TensorId output = op.outputs.front();
    graph.addOperator(op);
    return output;
  };
  std::vector<TensorId> values{tensor(TensorKind::Input)}, weights;
  for (size_t layer = 0; layer < layers; ++layer) {
    weights.push_back(tensor(TensorKind::State));
    values.push_back(op({values.back(), weights.back()}));
  }
  TensorId gradient = values.back();
  for (size_t layer = layers; layer-- > 0;) {
    TensorId weight = weights[layer], updated = op({gradient, values[layer], weight});
    graph.mutableTensor(updated).bytes = graph.tensor(weight).bytes;
    graph.setUpdates(updated, weight);
    gradient = op({gradient, weight});
  }
  instance.costs.numDevices = devices;
  for (size_t i = 0; i < graph.numOperators() * devices; ++i)
    instance.costs.operatorNs.push_back(1 + static_cast<int64_t>(rng.below(100)));
  return instance;
}

int64_t makespan(const PlacementProblem &problem, const std::string &solver) {
  Expected<PlacementSolution> solution = solvePlacement(problem, {solver});
  INFO(solver << ": " << (solution ? std::string() : solution.error().message));
  REQUIRE(solution);
  CHECK(solution->makespanNs >= placementLowerBoundNs(problem));
  return solution->makespanNs;
}

/// Every placement and every topological order, each operator appended as early
/// as it can: an optimum is among them.
struct Enumeration {
  const Instance &instance;
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<DeviceId> where;
  std::vector<int64_t> end;

  explicit Enumeration(const Instance &instance)
      : instance(instance), where(instance.graph.numOperators()), end(instance.graph.numOperators()) {
    std::vector<int64_t> free(instance.machine.devices.size());
    step(free, 0, 0);
  }
  int64_t hops(uint32_t from, uint32_t to, int64_t bytes) const {
    return from == to ? 0 : (from == 0 || to == 0 ? 1 : 2) * (3 + bytes);
  }
  void step(const std::vector<int64_t> &free, uint32_t done, int64_t last) {
    const Graph &graph = instance.graph;
    if (done + 1 == uint32_t(1) << graph.numOperators())
      best = std::min(best, last);
    for (uint32_t i = 0; i < graph.numOperators(); ++i) {
      if (done >> i & 1)
        continue;
      bool ready = true;
      for (OperatorId before : graph.predecessors(OperatorId(i)))
        ready &= done >> before.index() & 1;
      if (!ready)
        continue;
      for (uint32_t d = 0; d < free.size(); ++d) {
        int64_t start = free[d];
        for (TensorId input : graph.op(OperatorId(i)).inputs) {
          const Tensor &tensor = graph.tensor(input);
          uint32_t from = tensor.producer.valid() ? where[tensor.producer.index()].value + 1 : 0;
          int64_t made = tensor.producer.valid() ? end[tensor.producer.index()] : 0;
          start = std::max(start, made + hops(from, d + 1, tensor.bytes));
        }
        where[i] = DeviceId(d);
        end[i] = start + instance.costs.timeNs(OperatorId(i), DeviceId(d));
        const Tensor &output = graph.tensor(graph.op(OperatorId(i)).outputs[0]);
        std::vector<int64_t> next = free;
        next[d] = end[i];
        step(next, done | uint32_t(1) << i,
             std::max(last, end[i] + (output.isOutput ? hops(d + 1, 0, output.bytes) : 0)));
      }
    }
  }
};

} // namespace

TEST_CASE("exhaustive equals full enumeration, and no heuristic beats it", "[placement]") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Instance instance = randomInstance(seed, 5, 2);
    int64_t optimum = Enumeration(instance).best;
    CHECK(makespan(instance.problem(), "exhaustive") == optimum);
    for (const std::string &solver : placementSolverNames())
      CHECK(makespan(instance.problem(), solver) >= optimum);
  }
}

TEST_CASE("the portfolio is never worse than a member", "[placement]") {
  for (uint64_t seed = 100; seed < 130; ++seed) {
    Instance instance = randomInstance(seed, 60, 1 + seed % 4);
    int64_t best = makespan(instance.problem(), "best");
    for (const std::string &solver : placementSolverNames())
      if (solver != "exhaustive")
        CHECK(best <= makespan(instance.problem(), solver));
  }
}

TEST_CASE("a state is updated after all have read it", "[placement]") {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (auto [layers, devices] : {std::pair(3, 2), std::pair(3, 3), std::pair(40, 3)}) {
      Instance instance = trainingInstance(seed, layers, devices);
      REQUIRE(instance.graph.check());
      for (const std::string &solver : placementSolverNames())
        if (solver != "exhaustive" || layers <= 3)
          makespan(instance.problem(), solver);
    }
    Instance small = trainingInstance(seed, 3, 2);
    for (const std::string &solver : placementSolverNames())
      CHECK(makespan(small.problem(), "exhaustive") <= makespan(small.problem(), solver));
  }
  // The validator sees an update that does not wait.
  Instance instance = trainingInstance(1, 1, 2);
  PlacementProblem problem = instance.problem();
  PlacementSolution bad = *solvePlacement(problem, {"heft"});
  REQUIRE(validatePlacement(problem, bad));
  Interval &update = bad.intervals[1];
  int64_t duration = update.endNs - update.startNs;
  update.startNs = bad.intervals[2].endNs - 1;
  update.endNs = update.startNs + duration;
  Status status = validatePlacement(problem, bad);
  REQUIRE_FALSE(status);
  CHECK(status.error().message.find("to update state 't1', 'op2' reads it until") != std::string::npos);
}

TEST_CASE("pins and colocation are kept by every solver", "[placement]") {
  Instance instance = randomInstance(7, 9, 3);
  for (uint32_t i : {1u, 4u, 6u})
    instance.graph.mutableOp(OperatorId(i)).colocation = 5;
  PlacementProblem problem = instance.problem();
  problem.pinned.resize(9);
  problem.pinned[4] = DeviceId(2);
  problem.pinned[8] = DeviceId(1);
  for (const std::string &solver : placementSolverNames()) {
    INFO(solver);
    Expected<PlacementSolution> solution = solvePlacement(problem, {solver});
    REQUIRE(solution);
    CHECK(solution->placement[1] == DeviceId(2));
    CHECK(solution->placement[6] == DeviceId(2));
    CHECK(solution->placement[8] == DeviceId(1));
  }
}

TEST_CASE("a device that only feeds others gets no operator", "[placement]") {
  Instance instance = randomInstance(3, 9, 3);
  instance.machine.devices[1].computes = false;
  for (const std::string &solver : placementSolverNames()) {
    Expected<PlacementSolution> solution = solvePlacement(instance.problem(), {solver});
    REQUIRE(solution);
    CHECK(std::count(solution->placement.begin(), solution->placement.end(), DeviceId(1)) == 0);
  }
}

TEST_CASE("wrong problems are named", "[placement]") {
  Instance instance = randomInstance(1, 6, 2);
  PlacementProblem problem = instance.problem();
  auto message = [&](const std::string &solver = "heft") {
    Expected<PlacementSolution> solution = solvePlacement(problem, {solver});
    REQUIRE_FALSE(solution);
    return solution.error().message;
  };
  SECTION("unknown solver") { CHECK_THAT(message("magic"), Catch::Contains("'magic'") && Catch::Contains("heft")); }
  SECTION("too many operators to enumerate") {
    Instance large = randomInstance(1, 11, 2);
    problem = large.problem();
    CHECK_THAT(message("exhaustive"), Catch::Contains("at most 10"));
  }
  SECTION("pins that contradict colocation") {
    instance.graph.mutableOp(OperatorId(0)).colocation = 1;
    instance.graph.mutableOp(OperatorId(2)).colocation = 1;
    problem.pinned = {DeviceId(0), {}, DeviceId(1), {}, {}, {}};
    CHECK_THAT(message(), Catch::Contains("'op0' and 'op2'"));
  }
  SECTION("a pin outside the machine") {
    problem.pinned.assign(6, DeviceId(9));
    CHECK_THAT(message(), Catch::Contains("'op0'"));
  }
  SECTION("too few pins") {
    problem.pinned.resize(2);
    CHECK_THAT(message(), Catch::Contains("2 pins"));
  }
  SECTION("a cost table of another size") {
    instance.costs.operatorNs.pop_back();
    CHECK_THAT(message(), Catch::Contains("cost table"));
  }
  SECTION("a time of zero") {
    instance.costs.operatorNs[3] = 0;
    CHECK_THAT(message(), Catch::Contains("'op1'"));
  }
  SECTION("times that would overflow") {
    instance.costs.operatorNs[3] = std::numeric_limits<int64_t>::max();
    CHECK_THAT(message(), Catch::Contains("2^61"));
  }
}

TEST_CASE("the validator sees each broken rule", "[placement]") {
  Instance instance = randomInstance(2, 8, 2);
  PlacementProblem problem = instance.problem();
  PlacementSolution good = *solvePlacement(problem, {"heft"});
  REQUIRE(validatePlacement(problem, good));
  PlacementSolution bad = good;
  SECTION("wrong makespan") { bad.makespanNs += 1; }
  SECTION("another device, the old interval") {
    instance.costs.operatorNs[1] = instance.costs.operatorNs[0] + 1;
    bad.placement[0] = DeviceId(bad.placement[0].value ^ 1);
  }
  SECTION("not topological") { std::reverse(bad.order.begin(), bad.order.end()); }
  SECTION("an operator before its inputs") {
    OperatorId last = bad.order.back();
    Interval &when = bad.intervals[last.index()];
    when = {0, when.endNs - when.startNs};
  }
  SECTION("an operator too few") { bad.intervals.pop_back(); }
  SECTION("a pin ignored") {
    problem.pinned.resize(8);
    problem.pinned[0] = DeviceId(good.placement[0].value ^ 1);
  }
  CHECK_FALSE(validatePlacement(problem, bad));
}

TEST_CASE("HEFT places 100,000 operators on 8 devices in seconds", "[placement]") {
  Instance instance = randomInstance(42, 100000, 8);
  auto start = std::chrono::steady_clock::now();
  REQUIRE(solvePlacement(instance.problem(), {"heft"}));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  INFO(seconds << " s");
  CHECK(seconds < 20); // Loose: a machine under load, or a sanitizer.
}
