//===- PlacementTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/Placement.h"
#include "StepWalk.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <map>

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
    graph.mutableOp(graph.tensor(updated).producer).inPlace = {{2, 0}};
    gradient = op({gradient, weight});
  }
  instance.costs.numDevices = devices;
  for (size_t i = 0; i < graph.numOperators() * devices; ++i)
    instance.costs.operatorNs.push_back(1 + static_cast<int64_t>(rng.below(100)));
  return instance;
}

int64_t makespan(const PlacementProblem &problem, const std::string &solver,
                 int64_t evaluations = PlacementParams().evaluations) {
  Expected<PlacementSolution> solution = solvePlacement(problem, {solver, evaluations});
  INFO(solver << ": " << (solution ? std::string() : solution.error().message));
  REQUIRE(solution);
  CHECK(solution->makespanNs >= placementLowerBoundNs(problem));
  return solution->makespanNs;
}

/// Every placement that pins, colours and capacities allow, in every topological order,
/// simulated.
struct Enumeration {
  const PlacementProblem problem;
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<DeviceId> where;
  std::vector<OperatorId> order;

  explicit Enumeration(const Instance &instance) : Enumeration(instance.problem()) {}
  explicit Enumeration(PlacementProblem given) : problem(std::move(given)), where(problem.graph->numOperators()) {
    step(0);
  }
  bool allowed(OperatorId op, DeviceId device, uint32_t done) const {
    if (!problem.pinned.empty() && problem.pinned[op.index()].valid() && problem.pinned[op.index()] != device)
      return false;
    const int32_t colour = problem.graph->op(op).colocation;
    for (uint32_t i = 0; i < where.size() && colour >= 0; ++i)
      if ((done >> i & 1) && problem.graph->op(OperatorId(i)).colocation == colour && where[i] != device)
        return false;
    return true;
  }
  bool fits() const {
    const std::vector<int64_t> bytes = placementBytes(problem, where);
    return problem.capacityBytes.empty() ||
           std::equal(bytes.begin(), bytes.end(), problem.capacityBytes.begin(), std::less_equal<>());
  }
  void step(uint32_t done) {
    const Graph &graph = *problem.graph;
    if (order.size() == graph.numOperators()) {
      if (!fits())
        return;
      const Plan plan = planOfPlacement(problem, where, order);
      best = std::min(best, simulate(graph, *problem.machine, *problem.costs, plan).makespanNs);
      return;
    }
    for (uint32_t i = 0; i < graph.numOperators(); ++i) {
      if (done >> i & 1)
        continue;
      bool ready = true;
      for (OperatorId before : graph.predecessors(OperatorId(i)))
        ready &= done >> before.index() & 1;
      if (!ready)
        continue;
      order.push_back(OperatorId(i));
      for (DeviceId device : problem.machine->computeDevices()) {
        if (!allowed(OperatorId(i), device, done))
          continue;
        where[i] = device;
        step(done | uint32_t(1) << i);
      }
      order.pop_back();
    }
  }
};

/// No two copies share a link.
void separateDirections(Machine &machine) {
  for (Link &link : machine.links)
    link.duplexBytesPerSec = 2 * link.bytesPerSec;
}

/// Streams that wait for each other's copies lose time.
void addEventLatency(Machine &machine, int64_t ns) {
  for (Link &link : machine.links)
    link.eventLatencyNs = ns;
}

} // namespace

TEST_CASE("exhaustive equals full enumeration, and no solver beats it", "[placement]") {
  for (uint64_t seed = 0; seed < 48; ++seed) {
    INFO(seed);
    Instance instance = seed % 3 == 2 ? trainingInstance(seed, 2, 2) : randomInstance(seed, 5, 2 + seed / 12 % 2);
    if (seed % 2)
      separateDirections(instance.machine);
    if (seed >= 24 && seed % 4 < 2)
      addEventLatency(instance.machine, 20);
    // Two devices that compute in one memory.
    if (seed >= 36 && instance.machine.devices.size() > 2)
      instance.machine.devices[2].memory = instance.machine.devices[1].memory;
    int64_t optimum = Enumeration(instance).best;
    for (const std::string &solver : placementSolverNames())
      CHECK(makespan(instance.problem(), solver) >= optimum);
    CHECK(makespan(instance.problem(), "exhaustive") == optimum);
    CHECK(makespan(instance.problem(), "best") == optimum);
  }
}

TEST_CASE("exhaustive is the optimum of what pins, colocation and capacities leave", "[placement]") {
  size_t infeasible = 0, tighter = 0;
  for (uint64_t seed = 0; seed < 90; ++seed) {
    INFO(seed);
    Rng rng(seed + 1000);
    Instance instance = seed % 3 == 2 ? trainingInstance(seed, 2, 2) : randomInstance(seed, 5, 2 + seed % 2);
    if (seed % 2)
      separateDirections(instance.machine);
    if (seed % 5 == 4)
      addEventLatency(instance.machine, 15);
    // Parameters, so that memories fill with what is placed there.
    Graph &graph = instance.graph;
    std::vector<OperatorId> all;
    for (uint32_t i = 0; i < graph.numOperators(); ++i)
      if (rng.chance(0.6)) {
        Tensor weight;
        weight.name = concat("weight", i);
        weight.kind = TensorKind::Parameter;
        weight.bytes = 64 * static_cast<int64_t>(1 + rng.below(6));
        const TensorId id = graph.addTensor(weight);
        graph.mutableOp(OperatorId(i)).inputs.push_back(id);
        graph.mutableTensor(id).consumers.push_back(OperatorId(i));
      }
    PlacementProblem problem = instance.problem();
    REQUIRE(problem.check());
    const int64_t free = Enumeration(problem).best;
    if (rng.chance(0.5))
      for (size_t i = 0; i < 2; ++i)
        graph.mutableOp(OperatorId(rng.below(graph.numOperators()))).colocation = 4;
    if (rng.chance(0.5)) {
      problem.pinned.resize(graph.numOperators());
      const size_t op = rng.below(graph.numOperators());
      problem.pinned[op] = DeviceId(rng.below(instance.machine.devices.size()));
    }
    problem.capacityBytes.assign(instance.machine.memories.size(), 64 * static_cast<int64_t>(4 + rng.below(14)));
    REQUIRE(problem.check());
    const int64_t optimum = Enumeration(problem).best;
    tighter += optimum > free;
    for (const std::string &solver : placementSolverNames()) {
      INFO(solver);
      Expected<PlacementSolution> solution = solvePlacement(problem, {solver});
      if (!solution) {
        INFO(solution.error().message);
        CHECK(solution.error().code == ErrorCode::Infeasible);
        // The others may miss what there is.
        if (solver == "exhaustive" || solver == "best")
          CHECK(optimum == std::numeric_limits<int64_t>::max());
        continue;
      }
      CHECK(validatePlacement(problem, *solution));
      CHECK(solution->makespanNs >= optimum);
      CHECK(placementLowerBoundNs(problem) <= optimum);
      if (solver == "exhaustive" || solver == "best")
        CHECK(solution->makespanNs == optimum);
    }
    infeasible += optimum == std::numeric_limits<int64_t>::max();
  }
  CHECK(infeasible >= 2);
  CHECK(infeasible <= 40);
  CHECK(tighter >= 30);
}

TEST_CASE("a search that the clock stops proves nothing", "[placement]") {
  const Instance instance = randomInstance(3, 12, 3);
  for (const char *solver : {"exhaustive", "best"}) {
    PlacementParams params;
    params.solver = solver;
    params.timeNs = 1;
    Expected<PlacementSolution> stopped = solvePlacement(instance.problem(), params);
    REQUIRE(stopped);
    CHECK_FALSE(stopped->optimal);
    CHECK(stopped->stoppedByClock);
    CHECK(solvePlacement(instance.problem(), {solver})->optimal);
  }
}

TEST_CASE("times are those of a valid plan under the simulator", "[placement]") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Instance instance = seed % 3 ? randomInstance(seed, 40, 3) : trainingInstance(seed, 12, 3);
    if (seed % 2)
      separateDirections(instance.machine);
    const PlacementProblem problem = instance.problem();
    const PlacementSolution solution = *solvePlacement(problem, {seed % 5 ? "heft" : "round-robin"});
    const Plan plan = planOfPlacement(problem, solution.placement, solution.order);
    Status valid = validatePlan(instance.graph, instance.machine, plan);
    INFO(seed << ": " << (valid ? std::string() : valid.error().message));
    CHECK(valid);
    CHECK(simulate(instance.graph, instance.machine, instance.costs, plan).makespanNs == solution.makespanNs);
    // The timer agrees where no two copies share a link; else it is a bound.
    const StepIndex index(problem);
    CHECK(index.timesAreBounds == (seed % 2 == 0));
    const int64_t timed = StepTimer(index).time(solution.placement, solution.order, solution.makespanNs);
    if (index.timesAreBounds)
      CHECK(timed <= solution.makespanNs);
    else
      CHECK(timed == solution.makespanNs);
  }
}

TEST_CASE("the portfolio is never worse than a member", "[placement]") {
  std::map<std::string, int> wins;
  for (uint64_t seed = 100; seed < 400; ++seed) {
    Instance instance = randomInstance(seed, 2 + seed % 49, 1 + seed % 4);
    if (seed % 3)
      separateDirections(instance.machine);
    PlacementParams params{"best", 300};
    Expected<PlacementSolution> best = solvePlacement(instance.problem(), params);
    REQUIRE(best);
    ++wins[best->solver];
    for (const std::string &solver : placementSolverNames()) {
      if (solver == "htf-mpr") // No member.
        continue;
      params.solver = solver;
      Expected<PlacementSolution> member = solvePlacement(instance.problem(), params);
      if (solver == "exhaustive" && !member)
        continue;
      REQUIRE(member);
      CHECK(best->makespanNs <= member->makespanNs);
      for (const auto &[name, time] : best->members)
        if (name == solver)
          CHECK(time == member->makespanNs);
    }
  }
  // The searches earn their keep.
  CHECK(wins["best (lns)"] > 100);
}

TEST_CASE("the same seed gives the same placement on any number of threads", "[placement]") {
  Instance instance = randomInstance(5, 60, 3);
  for (const char *solver : {"best", "htf-mpr"}) {
    PlacementParams params{solver, 2000};
    const PlacementSolution one = *solvePlacement(instance.problem(), params);
    params.threads = 3;
    const PlacementSolution three = *solvePlacement(instance.problem(), params);
    CHECK(one.placement == three.placement);
    CHECK(one.order == three.order);
    CHECK(one.makespanNs == three.makespanNs);
    CHECK(one.runnersUp == three.runnersUp);
    CHECK(one.foldDistance == three.foldDistance);
  }
}

TEST_CASE("capacities are kept, or the excess is named", "[placement]") {
  int kept = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    Instance instance = randomInstance(seed, 9, 3);
    Graph &graph = instance.graph;
    int64_t total = 0;
    for (uint32_t i = 0; i < graph.numOperators(); ++i) {
      Tensor weight;
      weight.name = concat("w", i);
      weight.kind = TensorKind::Parameter;
      weight.bytes = 64 * static_cast<int64_t>(1 + (seed + i) % 5);
      total += weight.bytes;
      // A graph takes its operators as they are: the readers are linked by hand.
      const TensorId id = graph.addTensor(weight);
      graph.mutableTensor(id).consumers.push_back(OperatorId(i));
      graph.mutableOp(OperatorId(i)).inputs.push_back(id);
    }
    PlacementProblem problem = instance.problem();
    problem.capacityBytes.assign(4, total / 3 + 64 * 6);
    problem.capacityBytes[0] = 0; // Nothing runs on the host.
    for (const std::string &solver : placementSolverNames()) {
      INFO(solver << " " << seed);
      Expected<PlacementSolution> solution = solvePlacement(problem, {solver, 200});
      if (!solution) {
        CHECK((solution.error().code == ErrorCode::Infeasible || solver == "exhaustive"));
        continue;
      }
      ++kept;
      const std::vector<int64_t> bytes = placementBytes(problem, solution->placement);
      for (size_t m = 0; m < bytes.size(); ++m)
        CHECK(bytes[m] <= problem.capacityBytes[m]);
    }
    CHECK(solvePlacement(problem, {"best"}));
    // Too little for any: each solver says so.
    problem.capacityBytes.assign(4, 64);
    for (const std::string &solver : placementSolverNames()) {
      Expected<PlacementSolution> solution = solvePlacement(problem, {solver, 200});
      REQUIRE_FALSE(solution);
      CHECK(solution.error().code == ErrorCode::Infeasible);
    }
    CHECK_THAT(solvePlacement(problem, {"heft"}).error().message,
               Catch::Contains("does not fit") && Catch::Contains("lacks"));
  }
  CHECK(kept > 200);
  // The validator counts for itself.
  Instance instance = randomInstance(1, 9, 3);
  PlacementProblem problem = instance.problem();
  const PlacementSolution solution = *solvePlacement(problem, {"heft"});
  problem.capacityBytes.assign(4, 0);
  Status status = validatePlacement(problem, solution);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Contains("its capacity is 0 bytes"));
}

TEST_CASE("a state is updated after all have read it", "[placement]") {
  // The order of reads and updates is the subject, so solvers that search get few evaluations.
  constexpr int64_t kEvaluations = 100;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    for (auto [layers, devices] : {std::pair(3, 2), std::pair(3, 3), std::pair(40, 3)}) {
      if (layers > 3 && seed >= 2)
        continue;
      Instance instance = trainingInstance(seed, layers, devices);
      REQUIRE(instance.graph.check());
      for (const std::string &solver : placementSolverNames())
        if (solver != "exhaustive" || layers <= 3)
          makespan(instance.problem(), solver, kEvaluations);
    }
    Instance small = trainingInstance(seed, 3, 2);
    const int64_t optimum = makespan(small.problem(), "exhaustive");
    for (const std::string &solver : placementSolverNames())
      CHECK(optimum <= makespan(small.problem(), solver, kEvaluations));
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
  CHECK(status.error().message.find("to update state 't1', which operator 'op2' reads until") != std::string::npos);
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
    Instance large = randomInstance(1, 13, 2);
    problem = large.problem();
    CHECK_THAT(message("exhaustive"), Catch::Contains("at most 12"));
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
  SECTION("capacities that are not the machine's") {
    problem.capacityBytes.assign(2, 1);
    CHECK_THAT(message(), Catch::Contains("2 capacities"));
  }
  SECTION("a negative capacity") {
    problem.capacityBytes.assign(3, -1);
    CHECK_THAT(message(), Catch::Contains("is negative, -1 bytes"));
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
  SECTION("a makespan too short") { bad.makespanNs -= 1; }
  SECTION("an operator that idles") {
    Interval &when = bad.intervals[bad.order.back().index()];
    when = {when.startNs + 1, when.endNs + 1};
  }
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
