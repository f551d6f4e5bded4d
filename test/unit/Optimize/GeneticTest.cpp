//===- GeneticTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Optimize/Genetic.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <numeric>

using namespace sluice;

namespace {

using Bits = std::vector<char>;
using Order = std::vector<int>;

GeneticProblem<Bits> oneMax() {
  GeneticProblem<Bits> problem;
  problem.evaluate = [](const Bits &bits) { return int64_t(std::count(bits.begin(), bits.end(), 0)); };
  problem.crossover = [](const Bits &a, const Bits &b, Rng &rng) {
    size_t cut = rng.below(a.size() + 1);
    Bits first = a, second = b;
    std::swap_ranges(first.begin(), first.begin() + cut, second.begin());
    return std::vector<Bits>{first, second};
  };
  problem.mutate = [](Bits &bits, Rng &rng) {
    for (char &bit : bits)
      if (rng.chance(1.0 / 40))
        bit = !bit;
  };
  return problem;
}

/// Order n items so that neighbours are close: 0, 1, ..., n-1 and its mirror
/// image cost n - 1.
GeneticProblem<Order> line() {
  GeneticProblem<Order> problem;
  problem.evaluate = [](const Order &order) {
    int64_t cost = 0;
    for (size_t i = 1; i < order.size(); ++i)
      cost += std::abs(order[i] - order[i - 1]);
    return cost;
  };
  // SwapAdvisor's schedule crossover: a prefix of one, the rest in the other's order.
  problem.crossover = [](const Order &a, const Order &b, Rng &rng) {
    Order child(b.begin(), b.begin() + rng.below(b.size() + 1));
    for (int item : a)
      if (std::find(child.begin(), child.end(), item) == child.end())
        child.push_back(item);
    return std::vector<Order>{child};
  };
  problem.mutate = [](Order &order, Rng &rng) {
    size_t i = rng.below(order.size()), j = rng.below(order.size());
    std::reverse(order.begin() + std::min(i, j), order.begin() + std::max(i, j) + 1);
  };
  return problem;
}

GeneticParams params(int64_t evaluations, int threads = 1) {
  GeneticParams params;
  params.population = 20;
  params.budget.evaluations = evaluations;
  params.seed = 7;
  params.threads = threads;
  return params;
}

} // namespace

TEST_CASE("a generation says who is alive", "[genetic]") {
  GeneticProblem<int> problem;
  problem.evaluate = [](const int &x) { return x < 0 ? kInfeasibleObjective : int64_t(x); };
  problem.crossover = [](const int &a, const int &b, Rng &) { return std::vector<int>{a + b}; };
  problem.mutate = [](int &, Rng &) {};
  std::vector<Generation> seen;
  problem.progress = [&](const Generation &generation) { seen.push_back(generation); };
  GeneticParams params;
  params.population = 4;
  params.budget.evaluations = 5;
  solveGenetic<int>(problem, {{-1}, {4}, {6}, {20}}, params);
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].best == 4);
  CHECK(seen[0].evaluations == 4);
  CHECK(seen[0].feasible == 3);
  CHECK(seen[0].mean == 10);
  CHECK(seen[0].worst == 20);
  // The infeasible one is gone, the first child is there.
  CHECK(seen[1].feasible == 4);
  CHECK(seen[1].evaluations == 5);
}

TEST_CASE("one-max is solved under either selection", "[optimize]") {
  GeneticParams p = params(20000);
  p.elites = 4;
  p.selection = GENERATE(Selection::Softmax, Selection::Tournament);
  auto result = solveGenetic(oneMax(), {{Bits(40, 0)}}, p);
  CHECK(result.objective == 0);
  CHECK(result.best == Bits(40, 1));
  CHECK(result.evaluations < 20000);
  CHECK_FALSE(result.stoppedByClock);
}

TEST_CASE("a permutation is put in order", "[optimize]") {
  Order start(9);
  std::iota(start.begin(), start.end(), 0);
  Rng(3).shuffle(start);
  GeneticParams p = params(20000);
  p.elites = 4;
  p.target = 8;
  auto result = solveGenetic(line(), {{start}}, p);
  CHECK(result.objective == 8);
}

TEST_CASE("the result does not depend on the number of threads", "[optimize]") {
  Order start(30);
  std::iota(start.begin(), start.end(), 0);
  Rng(5).shuffle(start);
  const size_t islands = GENERATE(1, 3);
  auto solve = [&](int threads) {
    GeneticParams p = params(1234, threads);
    p.islands = islands;
    return solveGenetic(line(), {{start}}, p);
  };
  auto one = solve(1), two = solve(2), many = solve(9);
  CHECK(one.best == two.best);
  CHECK(one.best == many.best);
  CHECK(one.evaluations == 1234);
  CHECK(two.evaluations == 1234);
  CHECK(one.generations == two.generations);
  GeneticParams other = params(1234);
  other.seed = 8;
  CHECK(solveGenetic(line(), {{start}}, other).best != one.best);
}

TEST_CASE("an island knows of the others by who arrives", "[genetic]") {
  GeneticProblem<int> problem;
  problem.evaluate = [](const int &x) { return int64_t(x); };
  problem.crossover = [](const int &a, const int &, Rng &) { return std::vector<int>{a}; };
  problem.mutate = [](int &, Rng &) {};
  std::vector<int64_t> worst;
  problem.progress = [&](const Generation &generation) { worst.push_back(generation.worst); };
  GeneticParams p;
  p.islands = 3;
  p.population = 1;
  p.budget.evaluations = 18;
  SECTION("never") {
    p.migrationGenerations = 100;
    solveGenetic<int>(problem, {{4}, {20}, {7}}, p);
    CHECK(worst == std::vector<int64_t>{20, 20, 20, 20, 20, 20});
  }
  SECTION("every second generation, along the ring") {
    p.migrationGenerations = 2;
    solveGenetic<int>(problem, {{4}, {20}, {7}}, p);
    // 4 comes to the second island after two generations, to the third after four.
    CHECK(worst == std::vector<int64_t>{20, 20, 20, 7, 7, 4});
  }
}

TEST_CASE("the best seed is never lost", "[optimize]") {
  Order good(20), bad;
  std::iota(good.begin(), good.end(), 0);
  bad = good;
  Rng(1).shuffle(bad);
  auto result = solveGenetic(line(), {{bad}, {bad}, {good}, {bad}}, params(500));
  CHECK(result.objective == 19);
  CHECK(result.best == good);
}

TEST_CASE("a seed's known objective is not computed again", "[optimize]") {
  GeneticParams p = params(1000);
  p.population = 2;
  p.target = 3;
  auto result = solveGenetic(oneMax(), {{Bits(5, 0), 5}, {Bits(5, 0), 3}}, p);
  CHECK(result.evaluations == 0);
  CHECK(result.objective == 3);
}

TEST_CASE("budgets are kept", "[optimize]") {
  SECTION("fewer evaluations than seeds") {
    auto result = solveGenetic(oneMax(), {{Bits(5, 0)}, {Bits(5, 1)}}, params(1));
    CHECK(result.evaluations == 1);
    CHECK(result.objective == 5);
  }
  SECTION("an interrupt already raised") {
    std::atomic<bool> flag{true};
    GeneticParams p = params(1000);
    p.budget.interrupt = &flag;
    auto result = solveGenetic(oneMax(), {{Bits(5, 0)}}, p);
    CHECK(result.evaluations == 0);
    CHECK(result.stoppedByClock);
    CHECK(result.objective == kInfeasibleObjective);
  }
  SECTION("a deadline in the past") {
    GeneticParams p = params(1000);
    p.budget.deadline = std::chrono::steady_clock::now();
    CHECK(solveGenetic(oneMax(), {{Bits(5, 0)}}, p).stoppedByClock);
  }
  SECTION("a stall") {
    GeneticParams p = params(1000000);
    p.target = -1;
    p.stallEvaluations = 300;
    auto result = solveGenetic(oneMax(), {{Bits(5, 1)}}, p);
    CHECK(result.evaluations < 400);
  }
}

TEST_CASE("infeasible individuals die out, and nothing hangs where all are", "[optimize]") {
  GeneticProblem<Bits> problem = oneMax();
  auto count = problem.evaluate;
  problem.evaluate = [&](const Bits &bits) { return bits[0] ? kInfeasibleObjective : count(bits); };
  GeneticParams p = params(5000);
  p.target = 1;
  auto result = solveGenetic(problem, {{Bits(10, 1)}, {Bits(10, 0)}}, p);
  CHECK(result.objective == 1);
  CHECK(result.best[0] == 0);

  problem.evaluate = [](const Bits &) { return kInfeasibleObjective; };
  auto none = solveGenetic(problem, {{Bits(10, 1)}}, params(5000));
  CHECK(none.objective == kInfeasibleObjective);
  CHECK(none.evaluations == 20);
}
