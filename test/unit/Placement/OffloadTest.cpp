//===- OffloadTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Skip.h"
#include "OffloadIndex.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

using namespace sluice;

namespace {

/// Accelerators are several times faster; moving costs about as much as it saves.
OffloadProblem randomProblem(uint64_t seed, uint32_t count, uint32_t accelerators, bool chain) {
  Rng rng(seed);
  OffloadProblem problem;
  problem.name = concat("random", seed);
  problem.accelerators = accelerators;
  problem.accelBytes = 3.0 * count / std::max(accelerators, 1u);
  for (uint32_t i = 0; i < count; ++i) {
    OffloadNode node;
    node.name = concat("n", i);
    node.cpuTime = static_cast<double>(1 + rng.below(40));
    node.accelTime = static_cast<double>(1 + rng.below(8));
    node.bytes = static_cast<double>(1 + rng.below(5));
    node.supported = !rng.chance(0.1);
    node.colour = !chain && rng.chance(0.3) ? static_cast<int32_t>(rng.below(2)) : -1;
    problem.nodes.push_back(node);
    for (uint32_t from = 0; from < i; ++from)
      if (chain ? from + 1 == i : rng.chance(2.0 / i))
        problem.edges.push_back({from, i, static_cast<double>(rng.below(12))});
  }
  return problem;
}

/// Every assignment that the rules allow: the least latency.
double enumerate(const OffloadProblem &problem) {
  const OffloadIndex index(problem);
  OffloadTimer timer(index);
  double best = std::numeric_limits<double>::infinity();
  int tried = 0;
  OffloadSolution solution;
  solution.part.assign(problem.nodes.size(), OffloadSolution::kCpu);
  auto step = [&](auto &self, size_t unit) -> void {
    if (unit == index.units.size()) {
      solution.latency = timer.latency(solution.part);
      const bool valid = solution.latency >= 0;
      // Two independent ways to time it agree, on what is allowed and on how long.
      solution.latency = std::max(solution.latency, 0.0);
      if (tried++ % 7 == 0)
        REQUIRE(bool(validateOffload(problem, solution)) == valid);
      if (valid)
        best = std::min(best, solution.latency);
      return;
    }
    const int32_t last = index.unitSupported[unit] ? static_cast<int32_t>(problem.accelerators) : 0;
    for (int32_t part = OffloadSolution::kCpu; part < last; ++part) {
      for (uint32_t node : index.units[unit])
        solution.part[node] = part;
      self(self, unit + 1);
    }
  };
  step(step, 0);
  return best;
}

OffloadSolution solve(const OffloadProblem &problem, OffloadParams params) {
  Expected<OffloadSolution> solution = solveOffload(problem, params);
  INFO((solution ? std::string() : solution.error().message));
  REQUIRE(solution);
  CHECK(validateOffload(problem, *solution));
  CHECK(solution->bound <= solution->latency * (1 + 1e-9));
  return *solution;
}

std::vector<std::string> baselines() {
  std::vector<std::string> names = offloadSolverNames();
  names.erase(names.begin());
  return names;
}

Budget evaluations(int64_t count) {
  Budget budget;
  budget.evaluations = count;
  return budget;
}

} // namespace

TEST_CASE("a worked example of an accelerator's call", "[offload]") {
  // a -> b -> d, a -> c -> d: b and c as one call move a in once and both out.
  OffloadProblem problem;
  problem.name = "diamond";
  problem.nodes = {
      {"a", 1, 9, 1, true, -1}, {"b", 10, 1, 1, true, -1}, {"c", 10, 2, 1, true, -1}, {"d", 1, 9, 1, true, -1}};
  problem.edges = {{0, 1, 0.5}, {0, 2, 0.5}, {1, 3, 0.25}, {2, 3, 0.75}};
  problem.accelerators = 1;
  problem.accelBytes = 2;
  OffloadSolution solution{{-1, 0, 0, -1}, 1 + (0.5 + 1 + 2 + 0.25 + 0.75) + 1};
  CHECK(validateOffload(problem, solution));
  CHECK(solve(problem, {}).latency == Approx(6.5));
  // Too small a memory for both: c alone.
  problem.accelBytes = 1;
  CHECK(solve(problem, {}).latency == Approx(12));
}

TEST_CASE("annealing finds the enumerated optimum, and the bound holds", "[offload]") {
  int improved = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    OffloadProblem problem = randomProblem(seed, 7, seed % 4, false);
    REQUIRE(problem.check());
    const double optimum = enumerate(problem);
    OffloadSolution best = solve(problem, {"best", evaluations(20000)});
    CHECK(best.latency == Approx(optimum).epsilon(1e-9));
    CHECK(offloadLowerBound(problem) <= optimum * (1 + 1e-9));
    improved += best.solver == "best (annealing)";
    for (const std::string &solver : baselines())
      if (Expected<OffloadSolution> other = solveOffload(problem, {solver}))
        CHECK(other->latency >= optimum * (1 - 1e-9));
  }
  CHECK(improved > 10);
}

TEST_CASE("dynamic programming and the bound are exact for a chain", "[offload]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    OffloadProblem problem = randomProblem(seed, 7, 1 + seed % 3, true);
    const double optimum = enumerate(problem);
    CHECK(solve(problem, {"dp-split"}).latency == Approx(optimum));
    CHECK(offloadLowerBound(problem) == Approx(optimum));
  }
}

TEST_CASE("never worse than a baseline, the same on any number of threads", "[offload]") {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    OffloadProblem problem = randomProblem(seed, 80, 1 + seed % 5, seed % 4 == 3);
    OffloadSolution best = solve(problem, {"best", evaluations(4000), seed, 1});
    OffloadSolution threaded = solve(problem, {"best", evaluations(4000), seed, 3});
    CHECK(best.part == threaded.part);
    for (const std::string &solver : baselines())
      if (Expected<OffloadSolution> other = solveOffload(problem, {solver}))
        CHECK(best.latency <= other->latency);
  }
}

TEST_CASE("large graphs stay within the work allowed", "[offload]") {
  OffloadProblem problem = randomProblem(1, 20'000, 4, true);
  for (uint32_t i = 0; i + 50 < 20'000; i += 7)
    problem.edges.push_back({i, i + 50, 1});
  OffloadSolution best = solve(problem, {"best", evaluations(40)});
  CHECK(best.latency <= solve(problem, {"cpu"}).latency);
}

TEST_CASE("the offload validator sees each broken rule", "[offload]") {
  OffloadProblem problem = randomProblem(4, 12, 2, true);
  for (OffloadNode &node : problem.nodes)
    node.supported = true;
  problem.nodes[3].colour = problem.nodes[4].colour = 1;
  problem.accelBytes = 100;
  OffloadSolution good = solve(problem, {"best", evaluations(4000)});
  OffloadSolution bad = good;
  std::string expected;
  SECTION("latency") {
    bad.latency *= 0.99;
    expected = "the solution states a latency";
  }
  SECTION("an accelerator too many") {
    bad.part[0] = 2;
    expected = "there are only 2";
  }
  SECTION("a part too few") {
    bad.part.pop_back();
    expected = "11 parts";
  }
  SECTION("colours apart") {
    bad.part[3] = bad.part[4] == 0 ? 1 : 0;
    expected = "of the other nodes of its colorClass";
  }
  SECTION("not supported") {
    bad.part.assign(12, 0);
    problem.nodes[5].supported = false;
    expected = "does not support this node";
  }
  SECTION("too large") {
    bad.part.assign(12, 0);
    problem.accelBytes = 1;
    expected = "bytes of 1";
  }
  SECTION("a set that waits for itself") {
    bad.part.assign(12, 0);
    bad.part[6] = -1;
    expected = "in a cycle";
  }
  Status status = validateOffload(problem, bad);
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, Catch::Contains(expected));
}

TEST_CASE("wrong offload instances are named", "[offload]") {
  const Json good = Json::parse(R"({"maxSizePerFPGA": 4, "maxFPGAs": 1, "maxCPUs": 2,
    "nodes": [{"id": 7, "cpuLatency": 2, "fpgaLatency": 1, "size": 1, "supportedOnFpga": 1, "colorClass": null},
              {"id": 9, "cpuLatency": 2, "fpgaLatency": 1, "size": 1, "supportedOnFpga": true}],
    "edges": [{"sourceId": 7, "destId": 9, "cost": 1}]})");
  Expected<OffloadProblem> problem = offloadFromJson(JsonReader(good, "file"));
  REQUIRE(problem);
  CHECK(solve(*problem, {}).latency == 2);
  const std::pair<const char *, std::pair<Json, const char *>> cases[] = {
      {"/nodes/1/id", {7, "node 7 is listed twice"}},
      {"/nodes/1/cpuLatency", {-1, "negative"}},
      {"/nodes/1/cpuLatency", {"x", "nodes[1].cpuLatency"}},
      {"/nodes/1/size", {1e301, "not finite"}},
      {"/nodes/1/supportedOnFpga", {"yes", "supportedOnFpga"}},
      {"/nodes/1/colorClass", {int64_t(1) << 40, "32 bits"}},
      {"/edges/0/destId", {8, "node 8 does not exist"}},
      {"/edges/0/destId", {7, "cycle"}},
      {"/edges/0/cost", {-3, "has the cost -3"}},
      {"/maxFPGAs", {-1, "maxFPGAs is -1"}},
      {"/maxFPGAs", {0.5, "maxFPGAs is 0.5"}},
      {"/maxFPGAs", {1e9, "at most 1024"}},
      {"/maxCPUs", {0, "at least 1"}},
      {"/maxSizePerFPGA", {-4, "memory of an accelerator is -4"}},
      {"/nodes", {Json::array(), "node 7 does not exist"}},
      {"/nodes", {3, "nodes"}},
  };
  for (const auto &[where, change] : cases) {
    Json bad = good;
    bad[Json::json_pointer(where)] = change.first;
    INFO(where << " = " << change.first.dump());
    Expected<OffloadProblem> read = offloadFromJson(JsonReader(bad, "file"));
    REQUIRE_FALSE(read);
    CHECK_THAT(read.error().message, Catch::Contains(change.second));
  }
  for (const char *key : {"maxFPGAs", "maxCPUs", "maxSizePerFPGA", "nodes", "edges"}) {
    Json bad = good;
    bad.erase(key);
    CHECK_FALSE(offloadFromJson(JsonReader(bad, "file")));
  }
  CHECK_THAT(solveOffload(*problem, {"magic"}).error().message, Catch::Contains("dp-split"));
}

TEST_CASE("published instances are solved as well as is known", "[offload]") {
  const std::filesystem::path folder = std::filesystem::path(SLUICE_SOURCE_DIR) / "../shared/bench/dnn-partitioning";
  if (!std::filesystem::exists(folder))
    return test::skip("no ../shared/bench/dnn-partitioning beside the sources");
  // What is known, and a tenth of the evaluations that a user's call makes.
  const std::pair<const char *, double> known[] = {
      {"bert24", 100.22}, {"gnmt", 226}, {"resnet50", 1157 * 1.01}, {"bert_l-3", 409 * 1.01}};
  for (auto [name, latency] : known) {
    INFO(name);
    const std::string path = (folder / concat(name, "_inference.json")).string();
    Expected<Json> json = readJsonFile(path);
    REQUIRE(json);
    CHECK(isOffloadJson(*json));
    Expected<OffloadProblem> problem = offloadFromJson(JsonReader(*json, path));
    REQUIRE(problem);
    OffloadSolution best = solve(*problem, {"best", evaluations(800'000)});
    CHECK(best.latency <= latency);
    CHECK(best.optimal() == (std::string(name) == "bert24"));
  }
}
