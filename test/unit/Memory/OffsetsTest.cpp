//===- OffsetsTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Memory/Offsets.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

using namespace sluice;

namespace {
OffsetProblem randomProblem(Rng &rng, size_t numBuffers, int64_t horizon, int64_t maxBytes) {
  OffsetProblem problem;
  for (size_t i = 0; i < numBuffers; ++i) {
    int64_t lower = static_cast<int64_t>(rng.below(static_cast<uint64_t>(horizon)));
    int64_t length = static_cast<int64_t>(rng.below(static_cast<uint64_t>(horizon)));
    problem.buffers.push_back({lower, lower + length, static_cast<int64_t>(rng.below(static_cast<uint64_t>(maxBytes))),
                               rng.chance(0.3) ? int64_t(4) : int64_t(1)});
  }
  return problem;
}

/// The smallest peak of any order packed first-fit, which is optimal for some
/// order where alignments are 1.
int64_t bruteForcePeak(const OffsetProblem &problem) {
  std::vector<uint32_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  int64_t best = std::numeric_limits<int64_t>::max();
  do
    best = std::min(best, packInOrder(problem, order, FitRule::FirstFit).peakBytes);
  while (std::next_permutation(order.begin(), order.end()));
  return best;
}
} // namespace

TEST_CASE("MiniMalloc's example packs into its 12 units", "[memory]") {
  OffsetProblem problem;
  problem.buffers = {{0, 3, 4}, {3, 9, 4}, {0, 9, 4}, {9, 21, 4}, {0, 21, 4}};
  CHECK(maxLive(problem).bytes == 12);
  Expected<OffsetSolution> solution = solveOffsetsBestFit(problem);
  REQUIRE(solution);
  CHECK(solution->peakBytes == 12);
  CHECK(validate(problem, *solution));
}

TEST_CASE("every solver's packing validates and respects the bound", "[memory]") {
  Rng rng(3);
  for (int round = 0; round < 60; ++round) {
    OffsetProblem problem = randomProblem(rng, 1 + rng.below(60), 40, 100);
    LiveBytes bound = maxLive(problem);
    Expected<OffsetSolution> best = solveOffsetsBestFit(problem), owl = solveOffsetsOwl(problem);
    REQUIRE(best);
    REQUIRE(owl);
    CHECK(validate(problem, *best));
    CHECK(validate(problem, *owl));
    CHECK(best->peakBytes >= bound.bytes);
    CHECK(owl->peakBytes >= best->peakBytes);
    for (BufferOrder order : {BufferOrder::Size, BufferOrder::Lifetime, BufferOrder::Area, BufferOrder::Start})
      for (FitRule rule : {FitRule::FirstFit, FitRule::BestFit}) {
        OffsetSolution packed = packInOrder(problem, bufferOrder(problem, order), rule);
        CHECK(validate(problem, packed));
        CHECK(packed.peakBytes >= best->peakBytes);
      }
  }
}

TEST_CASE("the portfolio reaches the optimum of most tiny instances", "[memory]") {
  Rng rng(11);
  int optimal = 0, rounds = 40;
  for (int round = 0; round < rounds; ++round) {
    OffsetProblem problem = randomProblem(rng, 6, 10, 20);
    for (Buffer &buffer : problem.buffers)
      buffer.alignment = 1;
    int64_t optimum = bruteForcePeak(problem);
    Expected<OffsetSolution> solution = solveOffsetsBestFit(problem, {200, 5});
    REQUIRE(solution);
    REQUIRE(solution->peakBytes >= optimum);
    optimal += solution->peakBytes == optimum;
  }
  CHECK(optimal >= rounds - 1);
}

TEST_CASE("local search earns its evaluations", "[memory]") {
  Rng rng(5);
  int improved = 0;
  for (int round = 0; round < 20; ++round) {
    OffsetProblem problem = randomProblem(rng, 40, 60, 1000);
    Expected<OffsetSolution> portfolio = solveOffsetsBestFit(problem, {9, 1}),
                             searched = solveOffsetsBestFit(problem, {400, 1});
    REQUIRE(portfolio);
    REQUIRE(searched);
    REQUIRE(searched->peakBytes <= portfolio->peakBytes);
    CHECK(searched->evaluations <= 400);
    improved += searched->peakBytes < portfolio->peakBytes;
    Expected<OffsetSolution> again = solveOffsetsBestFit(problem, {400, 1});
    REQUIRE(again);
    CHECK(again->offsets == searched->offsets);
  }
  CHECK(improved > 0);
}

TEST_CASE("large instances of all lifetimes are packed close to the bound", "[memory]") {
  Rng rng(3);
  constexpr uint64_t kBuffers = 4500;
  std::vector<int64_t> sizes(40);
  for (int64_t &size : sizes)
    size = int64_t(1) << (8 + rng.below(14));
  OffsetProblem problem;
  for (uint64_t i = 0; i < kBuffers; ++i) {
    const uint64_t longest[] = {8, 400, 2000, kBuffers};
    const uint64_t length = 1 + rng.below(longest[rng.below(4)]), lower = rng.below(kBuffers - length + 1);
    const int64_t bytes =
        rng.chance(0.8) ? sizes[rng.below(sizes.size())] : 256 + static_cast<int64_t>(rng.below(1 << 22));
    problem.buffers.push_back({static_cast<int64_t>(lower), static_cast<int64_t>(lower + length), bytes, 1});
  }
  OffsetParams params;
  params.budget.evaluations = 3000;
  const Expected<OffsetSolution> solution = solveOffsets(problem, params);
  REQUIRE(solution);
  CHECK(static_cast<double>(solution->peakBytes) < 1.02 * static_cast<double>(solution->boundBytes));
}

TEST_CASE("Owl's blocks grow and never split", "[memory]") {
  OffsetProblem problem;
  // The 8 is free when the 10 comes and grows to it; the 3 then takes a new block.
  problem.buffers = {{0, 2, 8}, {2, 5, 10}, {3, 5, 3}};
  Expected<OffsetSolution> solution = solveOffsetsOwl(problem);
  REQUIRE(solution);
  CHECK(solution->peakBytes == 13);
  CHECK(solution->offsets[0] == solution->offsets[1]);
}

TEST_CASE("infeasible packings say by how much", "[memory]") {
  OffsetProblem problem;
  problem.buffers = {{0, 4, 10}, {2, 6, 7}};
  problem.capacityBytes = 15;
  for (auto solve : {+[](const OffsetProblem &p) { return solveOffsets(p); },
                     +[](const OffsetProblem &p) { return solveOffsetsBestFit(p); },
                     +[](const OffsetProblem &p) { return solveOffsetsOwl(p); }}) {
    Expected<OffsetSolution> solution = solve(problem);
    REQUIRE_FALSE(solution);
    CHECK(solution.error().code == ErrorCode::Infeasible);
    CHECK(solution.error().message.find("live at time 2 need 17 B, which exceeds the capacity of 15 B by 2 B") !=
          std::string::npos);
  }
  // The bound allows 8; blocks that never split need 9.
  problem.buffers = {{0, 2, 4}, {0, 2, 4}, {2, 4, 1}, {2, 4, 7}};
  problem.capacityBytes = 8;
  CHECK(solveOffsetsBestFit(problem));
  Expected<OffsetSolution> owl = solveOffsetsOwl(problem);
  REQUIRE_FALSE(owl);
  CHECK(owl.error().message.find("bytes above the capacity") != std::string::npos);
}

TEST_CASE("the validator finds each kind of fault", "[memory]") {
  OffsetProblem problem;
  problem.buffers = {{0, 4, 8, 4}, {2, 6, 8, 4}, {4, 8, 8, 4}};
  problem.ids = {"a", "b", "c"};
  auto fault = [&](std::vector<int64_t> offsets, int64_t peak) {
    Status status = validate(problem, {std::move(offsets), peak, 1});
    return status ? std::string() : status.error().message;
  };
  CHECK(fault({0, 8, 0}, 16) == "");
  CHECK(fault({0, 4, 0}, 12).find("'b' and 'a' overlap at time 2") != std::string::npos);
  CHECK(fault({0, 8, 8}, 16).find("'c' and 'b' overlap at time 4") != std::string::npos);
  CHECK(fault({0, 9, 0}, 17).find("not a multiple of 4") != std::string::npos);
  CHECK(fault({-4, 8, 0}, 16).find("negative offset") != std::string::npos);
  CHECK(fault({0, 8, 0}, 20).find("states a peak of 20") != std::string::npos);
  CHECK(fault({0, 8}, 16).find("2 offsets for 3") != std::string::npos);
  problem.capacityBytes = 12;
  CHECK(fault({0, 8, 0}, 16).find("beyond the capacity") != std::string::npos);
}

TEST_CASE("hostile offset problems are refused", "[memory]") {
  OffsetProblem problem;
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
  for (Buffer bad :
       {Buffer{5, 3, 1}, Buffer{0, 1, -1}, Buffer{0, 1, 1, 0}, Buffer{0, 1, kMax}, Buffer{0, 1, 1, kMax}}) {
    problem.buffers = {bad};
    CHECK_FALSE(check(problem));
    CHECK_FALSE(solveOffsets(problem));
    CHECK_FALSE(solveOffsetsBestFit(problem));
    CHECK_FALSE(solveOffsetsOwl(problem));
  }
  problem.buffers = {{kMin, kMax, 5}, {kMin, kMax, 6}};
  for (const Expected<OffsetSolution> &widest : {solveOffsets(problem), solveOffsetsBestFit(problem)}) {
    REQUIRE(widest);
    CHECK(widest->peakBytes == 11);
  }
  // As large as check allows; nothing else has bytes and a lifetime.
  constexpr int64_t kLarge = int64_t(1) << 60;
  problem.buffers = {{0, 2, kLarge}, {1, 3, kLarge, 4096}, {2, 4, kLarge}, {0, 9, 0}, {3, 3, kLarge / 2}};
  Expected<OffsetSolution> largest = solveOffsets(problem);
  REQUIRE(largest);
  CHECK(largest->peakBytes == 2 * kLarge);
  CHECK(validate(problem, *largest));
  problem.ids = {"only one"};
  CHECK_FALSE(check(problem));
  CHECK(solveOffsets(OffsetProblem{})->peakBytes == 0);
  CHECK(solveOffsetsBestFit(OffsetProblem{})->peakBytes == 0);
}
