//===- PruningTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/Pruning.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

using namespace sluice;

namespace {

std::vector<float> randomWeights(int64_t count, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> weights(static_cast<size_t>(count));
  for (float &weight : weights)
    weight = static_cast<float>(rng.normal());
  return weights;
}

std::vector<int64_t> sizesOf(const std::vector<uint32_t> &part, int64_t parts) {
  std::vector<int64_t> sizes(static_cast<size_t>(parts));
  for (uint32_t p : part)
    ++sizes.at(p);
  std::sort(sizes.rbegin(), sizes.rend());
  return sizes;
}

/// Every way to put nodes into parts of these sizes.
void enumerate(std::vector<uint32_t> &part, size_t next, std::vector<int64_t> &room, const std::function<void()> &use) {
  if (next == part.size())
    return use();
  for (uint32_t p = 0; p < room.size(); ++p)
    if (room[p] > 0) {
      --room[p];
      part[next] = p;
      enumerate(part, next + 1, room, use);
      ++room[p];
    }
}

double optimum(const PruneProblem &problem) {
  auto roomOf = [&](int64_t nodes) {
    std::vector<int64_t> room;
    for (int64_t p = 0; p < problem.parts; ++p)
      room.push_back(nodes / problem.parts + (p < nodes % problem.parts));
    return room;
  };
  double best = 0;
  std::vector<uint32_t> row(static_cast<size_t>(problem.rows)), column(static_cast<size_t>(problem.columns));
  std::vector<int64_t> rowRoom = roomOf(problem.rows), columnRoom = roomOf(problem.columns);
  // Which of the parts is larger may differ between the sides.
  do {
    enumerate(row, 0, rowRoom, [&] {
      enumerate(column, 0, columnRoom, [&] {
        double kept = 0;
        for (size_t i = 0; i < row.size(); ++i)
          for (size_t j = 0; j < column.size(); ++j)
            if (row[i] == column[j])
              kept += std::fabs(problem.weights[i * column.size() + j]);
        best = std::max(best, kept);
      });
    });
  } while (std::prev_permutation(columnRoom.begin(), columnRoom.end()));
  return best;
}

} // namespace

TEST_CASE("partitions are balanced as the thesis says", "[tiling][pruning]") {
  const std::vector<float> weights = randomWeights(22 * 10, 1);
  auto solution = solvePruning({22, 10, weights, 5});
  REQUIRE(solution);
  CHECK(sizesOf(solution->rowPart, 5) == std::vector<int64_t>{5, 5, 4, 4, 4});
  CHECK(sizesOf(solution->columnPart, 5) == std::vector<int64_t>{2, 2, 2, 2, 2});
  CHECK(validatePruning({22, 10, weights, 5}, *solution));
  CHECK(solution->weightLoss() > 0);
  CHECK(solution->weightLoss() < 0.8); // A random choice keeps a fifth.
}

TEST_CASE("blocks that are there are found, whatever the order of their nodes", "[tiling][pruning]") {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng(seed);
    std::vector<uint32_t> row(24), column(36);
    std::iota(row.begin(), row.end(), 0u);
    std::iota(column.begin(), column.end(), 0u);
    rng.shuffle(row);
    rng.shuffle(column);
    std::vector<float> weights(24 * 36);
    for (size_t i = 0; i < 24; ++i)
      for (size_t j = 0; j < 36; ++j)
        weights[i * 36 + j] =
            row[i] % 4 == column[j] % 4 ? static_cast<float>(1 + rng.uniform()) * (rng.chance(0.5) ? 1.f : -1.f) : 0.f;
    auto solution = solvePruning({24, 36, weights, 4});
    REQUIRE(solution);
    CHECK(solution->weightLoss() == Approx(0).margin(1e-9));
  }
}

TEST_CASE("small layers are pruned nearly as well as can be", "[tiling][pruning]") {
  int optimal = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Rng rng(seed);
    PruneProblem problem;
    problem.rows = 3 + static_cast<int64_t>(rng.below(4));
    problem.columns = 3 + static_cast<int64_t>(rng.below(3));
    problem.parts = 2 + static_cast<int64_t>(rng.below(2));
    const std::vector<float> weights = randomWeights(problem.rows * problem.columns, seed);
    problem.weights = weights;
    auto solution = solvePruning(problem);
    REQUIRE(solution);
    const double best = optimum(problem);
    CHECK(solution->kept <= best * (1 + 1e-6));
    CHECK(solution->kept >= best * 0.9);
    optimal += solution->kept >= best * (1 - 1e-6);
  }
  CAPTURE(optimal);
  CHECK(optimal >= 75);
}

TEST_CASE("more starts lose no more, and threads change nothing", "[tiling][pruning]") {
  const std::vector<float> weights = randomWeights(60 * 80, 3);
  const PruneProblem problem{60, 80, weights, 6};
  double before = 1;
  for (int64_t restarts : {1, 4, 16}) {
    auto solution = solvePruning(problem, {restarts, 5, 1});
    REQUIRE(solution);
    CHECK(solution->weightLoss() <= before);
    before = solution->weightLoss();
    auto threaded = solvePruning(problem, {restarts, 5, 3});
    REQUIRE(threaded);
    CHECK(threaded->rowPart == solution->rowPart);
    CHECK(threaded->columnPart == solution->columnPart);
  }
}

TEST_CASE("layers that cannot be pruned so are refused", "[tiling][pruning]") {
  std::vector<float> weights(12, 1.f);
  auto why = [&](const PruneProblem &problem) {
    auto solution = solvePruning(problem);
    REQUIRE_FALSE(solution);
    CHECK(solution.error().code == ErrorCode::InvalidInput);
    return solution.error().message;
  };
  CHECK_THAT(why({3, 5, weights, 2}), Catch::Contains("3 by 5 nodes does not have 12 weights"));
  CHECK_THAT(why({3, 4, weights, 1}), Catch::Contains("1 partitions are out of range"));
  CHECK_THAT(why({3, 4, weights, 4}), Catch::Contains("use 3 or fewer"));
  CHECK_THAT(why({3, 4, weights, -1}), Catch::Contains("-1 partitions"));
  weights[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK_THAT(why({3, 4, weights, 2}), Catch::Contains("not finite"));
  weights.assign(12, 0.f);
  CHECK(solvePruning({3, 4, weights, 2})->weightLoss() == 0);
}

TEST_CASE("the validator sees what a solver might get wrong", "[tiling][pruning]") {
  const std::vector<float> weights = randomWeights(8 * 6, 9);
  const PruneProblem problem{8, 6, weights, 2};
  const PruneSolution good = *solvePruning(problem);
  PruneSolution bad = good;
  bad.kept *= 1.01;
  CHECK_FALSE(validatePruning(problem, bad));
  bad = good;
  bad.total += 1;
  CHECK_FALSE(validatePruning(problem, bad));
  bad = good;
  bad.rowPart[0] = 2;
  CHECK_FALSE(validatePruning(problem, bad));
  bad = good;
  bad.rowPart[0] = 1 - bad.rowPart[0];
  CHECK_FALSE(validatePruning(problem, bad));
  bad = good;
  bad.columnPart.pop_back();
  CHECK_FALSE(validatePruning(problem, bad));
}
