//===- TilingTest.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Tiling.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

using namespace sluice;

namespace {

/// `density` edges a node; some pairs forbidden; a limit between the least and the
/// most usage where `limited`.
TilingProblem randomProblem(uint64_t seed, uint32_t count, uint32_t strategies, double density, bool limited,
                            bool forbidding = true) {
  Rng rng(seed);
  TilingProblem problem;
  problem.name = concat("random", seed);
  int64_t least = 0, most = 0;
  for (uint32_t i = 0; i < count; ++i) {
    TilingNode node{concat("n", i), 0, 0, {}, {}};
    node.lower = static_cast<int64_t>(i);
    node.upper = node.lower + static_cast<int64_t>(rng.below(count));
    for (uint64_t k = 1 + rng.below(strategies); k-- > 0;) {
      node.costs.push_back(static_cast<int64_t>(rng.below(50)));
      node.usages.push_back(static_cast<int64_t>(1 + rng.below(20)));
    }
    problem.nodes.push_back(std::move(node));
  }
  for (uint32_t to = 1; to < count; ++to)
    for (uint32_t from = 0; from < to; ++from)
      if (rng.chance(density / to)) {
        TilingMatrix matrix{static_cast<uint32_t>(problem.nodes[from].costs.size()),
                            static_cast<uint32_t>(problem.nodes[to].costs.size()),
                            {}};
        for (uint32_t e = 0; e < matrix.rows * matrix.columns; ++e)
          matrix.costs.push_back(forbidding && rng.chance(0.1) ? kForbiddenTilingCost
                                                               : static_cast<int64_t>(rng.below(60)));
        problem.edges.push_back({from, to, static_cast<uint32_t>(problem.matrices.size())});
        problem.matrices.push_back(std::move(matrix));
      }
  if (limited) {
    // Somewhere between the least and the most of the busiest time.
    for (const TilingNode &at : problem.nodes) {
      int64_t low = 0, high = 0;
      for (const TilingNode &node : problem.nodes)
        if (node.lower <= at.lower && at.lower < node.upper) {
          low += *std::min_element(node.usages.begin(), node.usages.end());
          high += *std::max_element(node.usages.begin(), node.usages.end());
        }
      least = std::max(least, low);
      most = std::max(most, high);
    }
    problem.usageLimit = least + static_cast<int64_t>(rng.below(static_cast<uint64_t>(most - least) / 2 + 1));
  }
  return problem;
}

/// The least cost over all choices; the forbidden one where none fits or is allowed.
int64_t enumerate(const TilingProblem &problem) {
  const size_t count = problem.nodes.size();
  TilingSolution solution;
  solution.choice.assign(count, 0);
  int64_t best = kForbiddenTilingCost;
  while (true) {
    if (int64_t cost = problem.cost(solution.choice); cost < best) {
      solution.cost = cost;
      if (validateTiling(problem, solution))
        best = cost;
    }
    size_t i = 0;
    while (i < count && ++solution.choice[i] == problem.nodes[i].costs.size())
      solution.choice[i++] = 0;
    if (i == count)
      return best;
  }
}

void checkOptimum(const TilingProblem &problem, int64_t least) {
  Expected<TilingSolution> solution = solveTiling(problem);
  if (least == kForbiddenTilingCost) {
    REQUIRE(!solution);
    CHECK(solution.error().code == ErrorCode::Infeasible);
    return;
  }
  REQUIRE(solution);
  CHECK(validateTiling(problem, *solution));
  CHECK(solution->cost == least);
  CHECK(solution->optimal());
}

/// true = row, false = column: each clause gives six expressions map(swapaxis(Li), Lj),
/// i != j, that cost 1 where literal i's tiling, swapped, is not literal j's.
TilingProblem notAllEqual(uint32_t variables, const std::vector<std::array<int32_t, 3>> &clauses) {
  TilingProblem problem;
  problem.name = "nae-3sat";
  problem.nodes.assign(variables, {"x", 0, 0, {0, 0}, {0, 0}});
  problem.matrices = {{2, 2, {1, 0, 0, 1}}, {2, 2, {0, 1, 1, 0}}}; // Literals of one sign, of two.
  for (const std::array<int32_t, 3> &clause : clauses)
    for (size_t i = 0; i < 3; ++i)
      for (size_t j = 0; j < 3; ++j)
        if (i != j)
          problem.edges.push_back({static_cast<uint32_t>(std::abs(clause[i]) - 1),
                                   static_cast<uint32_t>(std::abs(clause[j]) - 1), (clause[i] < 0) != (clause[j] < 0)});
  return problem;
}

Expected<TilingProblem> read(const std::string &text) {
  Expected<Json> json = parseJson(text, "test");
  REQUIRE(json);
  return tilingFromJson(JsonReader(*json, "test"));
}

const char *const kExample = R"({"problem": {"name": "example", "nodes": {
  "intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
  "costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
  "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]]},
  "edges": {"nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
  "costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 30], [70, 60]]}, "usage_limit": 50}})";

} // namespace

TEST_CASE("the contest's example", "[tiling]") {
  Expected<TilingProblem> problem = read(kExample);
  REQUIRE(problem);
  Expected<TilingSolution> solution = solveTiling(*problem);
  REQUIRE(solution);
  CHECK(solution->cost == enumerate(*problem));
  CHECK(solution->optimal());
  // Its best choice without a limit, 0 0 1 1 0, holds 55 at 50.
  problem->usageLimit.reset();
  Expected<TilingSolution> unlimited = solveTiling(*problem);
  REQUIRE(unlimited);
  CHECK(unlimited->cost < solution->cost);
  const Json again = tilingToJson(*problem);
  CHECK(tilingToJson(*tilingFromJson(JsonReader(again, "again"))) == again);
}

TEST_CASE("equal to enumeration on random problems", "[tiling]") {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const TilingProblem problem =
        randomProblem(seed, 4 + static_cast<uint32_t>(seed % 5), 4, 1.0 + static_cast<double>(seed % 4), seed % 3 != 0);
    INFO(problem.name);
    checkOptimum(problem, enumerate(problem));
  }
}

TEST_CASE("edges that allow strategies one to one join what they connect", "[tiling]") {
  // Each node is a copy of a node of a small problem, its strategies in another order.
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    TilingProblem problem = randomProblem(seed, 5, 4, 2, seed % 2 == 0);
    const int64_t least = enumerate(problem);
    Rng rng(seed);
    const uint32_t originals = 5, copies = 40;
    std::vector<std::vector<uint32_t>> orders(originals); // Per node: the original's strategies.
    std::vector<uint32_t> of(originals);
    for (uint32_t i = 0; i < originals; ++i) {
      orders[i].resize(problem.nodes[i].costs.size());
      std::iota(orders[i].begin(), orders[i].end(), 0);
      of[i] = i;
    }
    for (uint32_t c = 0; c < copies; ++c) {
      const auto from = static_cast<uint32_t>(rng.below(problem.nodes.size())), to = originals + c;
      const uint32_t own = static_cast<uint32_t>(orders[from].size());
      of.push_back(of[from]);
      orders.push_back(orders[from]);
      rng.shuffle(orders.back());
      problem.nodes.push_back({"copy", 0, 0, std::vector<int64_t>(own), std::vector<int64_t>(own)});
      TilingMatrix matrix{own, own, std::vector<int64_t>(size_t(own) * own, kForbiddenTilingCost)};
      for (uint32_t k = 0; k < own; ++k)
        for (uint32_t t = 0; t < own; ++t)
          if (orders[from][k] == orders[to][t])
            matrix.costs[size_t(k) * own + t] = 0;
      problem.edges.push_back({from, to, static_cast<uint32_t>(problem.matrices.size())});
      problem.matrices.push_back(std::move(matrix));
    }
    // The memory moves from the originals to their last copies, and so do an original's costs.
    for (uint32_t i = 0; i < originals; ++i) {
      uint32_t last = i;
      for (uint32_t c = originals; c < problem.nodes.size(); ++c)
        if (of[c] == i)
          last = c;
      if (last == i)
        continue;
      TilingNode &from = problem.nodes[i], &to = problem.nodes[last];
      for (size_t k = 0; k < to.costs.size(); ++k) {
        to.costs[k] = from.costs[orders[last][k]];
        to.usages[k] = from.usages[orders[last][k]];
      }
      to.lower = from.lower;
      to.upper = from.upper;
      std::fill(from.costs.begin(), from.costs.end(), 0);
      std::fill(from.usages.begin(), from.usages.end(), 0);
    }
    INFO(problem.name);
    checkOptimum(problem, least);
  }
}

TEST_CASE("a ring of edges that turns strategies round has no choice", "[tiling]") {
  TilingProblem problem;
  problem.name = "ring";
  problem.nodes.assign(3, {"n", 0, 1, {0, 0}, {1, 1}});
  const int64_t never = kForbiddenTilingCost;
  problem.matrices = {{2, 2, {0, never, never, 0}}, {2, 2, {never, 0, 0, never}}};
  problem.edges = {{0, 1, 0}, {1, 2, 0}, {2, 0, 1}};
  Expected<TilingSolution> solution = solveTiling(problem);
  REQUIRE(!solution);
  CHECK(solution.error().code == ErrorCode::Infeasible);
  CHECK(solution.error().message ==
        "no combination of strategies is allowed, instance 'ring', allow more pairs of strategies");
  problem.edges[2].matrix = 0;
  CHECK(solveTiling(problem));
}

TEST_CASE("better than the greedy, bounded, and the same on any number of threads", "[tiling]") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const TilingProblem problem = randomProblem(seed, 300, 8, 2.5, true, false);
    TilingParams params;
    params.budget.evaluations = 1500;
    Expected<TilingSolution> one = solveTiling(problem, params);
    params.threads = 3;
    Expected<TilingSolution> three = solveTiling(problem, params);
    REQUIRE(one);
    REQUIRE(three);
    CHECK(one->choice == three->choice);
    CHECK(one->bound == three->bound);
    CHECK(one->bound > 0);
    CHECK(one->bound <= one->cost);
    params.solver = "greedy";
    if (Expected<TilingSolution> greedy = solveTiling(problem, params))
      CHECK(one->cost < greedy->cost);
  }
}

TEST_CASE("a gap ends the search early, and is held", "[tiling]") {
  int earlier = 0;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    const TilingProblem problem = randomProblem(seed, 300, 8, 2.5, false, false);
    TilingParams params;
    params.budget.evaluations = 1500;
    Expected<TilingSolution> all = solveTiling(problem, params);
    params.gap = 0.2;
    Expected<TilingSolution> some = solveTiling(problem, params);
    REQUIRE(all);
    REQUIRE(some);
    CHECK(static_cast<double>(some->cost) <= 1.2 * static_cast<double>(all->cost));
    if (some->evaluations < all->evaluations) {
      CHECK(static_cast<double>(some->bound) >= 0.8 * static_cast<double>(some->cost) - 1);
      ++earlier;
    }
  }
  CHECK(earlier >= 2);
}

TEST_CASE("not-all-equal satisfiability", "[tiling]") {
  Rng rng(7);
  int satisfiable = 0;
  for (int round = 0; round < 60; ++round) {
    constexpr uint32_t kVariables = 8;
    std::vector<std::array<int32_t, 3>> clauses;
    for (size_t c = 0; c < 10 + rng.below(12); ++c) {
      std::array<int32_t, 3> clause{};
      do
        for (int32_t &literal : clause)
          literal = static_cast<int32_t>(1 + rng.below(kVariables)) * (rng.chance(0.5) ? 1 : -1);
      while (std::abs(clause[0]) == std::abs(clause[1]) || std::abs(clause[1]) == std::abs(clause[2]) ||
             std::abs(clause[0]) == std::abs(clause[2]));
      clauses.push_back(clause);
    }
    bool found = false;
    for (uint32_t bits = 0; bits < (1u << kVariables) && !found; ++bits)
      found = std::all_of(clauses.begin(), clauses.end(), [&](const std::array<int32_t, 3> &clause) {
        int trues = 0;
        for (int32_t literal : clause)
          trues += ((bits >> (std::abs(literal) - 1)) & 1) == (literal > 0);
        return trues == 1 || trues == 2;
      });
    satisfiable += found;
    // A unanimous clause costs 6, any other 2.
    Expected<TilingSolution> solution = solveTiling(notAllEqual(kVariables, clauses));
    REQUIRE(solution);
    CHECK(solution->optimal());
    CHECK((solution->cost == 2 * static_cast<int64_t>(clauses.size())) == found);
  }
  CHECK(satisfiable > 10);
  CHECK(satisfiable < 60);
}

TEST_CASE("what cannot fit is named", "[tiling]") {
  Expected<TilingProblem> problem = read(kExample);
  REQUIRE(problem);
  problem->usageLimit = 40;
  Expected<TilingSolution> solution = solveTiling(*problem);
  REQUIRE(!solution);
  CHECK(solution.error().code == ErrorCode::Infeasible);
  CHECK(solution.error().message == "every combination of strategies exceeds the usage limit of 40 at time 50 of "
                                    "'example', raise the limit to at least 50");
}

TEST_CASE("the validator names what is wrong", "[tiling]") {
  Expected<TilingProblem> problem = read(kExample);
  REQUIRE(problem);
  const TilingSolution good = *solveTiling(*problem);
  auto broken = [&](auto change) {
    TilingSolution bad = good;
    change(bad);
    Status status = validateTiling(*problem, bad);
    REQUIRE(!status);
    return status.error().message;
  };
  CHECK(broken([](TilingSolution &bad) { bad.choice.pop_back(); }) == "4 choices for 5 nodes");
  CHECK(broken([](TilingSolution &bad) { bad.choice[1] = 2; }) == "node 'node1' has strategy 2, and there are only 2");
  CHECK(broken([](TilingSolution &bad) { --bad.cost; }).starts_with("the solution states a cost of"));
  CHECK(broken([](TilingSolution &bad) { bad.bound = bad.cost + 1; }).starts_with("bound"));
  CHECK(broken([&](TilingSolution &bad) {
          bad.choice[2] = 1;
          bad.cost = problem->cost(bad.choice);
          bad.bound = 0;
        }) == "usage at 50 is above the limit of 50 by 5");
}

TEST_CASE("a forbidden choice is no answer", "[tiling]") {
  TilingProblem problem;
  problem.nodes.assign(20, {"n", 0, 1, {kForbiddenTilingCost}, {std::numeric_limits<int64_t>::max()}});
  CHECK(problem.cost(std::vector<uint32_t>(20)) == std::numeric_limits<int64_t>::max()); // Saturates.
  for (const std::string &solver : tilingSolverNames()) {
    TilingParams params;
    params.solver = solver;
    Expected<TilingSolution> solution = solveTiling(problem, params);
    REQUIRE(!solution);
    CHECK(solution.error().code == ErrorCode::Infeasible);
  }
  problem.usageLimit = 5;
  CHECK(!solveTiling(problem));
}

TEST_CASE("hostile instances are refused", "[tiling]") {
  auto message = [](std::string text, const std::string &what, const std::string &with) {
    const size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), with);
    Expected<TilingProblem> problem = read(text);
    REQUIRE(!problem);
    CHECK(problem.error().code == ErrorCode::InvalidInput);
    return problem.error().message;
  };
  CHECK(
      message(kExample, "[85, 75]", "[85, -75]").find("amount -75 is negative, at 'test.problem.nodes.costs[3][1]'") ==
      0);
  CHECK(message(kExample, "[85, 75]", "[]").find("edge 2 has a list of 4 costs, and ") == 0);
  CHECK(message(kExample, "[85, 75]", "[85, \"x\"]").find("expected an integer of 64 bits") == 0);
  CHECK(message(kExample, "[85, 75]", "7").find("expected an array but found number") == 0);
  CHECK(message(kExample, "[110, 150]", "[110]").find("interval 4 has 1 numbers") == 0);
  CHECK(message(kExample, "[110, 150]]", "[110, 150], [1, 2]]").find("6 intervals, 5 lists of costs") == 0);
  CHECK(message(kExample, "[3, 4]]", "[3, 5]]").find("edge 4 names node 5, and the nodes are numbered from 0 to 4") ==
        0);
  CHECK(message(kExample, "[3, 4]]", "[3, 18446744073709551615]]").find("edge 4 names node") == 0);
  CHECK(message(kExample, "[70, 60]", "[70]").find("edge 4 has a list of 1 costs, and 2 x 1 pairs") == 0);
  CHECK(message(kExample, "\"usages\"", "\"use\"").find("key 'usages' is missing") == 0);
  TilingParams params;
  params.solver = "magic";
  CHECK(solveTiling(*read(kExample), params).error().message.find("solver 'magic' of tilings is unknown") == 0);
  params = {};
  params.gap = 1;
  CHECK(solveTiling(*read(kExample), params).error().message.find("the solver of tilings cannot leave a gap of 1") ==
        0);
}
