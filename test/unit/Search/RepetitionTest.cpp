//===- RepetitionTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Repetition.h"

#include "CheckedSearch.h"
#include "RandomGraph.h"
#include "sluice/Plan/PlanJson.h"
#include "sluice/Search/Orders.h"
#include "sluice/Simulator/Simulator.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace sluice;
using namespace sluice::test;

namespace {

constexpr size_t kLeast = 4;

/// An operator of a random block: its inputs are earlier results of the block, or the results of the block before.
struct Member {
  std::vector<int> reads; ///< Not negative: a result of the block; negative: result -1 - i of the block before.
  int64_t bytes = 0, parameterBytes = 0, workspaceBytes = 0, ns = 0;
};

/// A prologue, `layers` equal random blocks, with `trains` as many blocks that go back through them and update the
/// parameters, and an epilogue.
Instance layeredInstance(uint64_t seed, size_t layers, bool trains) {
  Rng rng(seed);
  Instance instance;
  instance.machine = starMachine(1);
  Graph &graph = instance.graph;
  graph.name = concat("layers", seed);
  std::vector<Member> block(2 + rng.below(4));
  for (size_t i = 0; i < block.size(); ++i) {
    Member &member = block[i];
    member.reads = {i == 0 ? -static_cast<int>(block.size()) : static_cast<int>(i) - 1};
    if (i > 1 && rng.chance(0.4))
      member.reads.push_back(static_cast<int>(rng.below(i - 1)));
    member.bytes = 64 * static_cast<int64_t>(1 + rng.below(16));
    member.parameterBytes = rng.chance(0.7) ? 64 * static_cast<int64_t>(1 + rng.below(16)) : 0;
    member.workspaceBytes = rng.chance(0.2) ? 128 : 0;
    member.ns = 1 + static_cast<int64_t>(rng.below(900));
  }
  auto run = [&](std::string name, std::vector<TensorId> inputs, TensorId output, int64_t ns, int64_t workspace = 0) {
    Operator op;
    op.name = std::move(name);
    op.kind = "test";
    op.inputs = std::move(inputs);
    op.outputs = {output};
    op.workspaceBytes = workspace;
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), {1, ns});
    return output;
  };
  auto add = [&](TensorKind kind, int64_t bytes) { return addTensor(graph, kind, bytes); };
  TensorId first = run("first", {add(TensorKind::Input, 192)}, add(TensorKind::Activation, block.back().bytes), 77);
  std::vector<TensorId> before(block.size(), first);
  std::vector<std::vector<TensorId>> values, weights;
  for (size_t layer = 0; layer < layers; ++layer) {
    std::vector<TensorId> own, parameters;
    for (size_t i = 0; i < block.size(); ++i) {
      std::vector<TensorId> inputs;
      for (int read : block[i].reads)
        inputs.push_back(read >= 0 ? own[static_cast<size_t>(read)] : before[static_cast<size_t>(-1 - read)]);
      parameters.push_back(TensorId());
      if (block[i].parameterBytes > 0) {
        parameters.back() = add(trains ? TensorKind::State : TensorKind::Parameter, block[i].parameterBytes);
        inputs.push_back(parameters.back());
      }
      own.push_back(run(concat("f", layer, ".", i), std::move(inputs), add(TensorKind::Activation, block[i].bytes),
                        block[i].ns, block[i].workspaceBytes));
    }
    values.push_back(own);
    weights.push_back(parameters);
    before = own;
  }
  TensorId last = run("last", {before.back()}, add(TensorKind::Activation, 64), 55);
  for (size_t layer = layers; trains && layer-- > 0;)
    for (size_t i = block.size(); i-- > 0;) {
      const TensorId value = values[layer][i], weight = weights[layer][i];
      last = run(concat("b", layer, ".", i), {value, last}, add(TensorKind::Activation, 64), block[i].ns * 2);
      if (!weight.valid())
        continue;
      const TensorId updated = add(TensorKind::Activation, block[i].parameterBytes);
      graph.setUpdates(updated, weight);
      run(concat("u", layer, ".", i), {last, weight}, updated, 30);
    }
  graph.mutableTensor(last).isOutput = true;
  instance.costs.numDevices = 2;
  instance.placement.assign(graph.numOperators(), DeviceId(1u));
  REQUIRE(graph.check());
  return instance;
}

std::optional<Repetition> find(const Instance &instance) {
  return findRepetition(instance.graph, instance.costs, instance.placement, kLeast);
}

size_t covered(const BlockRun &run) { return run.period * run.count; }

/// The most operators that one run covers, over all of them.
size_t mostCovered(const Instance &instance) {
  Repetition repetition{*instance.graph.topologicalOrder(), {{}}, 0};
  BlockRun &run = repetition.runs.front();
  const size_t operators = instance.graph.numOperators();
  size_t most = 0;
  for (run.period = 1; run.period * kLeast <= operators; ++run.period)
    for (run.begin = 0; run.begin + run.period * kLeast <= operators; ++run.begin)
      for (run.count = kLeast; run.end() <= operators; ++run.count) {
        if (!check(instance.graph, instance.costs, instance.placement, repetition))
          break;
        most = std::max(most, covered(run));
      }
  return most;
}

/// A random topological order.
Schedule randomOrder(const Graph &graph, uint64_t seed) {
  Rng rng(seed);
  return mutateOrder(graph, modelOrder(graph), 1.0, rng);
}

SearchResult solve(const SearchProblem &problem, const char *solver, int64_t evaluations, int threads = 1) {
  SearchParams params;
  params.solver = solver;
  params.timeNs = 0;
  params.evaluations = evaluations;
  params.seed = 3;
  params.threads = threads;
  return test::solve(problem, params);
}

} // namespace

TEST_CASE("the longest run of blocks is found", "[repetition]") {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const Instance instance = layeredInstance(seed, 7, seed % 2 == 1);
    INFO(instance.graph.name);
    const std::optional<Repetition> found = find(instance);
    REQUIRE(found);
    REQUIRE(check(instance.graph, instance.costs, instance.placement, *found));
    size_t most = 0, period = 0;
    for (const BlockRun &run : found->runs)
      if (covered(run) > most)
        most = covered(run), period = run.period;
    // A run may begin one block later than the longest of all, whose first block reads from elsewhere.
    CHECK(most + period >= mostCovered(instance));
  }
}

TEST_CASE("graphs without repeated blocks have no repetition", "[repetition]") {
  for (uint64_t seed = 0; seed < 20; ++seed)
    CHECK_FALSE(find(randomInstance(seed, 40)));
  const Instance instance = layeredInstance(1, 7, false);
  CHECK_FALSE(findRepetition(instance.graph, instance.costs, instance.placement, 8));
}

TEST_CASE("the check of a repetition names what differs", "[repetition]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Instance instance = layeredInstance(seed, 8, seed % 2 == 1);
    const std::optional<Repetition> found = find(instance);
    REQUIRE(found);
    const BlockRun run = found->runs.front();
    const OperatorId op = found->order[run.begin + run.period * (run.count / 2)];
    auto isRefused = [&](const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
                         const Repetition &repetition) {
      const Status status = check(graph, costs, placement, repetition);
      return !status && status.error().message.find("'" + graph.op(op).name + "'") != std::string::npos;
    };
    Instance other = instance;
    other.graph.mutableOp(op).flops += 1;
    CHECK(isRefused(other.graph, instance.costs, instance.placement, *found));
    other = instance;
    other.graph.mutableTensor(instance.graph.op(op).outputs[0]).bytes += 1;
    CHECK(isRefused(other.graph, instance.costs, instance.placement, *found));
    other = instance;
    other.costs.operatorNs[op.index() * 2 + 1] += 1;
    CHECK(isRefused(instance.graph, other.costs, instance.placement, *found));
    other = instance;
    other.placement[op.index()] = DeviceId(0u);
    CHECK(isRefused(instance.graph, instance.costs, other.placement, *found));
    // A block that reads another block's result.
    other = instance;
    for (TensorId &input : other.graph.mutableOp(op).inputs)
      if (instance.graph.tensor(input).producer.valid())
        input = instance.graph.op(found->order[run.begin]).outputs[0];
    CHECK_FALSE(check(other.graph, instance.costs, instance.placement, *found));
    Repetition moved = *found;
    moved.runs.front().count += instance.graph.numOperators();
    CHECK_FALSE(check(instance.graph, instance.costs, instance.placement, moved));
  }
}

TEST_CASE("a training step's passes belong together layer by layer", "[repetition]") {
  const Instance instance = layeredInstance(5, 12, true);
  const std::optional<Repetition> found = find(instance);
  REQUIRE(found);
  REQUIRE(found->runs.size() == 2);
  CHECK(found->runs[0].isReversed != found->runs[1].isReversed);
  // Operators of a layer have the layer's number in their names.
  std::map<int64_t, std::set<std::string>> names;
  for (const BlockRun &run : found->runs)
    for (size_t block = 1; block + 1 < run.count; ++block) {
      const std::string &name = instance.graph.op(found->order[run.begin + block * run.period]).name;
      names[run.layerOf(block)].insert(name.substr(1, name.find('.') - 1));
    }
  size_t alike = 0;
  for (const auto &[layer, own] : names)
    alike += own.size() == 1;
  CHECK(alike + 2 >= names.size());
}

TEST_CASE("folded graphs keep the layers at both ends, and orders extend to all layers", "[repetition]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Instance instance = layeredInstance(seed, 11, seed % 2 == 1);
    INFO(instance.graph.name);
    const std::optional<Repetition> found = find(instance);
    REQUIRE(found);
    CHECK_FALSE(FoldedGraph::of(instance.graph, instance.costs, *found, found->layers));
    CHECK_FALSE(FoldedGraph::of(instance.graph, instance.costs, *found, 1));
    const std::optional<FoldedGraph> folded = FoldedGraph::of(instance.graph, instance.costs, *found, 4);
    REQUIRE(folded);
    REQUIRE(folded->graph().check());
    size_t kept = instance.graph.numOperators();
    for (const BlockRun &run : found->runs)
      kept -= run.period * static_cast<size_t>(found->layers - 4);
    CHECK(folded->graph().numOperators() == kept);
    CHECK(folded->costs().operatorNs.size() == 2 * kept);
    CHECK(folded->placement(instance.placement).size() == kept);
    CHECK(folded->graph().op(OperatorId(0u)).name == "first");
    CHECK(folded->expandOrder(modelOrder(folded->graph())) == modelOrder(instance.graph));
    for (uint64_t i = 0; i < 10; ++i)
      CHECK(instance.graph.isTopological(folded->expandOrder(randomOrder(folded->graph(), i))));
    // A block's operators run again in all layers.
    Recomputation again;
    again.late.assign(kept, false);
    for (size_t i = 0; i < kept; ++i)
      if (folded->graph().isRepeatable(OperatorId(i)))
        again.again.push_back(OperatorId(i));
    const Recomputation all = folded->expandRecomputation(again);
    for (size_t i = 0; i < instance.graph.numOperators(); ++i)
      CHECK(std::binary_search(all.again.begin(), all.again.end(), OperatorId(i)) ==
            instance.graph.isRepeatable(OperatorId(i)));
  }
}

TEST_CASE("a few equal neighbours are no layers", "[repetition]") {
  // 60 different operators in a chain, each with a weight, and 12 equal readers of the last one.
  Instance instance;
  instance.machine = starMachine(1);
  Graph &graph = instance.graph;
  auto run = [&](const char *kind, int number, std::vector<TensorId> inputs, int64_t bytes) {
    Operator op;
    op.name = concat(kind, graph.numOperators());
    op.kind = kind;
    op.inputs = std::move(inputs);
    op.outputs = {addTensor(graph, TensorKind::Activation, bytes)};
    graph.addOperator(op);
    instance.costs.operatorNs.insert(instance.costs.operatorNs.end(), {1, 100 + number});
    return graph.operators().back().outputs.front();
  };
  TensorId last = addTensor(graph, TensorKind::Input, 640);
  for (int i = 0; i < 60; ++i)
    last = run("different", i, {last, addTensor(graph, TensorKind::Parameter, 64 * (i + 1))}, 64 * (i + 1));
  for (int i = 0; i < 12; ++i) {
    const TensorId update = run("equal", 0, {last}, 64);
    graph.mutableTensor(update).isOutput = true;
  }
  instance.costs.numDevices = 2;
  instance.placement.assign(graph.numOperators(), DeviceId(1u));
  REQUIRE(graph.check());
  REQUIRE(findRepetition(graph, instance.costs, instance.placement, 10));
  const SearchProblem problem = instance.problem(0.5);
  for (const Baseline &baseline : solve(problem, "by-period", 100).baselines)
    CHECK_FALSE(baseline.name.starts_with("by-period"));
}

TEST_CASE("a search by period is almost as good as the full search", "[repetition]") {
  double ratios = 0;
  int count = 0;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Instance instance = layeredInstance(seed, 16, seed % 2 == 1);
    INFO(instance.graph.name);
    const SearchProblem problem = instance.problem(0.25);
    const SearchResult full = solve(problem, "default", 300), part = solve(problem, "by-period", 300);
    CHECK(part.evaluations <= 300);
    CHECK(static_cast<double>(part.makespanNs) <= 1.15 * static_cast<double>(full.makespanNs));
    ratios += static_cast<double>(part.makespanNs) / static_cast<double>(full.makespanNs);
    ++count;
  }
  CHECK(ratios / count < 1.03);
}

TEST_CASE("without repeated layers, a search by period is the full search", "[repetition]") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Instance instance = randomInstance(seed, 25);
    const SearchProblem problem = instance.problem(0.3);
    CHECK(solve(problem, "by-period", 100).makespanNs == solve(problem, "default", 100).makespanNs);
  }
}

TEST_CASE("a search by period makes the same plan on one and two threads", "[repetition]") {
  const Instance instance = layeredInstance(3, 14, true);
  const SearchProblem problem = instance.problem(0.3);
  auto text = [&](int threads) {
    return planToJson(instance.graph, instance.machine, solve(problem, "by-period", 200, threads).plan).dump();
  };
  CHECK(text(1) == text(2));
}
