//===- SearchTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Search.h"

#include "CheckedSearch.h"
#include "RandomGraph.h"
#include "sluice/Plan/PlanJson.h"
#include "sluice/Search/Orders.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Swap/SwapPlanner.h"

#include <bit>
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

using namespace sluice;
using namespace sluice::test;

namespace {

SearchParams evaluations(int64_t count, const char *solver = "default") {
  SearchParams params;
  params.solver = solver;
  params.timeNs = 0;
  params.evaluations = count;
  params.seed = 11;
  return params;
}

/// Best over every topological order, with the default policy.
void enumerateOrders(const SearchProblem &problem, Schedule &prefix, int64_t &best) {
  const Graph &graph = *problem.graph;
  if (prefix.size() == graph.numOperators()) {
    SwapProblem swap{graph, *problem.machine, *problem.costs, problem.placement, prefix, problem.capacityBytes};
    if (Expected<Plan> plan = planSwapOffsets(swap))
      best = std::min(best, simulate(graph, *problem.machine, *problem.costs, *plan).makespanNs);
    return;
  }
  for (uint32_t i = 0; i < graph.numOperators(); ++i) {
    OperatorId op(i);
    auto placed = [&](OperatorId id) { return std::find(prefix.begin(), prefix.end(), id) != prefix.end(); };
    std::vector<OperatorId> before = graph.predecessors(op);
    if (placed(op) || !std::all_of(before.begin(), before.end(), placed))
      continue;
    prefix.push_back(op);
    enumerateOrders(problem, prefix, best);
    prefix.pop_back();
  }
}

} // namespace

TEST_CASE("no solver of the search is beaten by the one before it", "[search]") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    Instance instance = randomInstance(seed, 25);
    SearchProblem problem = instance.problem(seed % 3 * 0.3);
    SearchResult best = solve(problem, evaluations(150));
    SearchResult greedy = solve(problem, evaluations(150, "greedy"));
    CHECK(best.makespanNs <= greedy.makespanNs);
    for (const SearchResult *result : {&best, &greedy})
      for (const Baseline &entry : result->baselines)
        if (entry.makespanNs && entry.name != "ideal")
          CHECK(result->makespanNs <= *entry.makespanNs);
    Expected<SearchResult> onDemand = solveSearch(problem, evaluations(1, "odswap"));
    if (onDemand)
      CHECK(greedy.makespanNs <= onDemand->makespanNs);
  }
}

TEST_CASE("the search improves on its greedy start", "[search]") {
  int improved = 0;
  for (uint64_t seed = 30; seed < 36; ++seed) {
    Instance instance = randomInstance(seed, 30);
    SearchProblem problem = instance.problem(0.2);
    improved += solve(problem, evaluations(400)).makespanNs < solve(problem, evaluations(400, "greedy")).makespanNs;
  }
  CHECK(improved >= 3);
}

TEST_CASE("what is left of a budget starts the search anew, a few times", "[search]") {
  Instance instance = randomInstance(31, 14);
  const SearchProblem problem = instance.problem(0.2);
  const SearchResult once = solve(problem, evaluations(7'000)), again = solve(problem, evaluations(1'000'000));
  REQUIRE(again.makespanNs > again.lowerBoundNs);
  CHECK(again.makespanNs <= once.makespanNs);
  CHECK(again.evaluations > 12'000);
  CHECK(again.evaluations < 200'000);
}

TEST_CASE("unlimited memory gives the ideal plan at once", "[search]") {
  Instance instance = randomInstance(5, 25);
  SearchProblem problem = instance.problem(0);
  for (int64_t &capacity : problem.capacityBytes)
    capacity = std::numeric_limits<int64_t>::max();
  for (const std::string &solver : searchSolverNames()) {
    SearchResult result = solve(problem, evaluations(1000, solver.c_str()));
    CHECK(result.makespanNs == result.idealNs);
    CHECK(result.evaluations <= 5);
  }
}

TEST_CASE("the same plan on one, two and seven threads", "[search]") {
  for (const char *solver : {"default", "swapadvisor", "swapadvisor-free-classes", "random"})
    for (size_t accelerators : {1, 2}) {
      Instance instance = randomInstance(21, 25, accelerators);
      SearchProblem problem = instance.problem(0.5);
      SearchParams params = evaluations(200, solver);
      auto text = [&](int threads) {
        params.threads = threads;
        SearchResult result = solve(problem, params);
        CHECK_FALSE(result.plan.stoppedByClock);
        REQUIRE_FALSE(result.history.empty());
        CHECK(result.history.back().makespanNs == result.makespanNs);
        std::string text = planToJson(instance.graph, instance.machine, result.plan).dump();
        for (const SearchPoint &point : result.history)
          text += concat(" ", point.evaluations, ": ", point.makespanNs);
        return text;
      };
      std::string one = text(1);
      CHECK(one == text(2));
      CHECK(one == text(7));
    }
}

namespace {

/// Bytes of tensors in accel0, with those of the objects they were given.
std::map<int64_t, std::set<int64_t>> objectsOf(const Instance &instance, const Plan &plan) {
  std::map<int64_t, std::set<int64_t>> objects;
  for (const Residency &residency : plan.residencies)
    if (residency.memory == MemoryId(1u) && residency.tensor.valid())
      objects[instance.graph.tensor(residency.tensor).bytes].insert(residency.bytes);
  return objects;
}

/// Tensors of one size take objects of one; true if larger ones never take smaller.
bool ascends(const std::map<int64_t, std::set<int64_t>> &objects) {
  int64_t before = 0;
  bool result = true;
  for (const auto &[bytes, takes] : objects) {
    CHECK(takes.size() == 1);
    result &= *takes.begin() >= before;
    before = *takes.begin();
  }
  return result;
}

} // namespace

TEST_CASE("SwapAdvisor's ablations vary what they say and nothing else", "[search]") {
  int descending = 0;
  for (uint64_t seed = 90; seed < 96; ++seed) {
    Instance instance = randomInstance(seed, 25);
    SearchProblem problem = instance.problem(0.4);
    SearchResult whole = solve(problem, evaluations(600, "swapadvisor"));
    CHECK(ascends(objectsOf(instance, whole.plan)));

    SearchResult pool = solve(problem, evaluations(600, "swapadvisor-pool"));
    CHECK(ascends(objectsOf(instance, pool.plan)));
    Schedule order;
    for (const Command &command : pool.plan.commands)
      if (command.kind == CommandKind::Launch)
        order.push_back(command.op);
    const Schedule starts[] = {modelOrder(instance.graph), memoryAwareOrder(instance.graph),
                               depthFirstOrder(instance.graph),
                               criticalPathOrder(instance.graph, instance.costs, instance.placement)};
    CHECK(std::find(std::begin(starts), std::end(starts), order) != std::end(starts));

    // Its pool is one of three: one class, powers of two, one class a size.
    SearchResult schedule = solve(problem, evaluations(600, "swapadvisor-schedule"));
    SwapProblem swap{instance.graph,     instance.machine, instance.costs,
                     instance.placement, starts[0],        problem.capacityBytes};
    const std::vector<int64_t> sizes = tensorSizes(swap, MemoryId(1u));
    int shapes[3] = {0, 0, 0};
    const auto objects = objectsOf(instance, schedule.plan);
    for (const auto &[bytes, takes] : objects) {
      auto power = std::find_if(sizes.rbegin(), sizes.rend(), [bytes = bytes](int64_t size) {
        return std::bit_width(uint64_t(size)) == std::bit_width(uint64_t(bytes));
      });
      shapes[0] += takes.contains(sizes.back());
      shapes[1] += takes.contains(*power);
      shapes[2] += takes.contains(bytes);
    }
    CHECK(*std::max_element(std::begin(shapes), std::end(shapes)) == static_cast<int>(objects.size()));

    descending += !ascends(objectsOf(instance, solve(problem, evaluations(600, "swapadvisor-free-classes")).plan));
  }
  CHECK(descending > 0);
}

TEST_CASE("the best of more random candidates is never worse", "[search]") {
  for (uint64_t seed = 100; seed < 104; ++seed) {
    Instance instance = randomInstance(seed, 25);
    SearchProblem problem = instance.problem(0.4);
    SearchResult few = solve(problem, evaluations(17, "random")), many = solve(problem, evaluations(330, "random"));
    CHECK(many.makespanNs <= few.makespanNs);
    CHECK(many.evaluations == 330);
  }
}

TEST_CASE("bounds with and without recomputation hold beside each other", "[search]") {
  for (uint64_t seed = 110; seed < 114; ++seed) {
    Instance instance = randomInstance(seed, 25);
    SearchResult result = solve(instance.problem(0.2), evaluations(20));
    CHECK(result.lowerBoundNs > 0);
    CHECK(result.lowerBoundNs <= result.onceBoundNs);
  }
}

TEST_CASE("behind a slow link, computing again beats copying", "[search]") {
  Instance instance;
  instance.machine = starMachine(1);
  Graph &graph = instance.graph;
  auto tensor = [&](std::string name, TensorKind kind) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = 6400;
    return graph.addTensor(tensor);
  };
  auto op = [&](std::string name, std::vector<TensorId> inputs, TensorId output) {
    Operator op;
    op.name = std::move(name);
    op.kind = "test";
    op.inputs = std::move(inputs);
    op.outputs = {output};
    graph.addOperator(op);
  };
  constexpr size_t kLayers = 24;
  std::vector<TensorId> made{tensor("x", TensorKind::Input)};
  for (size_t i = 0; i < kLayers; ++i) {
    made.push_back(tensor(concat("a", i), TensorKind::Activation));
    op(concat("f", i), {made[i]}, made[i + 1]);
  }
  TensorId gradient = made.back();
  for (size_t i = kLayers; i-- > 0;) {
    TensorId next = tensor(concat("g", i), TensorKind::Activation);
    op(concat("b", i), {made[i], gradient}, next);
    gradient = next;
  }
  graph.mutableTensor(gradient).isOutput = true;
  instance.costs.numDevices = instance.machine.devices.size();
  instance.costs.operatorNs.assign(graph.numOperators() * instance.costs.numDevices, 1000);
  instance.placement.assign(graph.numOperators(), DeviceId(1u));

  const SearchProblem problem = instance.problem(0.3);
  const SearchResult best = solve(problem, evaluations(80)), once = solve(problem, evaluations(80, "no-recompute"));
  CHECK(best.makespanNs < once.makespanNs);
  CHECK(!best.plan.computedAgain().empty());
  CHECK(once.plan.computedAgain().empty());
  CHECK(once.makespanNs >= once.onceBoundNs);
  CHECK(best.makespanNs < best.onceBoundNs);
  SearchParams threads = evaluations(80);
  threads.threads = 2;
  CHECK(planToJson(graph, instance.machine, solve(problem, threads).plan) ==
        planToJson(graph, instance.machine, best.plan));
}

TEST_CASE("a search goes on from a plan", "[search]") {
  for (uint64_t seed = 200; seed < 208; ++seed) {
    Instance instance = randomInstance(seed, 30, 1 + seed % 2);
    SearchProblem problem = instance.problem(0.2);
    const SearchResult first = solve(problem, evaluations(60));
    SearchParams params = evaluations(40);
    params.seed = 12;
    params.start = &first.plan;
    const SearchResult second = solve(problem, params);
    CHECK(second.makespanNs <= first.makespanNs);
    CHECK(second.plan.placement == first.plan.placement);
    params.solver = "odswap";
    CHECK(solve(problem, params).makespanNs <= first.makespanNs);
    CHECK(second.baselines.front().name == "start");
  }
}

TEST_CASE("a search does not go on from another problem's plan", "[search]") {
  Instance instance = randomInstance(210, 20), other = randomInstance(211, 20);
  SearchProblem problem = instance.problem(0.3), roomy = instance.problem(1);
  const SearchResult foreign = solve(other.problem(0.3), evaluations(20)), large = solve(roomy, evaluations(20));
  for (const Plan *plan : {&foreign.plan, &large.plan}) {
    SearchParams params = evaluations(20);
    params.start = plan;
    Expected<SearchResult> result = solveSearch(problem, params);
    REQUIRE(!result);
    CHECK_THAT(result.error().message, Catch::Contains("the given plan is not a plan of this problem"));
  }
  SearchProblem pinned = roomy;
  Plan moved = large.plan;
  pinned.placement.back() = DeviceId(0u);
  SearchParams params = evaluations(20);
  params.start = &moved;
  CHECK(!solveSearch(pinned, params));
}

TEST_CASE("tiny instances: as good as the best of all orders", "[search]") {
  for (uint64_t seed = 50; seed < 58; ++seed) {
    Instance instance = randomInstance(seed, 6);
    SearchProblem problem = instance.problem(0.25);
    Schedule prefix;
    int64_t best = std::numeric_limits<int64_t>::max();
    enumerateOrders(problem, prefix, best);
    CHECK(solve(problem, evaluations(800)).makespanNs <= best);
  }
}

TEST_CASE("an open placement is decided, pins are kept", "[search]") {
  Instance instance = randomInstance(8, 20, 2);
  SearchProblem problem = instance.problem(1.5);
  problem.placement.assign(20, DeviceId());
  problem.placement[4] = DeviceId(2u);
  SearchResult result = solve(problem, evaluations(100));
  CHECK(result.plan.placement[4] == DeviceId(2u));
  for (DeviceId device : result.plan.placement)
    CHECK(instance.machine.device(device).computes);
  for (const Baseline &entry : result.baselines)
    if (entry.name.rfind("place=", 0) == 0 && entry.makespanNs)
      CHECK(result.makespanNs <= *entry.makespanNs);
}

TEST_CASE("moving operators under the simulator improves on the placement solvers", "[search]") {
  int improved = 0;
  for (uint64_t seed = 70; seed < 82; ++seed) {
    Instance instance = randomInstance(seed, 30, 2);
    SearchProblem problem = instance.problem(2);
    SearchResult result = solve(problem, evaluations(1000));
    for (const Baseline &entry : result.baselines)
      improved += entry.name == "place=local-search";
  }
  CHECK(improved >= 3);
}

TEST_CASE("several devices are taken where they gain enough over one", "[search]") {
  auto devices = [](const SearchResult &result) {
    return std::set<DeviceId>(result.plan.placement.begin(), result.plan.placement.end()).size();
  };
  int several = 0;
  for (uint64_t seed = 70; seed < 78; ++seed) {
    Instance instance = randomInstance(seed, 30, 2);
    SearchProblem problem = instance.problem(2);
    SearchParams params = evaluations(200);
    const SearchResult free = solve(problem, params);
    params.placementSolver = "single-device";
    const SearchResult alone = solve(problem, params);
    CHECK(devices(alone) == 1);
    if (devices(free) == 1)
      continue;
    ++several;
    params.placementSolver = "best";
    params.leastGain = (1 - static_cast<double>(free.makespanNs) / static_cast<double>(alone.makespanNs)) / 2;
    CHECK(devices(solve(problem, params)) > 1);
    params.leastGain = 0.99;
    const SearchResult kept = solve(problem, params);
    CHECK(devices(kept) == 1);
    CHECK(kept.makespanNs == alone.makespanNs);
    // What was faster says why it is not the plan.
    for (const Baseline &entry : kept.baselines)
      if (entry.makespanNs && *entry.makespanNs < kept.makespanNs && entry.name.rfind("place=", 0) == 0)
        CHECK(entry.reason == "gains less than 99% over one device");
  }
  CHECK(several >= 4);
}

TEST_CASE("moving operators from one device to several must gain as much", "[search]") {
  auto isOnOne = [](const SearchResult &result) {
    return std::set<DeviceId>(result.plan.placement.begin(), result.plan.placement.end()).size() == 1;
  };
  const std::string moving = "place=local-search", prefix = "place=";
  int moved = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    Instance instance = randomInstance(seed, 12, 2);
    SearchProblem problem = instance.problem(2);
    SearchParams params = evaluations(400);
    const SearchResult free = solve(problem, params);
    const Baseline *best = nullptr, *local = nullptr;
    for (const Baseline &entry : free.baselines) {
      if (entry.name == moving)
        local = &entry;
      else if (entry.name.starts_with(prefix) && entry.makespanNs && (!best || *entry.makespanNs < *best->makespanNs))
        best = &entry;
    }
    if (!best || !local || isOnOne(free))
      continue;
    // Where the portfolio's best is on one device, which moving operators improves.
    params.placementSolver = best->name.substr(prefix.size());
    if (!isOnOne(solve(problem, params)))
      continue;
    ++moved;
    params.placementSolver = "best";
    params.leastGain = 0.9;
    const SearchResult kept = solve(problem, params);
    CHECK(isOnOne(kept));
    for (const Baseline &entry : kept.baselines)
      if (entry.name == moving)
        CHECK(entry.reason == "gains less than 90% over one device");
  }
  CHECK(moved >= 3);
}

TEST_CASE("the rivals take results in place where they are told to", "[search]") {
  // Launches whose result lies where one of their operands was.
  auto inPlace = [](const Plan &plan) {
    int count = 0;
    for (const Command &command : plan.commands)
      for (ResidencyId read : command.reads)
        if (command.kind == CommandKind::Launch && plan.residencies[read.index()].bytes > 0)
          count += plan.residencies[read.index()].offset == plan.residencies[command.writes[0].index()].offset;
    return count;
  };
  for (const std::string rival : {"odswap", "swapadvisor"}) {
    int faster = 0, slower = 0;
    for (uint64_t seed = 0; seed < 12; ++seed) {
      Instance instance = randomInstance(seed, 25);
      // Every tensor has one size, so that an operator may work in place in its first operand.
      for (uint32_t i = 0; i < instance.graph.numTensors(); ++i)
        instance.graph.mutableTensor(TensorId(i)).bytes = 640;
      for (uint32_t i = 0; i < instance.graph.numOperators(); ++i)
        instance.graph.mutableOp(OperatorId(i)).inPlace = {{0, 0}};
      const SearchProblem problem = instance.problem(0.4);
      const SearchResult apart = solve(problem, evaluations(100, rival.c_str()));
      const SearchResult within = solve(problem, evaluations(100, (rival + "-in-place").c_str()));
      CHECK(inPlace(apart.plan) == 0);
      CHECK(inPlace(within.plan) > 0);
      faster += within.makespanNs < apart.makespanNs;
      slower += within.makespanNs > apart.makespanNs;
    }
    INFO(rival);
    CHECK(faster > slower);
  }
}

TEST_CASE("too little memory is refused by name", "[search]") {
  Instance instance = randomInstance(2, 15);
  SearchProblem problem = instance.problem(0);
  SearchResult fits = solve(problem, evaluations(20));
  CHECK(fits.minimumBytes[1].bytes == problem.capacityBytes[1]);
  CHECK(fits.peakBytes[1] >= fits.minimumBytes[1].bytes);
  problem.capacityBytes[1] -= 64;
  for (const std::string &solver : searchSolverNames()) {
    INFO(solver);
    Expected<SearchResult> result = solveSearch(problem, evaluations(20, solver.c_str()));
    REQUIRE_FALSE(result);
    // The graph is no chain, which POFO refuses first.
    CHECK(result.error().code == (solver == "pofo" ? ErrorCode::Unsupported : ErrorCode::Infeasible));
  }
  Expected<SearchResult> result = solveSearch(problem, evaluations(20));
  CHECK_THAT(result.error().message, Catch::Contains("accel0") && Catch::Contains("op"));
}

TEST_CASE("the clock, the interrupt and progress", "[search]") {
  Instance instance = randomInstance(13, 30);
  SearchProblem problem = instance.problem(0.1);
  SECTION("a clock that has already run out") {
    SearchParams params = evaluations(0);
    params.timeNs = 1;
    SearchResult result = solve(problem, params);
    CHECK(result.plan.stoppedByClock);
  }
  SECTION("an interrupt from another thread, and a last report equal to the result") {
    std::atomic<bool> flag{false};
    SearchParams params = evaluations(1'000'000);
    params.interrupt = &flag;
    SearchProgress last;
    params.progress = [&](const SearchProgress &progress) {
      last = progress;
      if (progress.evaluations > 50)
        flag = true;
    };
    SearchResult result = solve(problem, params);
    CHECK(result.plan.stoppedByClock == (result.makespanNs > result.lowerBoundNs));
    CHECK(result.evaluations < 1000);
    CHECK(last.makespanNs == result.makespanNs);
    CHECK(last.idealNs == result.idealNs);
    CHECK(last.evaluations == result.evaluations);
  }
}

TEST_CASE("wrong search problems are named", "[search]") {
  Instance instance = randomInstance(1, 5);
  SearchProblem problem = instance.problem(1);
  SearchParams params = evaluations(1);
  auto message = [&] {
    Expected<SearchResult> result = solveSearch(problem, params);
    REQUIRE_FALSE(result);
    return result.error().message;
  };
  SECTION("solver") {
    params.solver = "magic";
    CHECK_THAT(message(), Catch::Contains("'magic'") && Catch::Contains("odswap"));
  }
  SECTION("placement solver") {
    problem.placement.clear();
    params.placementSolver = "magic";
    CHECK_THAT(message(), Catch::Contains("'magic'") && Catch::Contains("heft"));
  }
  SECTION("a least gain of all the time") {
    params.leastGain = 1;
    CHECK_THAT(message(), Catch::Contains("the least gain of the search is 1"));
  }
  SECTION("capacities") {
    problem.capacityBytes.pop_back();
    CHECK_THAT(message(), Catch::Contains("capacities"));
  }
  SECTION("a negative capacity") {
    problem.capacityBytes[1] = -1;
    message();
  }
}

TEST_CASE("plans of programs that communicate", "[search]") {
  int64_t beside = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Instance apart = randomInstance(seed, 30), together = apart;
    Rng rng(seed);
    for (uint32_t i = 0; i < 30; ++i)
      apart.graph.mutableOp(OperatorId(i)).communicates = rng.chance(0.3);
    // Roomy, and with most swapped.
    for (double share : {1.0, 0.2}) {
      const SearchResult result = solve(apart.problem(share), evaluations(40));
      for (const Command &command : result.plan.commands)
        if (command.kind == CommandKind::Launch)
          CHECK((result.plan.streams[command.stream.index()].kind == StreamKind::Communicate) ==
                apart.graph.op(command.op).communicates);
      beside += result.makespanNs < solve(together.problem(share), evaluations(40)).makespanNs;
    }
  }
  CHECK(beside > 20);
}

TEST_CASE("a graph that keeps its order runs in it", "[search]") {
  int64_t kept = 0, others = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Instance instance = randomInstance(seed, 30);
    Rng rng(seed);
    for (uint32_t i = 0; i < 30; ++i)
      instance.graph.mutableOp(OperatorId(i)).communicates = rng.chance(0.3);
    auto isInOrder = [&](const Plan &plan) {
      OperatorId last;
      for (const Command &command : plan.commands)
        if (command.kind == CommandKind::Launch && instance.graph.op(command.op).communicates) {
          if (last.valid() && !(last < command.op))
            return false;
          last = command.op;
        }
      return true;
    };
    // Roomy, and with most swapped and computed again.
    for (double share : {1.0, 0.2})
      for (const char *solver : {"default", "greedy", "random", "swapadvisor"}) {
        // Pools do not fit into so little.
        const bool hasPools = std::string_view(solver) == "random" || std::string_view(solver) == "swapadvisor";
        if (share < 1 && hasPools)
          continue;
        SearchParams params = evaluations(60);
        params.solver = solver;
        instance.graph.keepsOrder = false;
        const SearchResult any = solve(instance.problem(share), params);
        others += isInOrder(any.plan);
        instance.graph.keepsOrder = true;
        const SearchResult ordered = solve(instance.problem(share), params);
        CHECK(isInOrder(ordered.plan));
        ++kept;
        if (!isInOrder(any.plan)) {
          const Status refused = validatePlan(instance.graph, instance.machine, any.plan);
          REQUIRE_FALSE(refused);
          CHECK_THAT(refused.error().message, Catch::Contains("communicates") || Catch::Contains("launched twice"));
        }
      }
  }
  // Free orders are mostly others.
  CHECK(others < kept / 2);
}

TEST_CASE("gradients are summed beside what makes the next", "[search]") {
  // Per layer: 100 ns of gradient, 90 of summing, 10 of update, in this order in the model.
  for (DeviceId device : {DeviceId(0u), DeviceId(1u)}) {
    Instance instance;
    instance.machine = starMachine(1);
    instance.machine.devices[0].computes = true;
    instance.costs.numDevices = 2;
    auto add = [&](std::vector<TensorId> inputs, int64_t timeNs, bool communicates) {
      Tensor tensor;
      tensor.name = concat("t", instance.graph.numTensors());
      tensor.bytes = 64;
      Operator op;
      op.name = concat("op", instance.graph.numOperators());
      op.inputs = std::move(inputs);
      op.outputs = {instance.graph.addTensor(tensor)};
      op.communicates = communicates;
      op.workspaceBytes = communicates ? 64 : 0;
      instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), 2, timeNs);
      instance.placement.push_back(device);
      return instance.graph.op(instance.graph.addOperator(op)).outputs[0];
    };
    constexpr int kLayers = 6;
    std::vector<TensorId> gradient;
    for (int layer = 0; layer < kLayers; ++layer) {
      gradient = {add(gradient, 100, false)};
      add({add(gradient, 90, true)}, 10, false);
    }
    SearchProblem roomy = instance.problem(1.0);
    roomy.capacityBytes.assign(2, 1 << 20);
    // The last sum and update stand alone.
    CHECK(solve(roomy, evaluations(1)).makespanNs <= kLayers * 110 + 90);
  }
}
