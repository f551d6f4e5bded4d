//===- OffsetPlannerTest.cpp ----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Problems.h"

#include "sluice/Plan/PlanJson.h"

#include <array>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {
constexpr EvictionPolicy kPolicies[] = {EvictionPolicy::CostAware, EvictionPolicy::Belady,
                                        EvictionPolicy::EarliestAvailable, EvictionPolicy::LeastRecentlyUsed};

Plan mustPlan(const Instance &instance, const SwapParams &params = {}) {
  Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
  if (!plan)
    FAIL(plan.error().message);
  // The planner has validated it against the budget; once more, from outside.
  Machine limited = instance.machine;
  for (size_t m = 0; m < limited.memories.size(); ++m)
    limited.memories[m].capacityBytes = instance.capacity[m];
  Status status = validatePlan(instance.graph, limited, *plan);
  if (!status)
    FAIL(status.error().message);
  return *plan;
}
} // namespace

TEST_CASE("every budget from the minimum up has a plan", "[swap]") {
  Rng rng(1);
  int swapped = 0;
  for (int round = 0; round < 150; ++round) {
    Instance instance;
    int accelerators = round % 3 == 0 ? 3 : 1;
    fillRandom(instance, rng, 2 + rng.below(60), accelerators);
    std::vector<MinimumBytes> minimum = minimumBytes(instance.problem());
    std::vector<int64_t> peak = livenessPeakBytes(instance.problem());
    for (double share : {0.0, 0.1, 0.5, 0.9, 1.0}) {
      for (size_t m = 1; m < instance.capacity.size(); ++m) {
        REQUIRE(minimum[m].bytes <= peak[m]);
        instance.capacity[m] =
            minimum[m].bytes + static_cast<int64_t>(share * static_cast<double>(peak[m] - minimum[m].bytes));
      }
      SwapParams params;
      params.eviction = kPolicies[rng.below(4)];
      Plan plan = mustPlan(instance, params);
      for (size_t m = 1; m < instance.capacity.size(); ++m)
        CHECK(plan.arenaBytes[m] <= instance.capacity[m]);
      if (share == 1.0)
        CHECK(parameterCopies(instance, plan) == 0);
      swapped += share == 0.0 && plan.bytesSwappedOut(instance.graph) > 0;
    }
  }
  CHECK(swapped > 50);
}

TEST_CASE("one byte below the minimum names operator and shortfall", "[swap]") {
  Rng rng(2);
  int tried = 0;
  for (int round = 0; round < 30; ++round) {
    Instance instance;
    fillRandom(instance, rng, 2 + rng.below(30), 1);
    MinimumBytes minimum = minimumBytes(instance.problem())[1];
    if (minimum.bytes == 0)
      continue;
    ++tried;
    instance.capacity[1] = minimum.bytes - 1;
    for (Expected<Plan> plan : {planSwapOffsets(instance.problem()), planOdSwap(instance.problem())}) {
      REQUIRE_FALSE(plan);
      CHECK(plan.error().code == ErrorCode::Infeasible);
      CHECK(plan.error().operators == std::vector<uint32_t>{minimum.op.value});
      CHECK(plan.error().message.find("'" + instance.graph.op(minimum.op).name + "'") != std::string::npos);
      CHECK(plan.error().message.find("raise --memory accel0") != std::string::npos);
      CHECK(plan.error().message.find("at least " + std::to_string(minimum.bytes)) != std::string::npos);
    }
  }
  CHECK(tried > 20);
}

TEST_CASE("fragmented operands move together", "[swap]") {
  // a, b and c are made in turn with gaps between; d then needs more than any
  // gap though the sum of all fits exactly.
  Instance instance;
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  std::vector<TensorId> kept, inputs;
  for (int i = 0; i < 6; ++i) {
    kept.push_back(addTensor(graph, "v" + std::to_string(i), 64 * (1 + i % 2)));
    addOperator(graph, "make" + std::to_string(i), {}, {kept.back()});
  }
  TensorId d = addTensor(graph, "d", 64 * 6);
  addOperator(graph, "join", {kept[1], kept[3], kept[5]}, {d});
  TensorId e = addTensor(graph, "e", 64);
  addOperator(graph, "end", {d, kept[0], kept[2], kept[4]}, {e});
  complete(instance);
  instance.capacity[1] = minimumBytes(instance.problem())[1].bytes;
  CHECK(instance.capacity[1] == 64 * 12);
  for (EvictionPolicy policy : kPolicies) {
    SwapParams params;
    params.eviction = policy;
    Plan plan = mustPlan(instance, params);
    CHECK(plan.arenaBytes[1] <= 64 * 12);
  }
}

TEST_CASE("at the liveness peak nothing is copied but inputs and outputs", "[swap]") {
  Instance instance;
  fillChain(instance, 40, 1000, 3000);
  instance.capacity[1] = livenessPeakBytes(instance.problem())[1];
  Plan plan = mustPlan(instance);
  CHECK(parameterCopies(instance, plan) == 0);
  CHECK(plan.bytesSwappedIn(instance.graph) == 1000);
  CHECK(plan.bytesSwappedOut(instance.graph) == 1000);
  // 40 parameters; two activations and the newest, in cache lines.
  CHECK(instance.capacity[1] == 40 * alignUp(3000) + 3 * alignUp(1000));
}

TEST_CASE("the ideal plan bounds every other from below", "[swap]") {
  Rng rng(4);
  for (int round = 0; round < 30; ++round) {
    Instance instance;
    fillRandom(instance, rng, 5 + rng.below(50), 1);
    std::vector<int64_t> peak = livenessPeakBytes(instance.problem());
    MinimumBytes minimum = minimumBytes(instance.problem())[1];
    instance.capacity[1] = 0;
    Expected<Plan> ideal = planIdeal(instance.problem());
    REQUIRE(ideal);
    CHECK(ideal->arenaBytes[1] >= peak[1]);
    CHECK(parameterCopies(instance, *ideal) == 0);
    instance.capacity[1] = (minimum.bytes + peak[1]) / 2;
    Plan plan = mustPlan(instance);
    CHECK(plan.bytesCopied(instance.graph) >= ideal->bytesCopied(instance.graph));
  }
}

TEST_CASE("prefetching hides copies behind operators", "[swap]") {
  // Half of the parameters fit. Every copy takes half an operator's time, so
  // with copies ahead of need the chain computes nearly without a pause.
  Instance instance;
  fillChain(instance, 60, 64, kMiB / 2);
  int64_t peak = livenessPeakBytes(instance.problem())[1];
  instance.capacity[1] = peak / 2;
  Expected<Plan> ideal = planIdeal(instance.problem());
  REQUIRE(ideal);
  Plan plan = mustPlan(instance);
  CHECK(parameterCopies(instance, plan) > 0);
  CHECK(static_cast<double>(makespanNs(instance, plan)) < 1.03 * static_cast<double>(makespanNs(instance, *ideal)));
}

TEST_CASE("steady passes beat a step that starts with nothing", "[swap]") {
  Instance instance;
  fillChain(instance, 60, 64, 4 * kMiB);
  instance.capacity[1] = livenessPeakBytes(instance.problem())[1] / 2;
  SwapParams cold;
  cold.passes = 1;
  Plan once = mustPlan(instance, cold), steady = mustPlan(instance);
  CHECK(parameterCopies(instance, once) == 60);
  CHECK(parameterCopies(instance, steady) <= 36);
  CHECK(makespanNs(instance, steady) < makespanNs(instance, once));
}

TEST_CASE("cost-aware eviction earns its keep over LRU", "[swap]") {
  Rng rng(6);
  double aware = 0, lru = 0;
  for (int round = 0; round < 20; ++round) {
    Instance instance;
    fillRandom(instance, rng, 60, 1);
    std::vector<int64_t> peak = livenessPeakBytes(instance.problem());
    int64_t minimum = minimumBytes(instance.problem())[1].bytes;
    instance.capacity[1] = minimum + (peak[1] - minimum) / 4;
    SwapParams params;
    aware += static_cast<double>(mustPlan(instance, params).bytesCopied(instance.graph));
    params.eviction = EvictionPolicy::LeastRecentlyUsed;
    lru += static_cast<double>(mustPlan(instance, params).bytesCopied(instance.graph));
  }
  CHECK(aware < 0.9 * lru);
}

TEST_CASE("saving early what will be evicted earns its keep", "[swap]") {
  // Forward and back through layers whose values shrink, as a CNN's do.
  int64_t early = 0, late = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng(seed);
    Instance instance;
    instance.machine = makeMachine(1);
    Graph &graph = instance.graph;
    constexpr int kLayers = 24;
    std::vector<TensorId> values{addTensor(graph, "input", 64, TensorKind::Input)};
    int64_t total = 0;
    for (int i = 0; i < kLayers; ++i) {
      int64_t bytes = (kMiB >> (i / 8)) * static_cast<int64_t>(1 + rng.below(6));
      total += bytes;
      values.push_back(addTensor(graph, concat("value", i), bytes));
      addOperator(graph, concat("forward", i),
                  {values[i], addTensor(graph, concat("weight", i), kMiB >> 3, TensorKind::Parameter)},
                  {values.back()});
    }
    TensorId gradient = addTensor(graph, "seed", 64);
    addOperator(graph, "loss", {values.back()}, {gradient});
    for (int i = kLayers; i >= 1; --i) {
      TensorId next = addTensor(graph, concat("gradient", i), graph.tensor(values[i - 1]).bytes);
      addOperator(graph, concat("backward", i), {values[i], gradient}, {next});
      gradient = next;
    }
    graph.mutableTensor(gradient).isOutput = true;
    complete(instance);
    for (int64_t &time : instance.costs.operatorNs)
      time = (1 + static_cast<int64_t>(rng.below(4))) * kUnitNs;
    instance.capacity.back() = std::max(total / 3, minimumBytes(instance.problem())[1].bytes);
    SwapParams waiting;
    waiting.saveEarly = false;
    Expected<Plan> first = planSwapOffsets(instance.problem()), second = planSwapOffsets(instance.problem(), waiting);
    REQUIRE(first);
    REQUIRE(second);
    early += makespanNs(instance, *first);
    late += makespanNs(instance, *second);
  }
  INFO(static_cast<double>(early) / static_cast<double>(late));
  CHECK(early < late);
}

TEST_CASE("an operand that dies leaves its place to the result", "[swap]") {
  Instance instance;
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  TensorId x = addTensor(graph, "x", 64, TensorKind::Input), last = x;
  // Lives throughout, so that not everything fits.
  TensorId held = addTensor(graph, "held", 4 * kMiB);
  addOperator(graph, "hold", {x}, {held});
  for (int i = 0; i < 6; ++i) {
    TensorId next = addTensor(graph, concat("value", i), 4 * kMiB);
    OperatorId op = addOperator(graph, concat("op", i), {last}, {next});
    if (i > 0)
      graph.mutableOp(op).inPlace = {{0, 0}};
    last = next;
  }
  TensorId state = addTensor(graph, "state", 4 * kMiB, TensorKind::State);
  TensorId updated = addTensor(graph, "updated", 4 * kMiB);
  graph.setUpdates(updated, state);
  OperatorId update = addOperator(graph, "update", {last, state}, {updated});
  TensorId end = addTensor(graph, "end", 64);
  addOperator(graph, "release", {held}, {end});
  graph.mutableTensor(end).isOutput = true;
  SwapParams params;
  params.inPlace = true;
  SECTION("a chain needs one place") {
    graph.mutableOp(update).inPlace = {{1, 0}};
    complete(instance);
    instance.capacity[1] = 12 * kMiB + 64;
    Expected<Plan> plan = planSwapOffsets(instance.problem(), params);
    REQUIRE(plan);
    std::set<int64_t> places;
    for (const Residency &r : plan->residencies)
      if (r.memory == MemoryId(1) && r.tensor.valid() && graph.tensor(r.tensor).name.starts_with("value"))
        places.insert(r.offset);
    CHECK(places.size() == 1);
    // The new value where the old one was.
    std::set<int64_t> stateAt;
    for (const Residency &r : plan->residencies)
      if (r.memory == MemoryId(1) && (r.tensor == state || r.tensor == updated))
        stateAt.insert(r.offset);
    CHECK(stateAt.size() == 1);
  }
  SECTION("not what is read again, is a parameter, or another size") {
    OperatorId again = addOperator(graph, "again", {TensorId(2), TensorId(4)}, {addTensor(graph, "both", 4 * kMiB)});
    graph.mutableTensor(graph.op(again).outputs[0]).isOutput = true;
    TensorId weight = addTensor(graph, "weight", 4 * kMiB, TensorKind::Parameter);
    TensorId small = addTensor(graph, "small", kMiB);
    OperatorId other = addOperator(graph, "other", {weight, TensorId(2)}, {addTensor(graph, "sum", 4 * kMiB)});
    graph.mutableOp(other).inPlace = {{0, 0}};
    OperatorId shrink = addOperator(graph, "shrink", {graph.op(other).outputs[0]}, {small});
    graph.mutableOp(shrink).inPlace = {{0, 0}};
    complete(instance);
    instance.capacity[1] = 24 * kMiB;
    // The validator proves that nothing live is written over.
    REQUIRE(planSwapOffsets(instance.problem(), params));
  }
  SECTION("random graphs, tight") {
    params.inPlace = GENERATE(false, true);
    size_t less = 0;
    for (uint64_t seed = 0; seed < 60; ++seed) {
      Instance random;
      Rng rng(seed);
      fillRandom(random, rng, 20, 1 + static_cast<int>(seed % 2));
      if (seed % 3 == 0)
        for (uint32_t i = 0; i < random.graph.numTensors(); ++i)
          random.graph.mutableTensor(TensorId(i)).bytes = 6400;
      for (uint32_t i = 0; i < random.graph.numOperators(); ++i) {
        Operator &op = random.graph.mutableOp(OperatorId(i));
        for (uint32_t in = 0; in < op.inputs.size(); ++in)
          for (uint32_t out = 0; out < op.outputs.size(); ++out)
            if (rng.chance(0.7))
              op.inPlace.push_back({in, out});
      }
      std::vector<MinimumBytes> minimum = minimumBytes(random.problem());
      std::vector<int64_t> peak = livenessPeakBytes(random.problem());
      // The minimum counts what is written over an operand once.
      int64_t largest = 0;
      for (uint32_t i = 0; i < random.graph.numOperators(); ++i)
        if (random.machine.device(random.placement[i]).memory == MemoryId(1))
          largest = std::max(largest, random.graph.workingSetBytes(OperatorId(i)));
      less += minimum[1].bytes < largest;
      for (double share : {0.0, 0.4}) {
        for (size_t m = 1; m < minimum.size(); ++m)
          random.capacity[m] = minimum[m].bytes + static_cast<int64_t>(share * double(peak[m] - minimum[m].bytes));
        Expected<Plan> plan = planSwapOffsets(random.problem(), params);
        INFO(seed << " " << (plan ? "" : plan.error().message));
        CHECK(plan);
      }
    }
    CHECK(less > 5);
  }
}

TEST_CASE("the search by bounds finds the plan that looking at every window finds", "[swap]") {
  size_t planned = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Instance random;
    Rng rng(seed);
    fillRandom(random, rng, 20 + 4 * (seed % 20), 1 + static_cast<int>(seed % 2));
    const std::vector<MinimumBytes> minimum = minimumBytes(random.problem());
    const std::vector<int64_t> peak = livenessPeakBytes(random.problem());
    SwapParams params;
    params.inPlace = seed % 3 == 0;
    params.distanceExponent = std::array{0.0, 0.5, 1.0, 2.5}[seed % 4];
    params.stallWeight = std::array{1.0, 0.0, 3.7}[seed % 3];
    params.idleWeight = std::array{1.0, 0.3}[seed % 2];
    for (double share : {0.0, 0.2, 0.6}) {
      for (size_t m = 1; m < minimum.size(); ++m)
        random.capacity[m] = minimum[m].bytes + static_cast<int64_t>(share * double(peak[m] - minimum[m].bytes));
      SwapParams all = params;
      all.searchAllWindows = true;
      const Expected<Plan> plan = planSwapOffsets(random.problem(), params),
                           other = planSwapOffsets(random.problem(), all);
      INFO(seed << " at " << share);
      REQUIRE(plan.has_value() == other.has_value());
      if (!plan) {
        CHECK(plan.error().message == other.error().message);
        continue;
      }
      ++planned;
      CHECK(planToJson(random.graph, random.machine, *plan) == planToJson(random.graph, random.machine, *other));
    }
  }
  CHECK(planned > 300);
}

TEST_CASE("values cross between accelerators by the host or a direct link", "[swap]") {
  for (bool direct : {false, true}) {
    Instance instance;
    instance.machine = makeMachine(2, direct);
    Graph &graph = instance.graph;
    TensorId x = addTensor(graph, "x", 640), y = addTensor(graph, "y", 640), z = addTensor(graph, "z", 640);
    addOperator(graph, "on0", {}, {x});
    addOperator(graph, "on1", {x}, {y});
    addOperator(graph, "back", {x, y}, {z});
    graph.mutableTensor(z).isOutput = true;
    instance.placement = {DeviceId(1), DeviceId(2), DeviceId(1)};
    complete(instance);
    Plan plan = mustPlan(instance);
    // x over, y back, z home; each hop of x and y by way of the host is two.
    CHECK(plan.bytesCopied(graph) == (direct ? 3 : 5) * 640);
    CHECK(plan.arenaBytes[0] == (direct ? 0 : 1280));
  }
}

TEST_CASE("a state's new value goes home after another accelerator has fetched the old one", "[swap]") {
  Instance instance;
  instance.machine = makeMachine(2);
  Graph &graph = instance.graph;
  TensorId state = addTensor(graph, "state", kMiB, TensorKind::State);
  TensorId read = addTensor(graph, "read", 64), next = addTensor(graph, "next", kMiB, TensorKind::State);
  graph.setUpdates(next, state);
  graph.mutableTensor(read).isOutput = true;
  addOperator(graph, "reader", {state}, {read});
  addOperator(graph, "writer", {}, {next});
  instance.placement = {DeviceId(2), DeviceId(1)};
  complete(instance);
  Plan plan = mustPlan(instance);
  auto copyOf = [&](TensorId tensor) {
    return std::find_if(plan.commands.begin(), plan.commands.end(), [&](const Command &command) {
      return command.kind == CommandKind::Copy && plan.residencies[command.reads[0].index()].tensor == tensor;
    });
  };
  auto in = copyOf(state), out = copyOf(next);
  REQUIRE(in != plan.commands.end());
  REQUIRE(out != plan.commands.end());
  const CommandId fetched(static_cast<size_t>(in - plan.commands.begin()));
  CHECK(std::find(out->waits.begin(), out->waits.end(), fetched) != out->waits.end());
}

TEST_CASE("host operators work in homes and their own arena", "[swap]") {
  Instance instance;
  instance.machine = makeMachine(0);
  Graph &graph = instance.graph;
  TensorId in = addTensor(graph, "in", 100, TensorKind::Input), w = addTensor(graph, "w", 100, TensorKind::Parameter);
  TensorId a = addTensor(graph, "a", 100), b = addTensor(graph, "b", 100), c = addTensor(graph, "c", 100);
  addOperator(graph, "first", {in, w}, {a});
  addOperator(graph, "second", {a}, {b});
  graph.mutableOp(addOperator(graph, "third", {b}, {c})).workspaceBytes = 10;
  graph.mutableTensor(c).isOutput = true;
  complete(instance);
  Plan plan = mustPlan(instance);
  CHECK(plan.bytesCopied(graph) == 0);
  CHECK(plan.arenaBytes[0] == 256);
  CHECK(livenessPeakBytes(instance.problem())[0] == 256);
  CHECK(minimumBytes(instance.problem())[0].bytes == 256);
  instance.capacity[0] = 192;
  Expected<Plan> refused = planSwapOffsets(instance.problem());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Infeasible);
  CHECK(refused.error().message.find("'host'") != std::string::npos);
}

TEST_CASE("on-demand swapping plans, or says that it fragmented", "[swap]") {
  Rng rng(8);
  int planned = 0;
  for (int round = 0; round < 60; ++round) {
    Instance instance;
    fillRandom(instance, rng, 5 + rng.below(50), round % 2 ? 1 : 2);
    std::vector<int64_t> peak = livenessPeakBytes(instance.problem());
    std::vector<MinimumBytes> minimum = minimumBytes(instance.problem());
    for (size_t m = 1; m < peak.size(); ++m)
      instance.capacity[m] = minimum[m].bytes + (peak[m] - minimum[m].bytes) / 3;
    Expected<Plan> plan = planOdSwap(instance.problem());
    if (plan)
      ++planned;
    else
      CHECK(plan.error().message.find("fragmentation") != std::string::npos);
  }
  CHECK(planned > 30);
}

TEST_CASE("planning is deterministic and within its time", "[swap]") {
  Instance instance;
  fillChain(instance, 10000, 6400, 64000);
  int64_t minimum = minimumBytes(instance.problem())[1].bytes;
  instance.capacity[1] = minimum + (livenessPeakBytes(instance.problem())[1] - minimum) / 4;
  Plan first = mustPlan(instance), second = mustPlan(instance);
  REQUIRE(first.commands.size() == second.commands.size());
  for (size_t i = 0; i < first.residencies.size(); ++i)
    REQUIRE(first.residencies[i].offset == second.residencies[i].offset);
}

TEST_CASE("a parameter larger than all others does not prevent a streaming plan", "[swap]") {
  // A table and 48 weights, each read once: a third of them small.
  Instance instance;
  instance.machine = makeMachine(1);
  Graph &graph = instance.graph;
  TensorId value = addTensor(graph, "x", 4096, TensorKind::Input);
  auto append = [&](const std::string &name, int64_t bytes) {
    const TensorId weight = addTensor(graph, name, bytes, TensorKind::Parameter),
                   result = addTensor(graph, name + "_y", 4096);
    addOperator(graph, name + "_op", {value, weight}, {result});
    value = result;
  };
  append("table", 32 * kMiB);
  for (int i = 0; i < 48; ++i)
    append("weight" + std::to_string(i), i % 3 == 0 ? kMiB / 4 : 2 * kMiB);
  complete(instance);
  instance.costs.operatorNs.assign(instance.costs.operatorNs.size(), kUnitNs / 10);
  instance.machine.links[0].latencyNs = kUnitNs / 10;
  // 68 MiB of weights and 32 MiB of the table; 20 MiB are missing, and two buffers take 4 MiB more.
  instance.capacity[1] = 80 * kMiB;
  const Plan plan = mustPlan(instance);
  CHECK(parameterCopies(instance, plan) <= 13);
  CHECK(makespanNs(instance, plan) <= 27'600'000);
}
