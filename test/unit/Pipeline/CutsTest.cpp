//===- CutsTest.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Cuts.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace sluice;

namespace {

CutSolution measured(const CutProblem &problem, std::vector<size_t> firsts) {
  CutSolution solution;
  for (size_t s = 0; s < firsts.size(); ++s) {
    const size_t end = s + 1 < firsts.size() ? firsts[s + 1] : problem.workNs.size();
    const int64_t work = std::accumulate(problem.workNs.begin() + static_cast<ptrdiff_t>(firsts[s]),
                                         problem.workNs.begin() + static_cast<ptrdiff_t>(end), int64_t(0));
    solution.paceNs = std::max({solution.paceNs, work, s > 0 ? problem.transferNs(firsts[s]) : int64_t(0)});
    solution.bytes += s > 0 ? problem.crossingBytes[firsts[s]] : 0;
  }
  solution.firsts = std::move(firsts);
  return solution;
}

/// All ways to cut, by enumeration.
std::vector<CutSolution> allCuts(const CutProblem &problem) {
  std::vector<CutSolution> all;
  const size_t count = problem.workNs.size(), stages = static_cast<size_t>(problem.stages);
  std::vector<bool> chosen(count - 1);
  std::fill_n(chosen.begin(), stages - 1, true);
  do {
    std::vector<size_t> firsts{0};
    for (size_t i = 0; i + 1 < count; ++i)
      if (chosen[i])
        firsts.push_back(i + 1);
    all.push_back(measured(problem, std::move(firsts)));
  } while (std::prev_permutation(chosen.begin(), chosen.end()));
  return all;
}

} // namespace

TEST_CASE("cuts are the optimum by enumeration", "[pipeline]") {
  Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    CutProblem problem;
    const size_t count = 1 + rng.below(9);
    problem.stages = static_cast<int64_t>(1 + rng.below(count));
    problem.bytesPerSec = 1e9;
    problem.latencyNs = static_cast<int64_t>(rng.below(3));
    problem.slack = static_cast<double>(rng.below(4)) / 4;
    for (size_t i = 0; i < count; ++i) {
      problem.workNs.push_back(static_cast<int64_t>(rng.below(20)));
      problem.crossingBytes.push_back(i == 0 ? 0 : static_cast<int64_t>(rng.below(10)));
    }
    const Expected<CutSolution> solution = solveCuts(problem);
    REQUIRE(solution);
    const std::vector<CutSolution> all = allCuts(problem);
    int64_t least = INT64_MAX, fewest = INT64_MAX;
    for (const CutSolution &each : all)
      least = std::min(least, each.paceNs);
    const auto most = static_cast<int64_t>(static_cast<double>(least) * (1 + problem.slack));
    for (const CutSolution &each : all)
      if (each.paceNs <= most)
        fewest = std::min(fewest, each.bytes);
    CHECK(solution->paceNs <= most);
    CHECK(solution->bytes == fewest);
  }
}

TEST_CASE("equal operators are cut into equal stages, and where few bytes cross", "[pipeline]") {
  CutProblem problem;
  problem.workNs.assign(12, 100);
  problem.crossingBytes.assign(12, 0);
  problem.stages = 4;
  CHECK(solveCuts(problem)->firsts == std::vector<size_t>{0, 3, 6, 9});
  // Blocks of 4 operators of which only their ends cross a cut cheaply, with room in the pace.
  problem.workNs = {25, 25, 25, 26, 25, 25, 25, 25};
  problem.crossingBytes = {0, 900, 900, 900, 10, 900, 900, 900};
  problem.stages = 2;
  CHECK(solveCuts(problem)->firsts == std::vector<size_t>{0, 4});
  CHECK(solveCuts(problem)->paceNs == 101);
}

TEST_CASE("problems that cannot be cut name the fault", "[pipeline]") {
  CutProblem problem;
  problem.workNs = {1, 2};
  problem.crossingBytes = {0, 5};
  problem.stages = 3;
  CHECK_THAT(solveCuts(problem).error().message, Catch::Contains("2 operators cannot be cut into 3 stages"));
  problem.stages = 0;
  CHECK_FALSE(solveCuts(problem));
  problem.stages = 1;
  problem.crossingBytes = {1, 5};
  CHECK_THAT(solveCuts(problem).error().message,
             Catch::Contains("or its first place for a cut (before all operators) has bytes"));
  problem.crossingBytes = {0};
  CHECK_FALSE(solveCuts(problem));
  problem.crossingBytes = {0, -1};
  CHECK_FALSE(solveCuts(problem));
  problem.crossingBytes = {0, 1};
  problem.bytesPerSec = 0;
  CHECK_FALSE(solveCuts(problem));
  problem.bytesPerSec = 1;
  problem.crossingBytes = {0, INT64_MAX};
  CHECK_THAT(solveCuts(problem).error().message, Catch::Contains("add up to more than"));
  problem.workNs = std::vector<int64_t>(3, 4'000'000'000'000'000'000);
  problem.crossingBytes = {0, 0, 0};
  CHECK_THAT(solveCuts(problem).error().message, Catch::Contains("add up to more than"));
  problem.workNs.assign(20'000, 1);
  problem.crossingBytes.assign(20'000, 0);
  problem.stages = 20'000;
  CHECK_THAT(solveCuts(problem).error().message, Catch::Contains("takes too long"));
  problem.stages = 0;
  CHECK_FALSE(validateCuts(problem, CutSolution()));
}

TEST_CASE("the validator of cuts finds what is wrong", "[pipeline]") {
  CutProblem problem;
  problem.workNs = {1, 2, 3};
  problem.crossingBytes = {0, 5, 5};
  problem.stages = 2;
  const CutSolution right = *solveCuts(problem);
  CHECK(validateCuts(problem, right));
  auto isFound = [&](auto &&change) {
    CutSolution wrong = right;
    change(wrong);
    return !validateCuts(problem, wrong);
  };
  CHECK(isFound([](CutSolution &s) { s.firsts = {0}; }));
  CHECK(isFound([](CutSolution &s) { s.firsts = {1, 2}; }));
  CHECK(isFound([](CutSolution &s) { s.firsts = {0, 0}; }));
  CHECK(isFound([](CutSolution &s) { s.firsts = {0, 3}; }));
  CHECK(isFound([](CutSolution &s) { ++s.paceNs; }));
  CHECK(isFound([](CutSolution &s) { ++s.bytes; }));
}
