//===- OffsetSearchTest.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../Skip.h"
#include "sluice/Memory/Offsets.h"
#include "sluice/Memory/OffsetsCsv.h"
#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

using namespace sluice;

namespace {

struct Rectangle {
  int64_t begin, end, bottom, top;
};

/// A rectangle of time and memory cut at random into `count` buffers, some of
/// which are then left out: all that is left fits its height.
OffsetProblem cutRectangle(Rng &rng, size_t count, int64_t time, int64_t height, int64_t unit, double leftOut) {
  std::vector<Rectangle> pieces{{0, time, 0, height}};
  while (pieces.size() < count) {
    Rectangle &piece = pieces[rng.below(pieces.size())];
    const Rectangle old = piece;
    const bool across = rng.chance(0.5);
    const int64_t length = across ? old.end - old.begin : old.top - old.bottom;
    if (length < 2)
      continue;
    const int64_t at = 1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(length - 1)));
    if (across) {
      piece.end = old.begin + at;
      pieces.push_back({old.begin + at, old.end, old.bottom, old.top});
    } else {
      piece.top = old.bottom + at;
      pieces.push_back({old.begin, old.end, old.bottom + at, old.top});
    }
  }
  rng.shuffle(pieces);
  OffsetProblem problem;
  for (const Rectangle &piece : pieces)
    if (!rng.chance(leftOut))
      problem.buffers.push_back({piece.begin, piece.end, (piece.top - piece.bottom) * unit});
  problem.capacityBytes = height * unit;
  return problem;
}

/// Forward and backward through layers: weights that stay, activations that nest,
/// gradients and workspaces that come and go.
OffsetProblem trainingStep(Rng &rng, int64_t layers) {
  OffsetProblem problem;
  const int64_t end = 4 * layers;
  auto bytes = [&](double scale) { return 64 + static_cast<int64_t>(scale * std::exp(rng.normal())); };
  for (int64_t i = 0; i < layers; ++i) {
    const int64_t forward = 2 * i, backward = end - 2 * i - 2, activation = bytes(80000), weight = bytes(10000);
    problem.buffers.push_back({0, end, weight});
    problem.buffers.push_back({forward, backward + 1, activation});
    problem.buffers.push_back({backward, std::min(end, backward + 2), activation});
    problem.buffers.push_back({backward, std::min(end, backward + 20), weight});
    if (rng.chance(0.5))
      problem.buffers.push_back({forward, forward + 1, bytes(40000)});
  }
  return problem;
}

/// `height` bytes are live at every moment: as tight as can be, packable or not.
OffsetProblem alwaysFull(Rng &rng, int64_t time, int64_t height, int64_t largest) {
  OffsetProblem problem;
  std::vector<Buffer> live;
  for (int64_t t = 0; t <= time; ++t) {
    int64_t free = height;
    for (size_t i = live.size(); i-- > 0;)
      if (t == time || rng.chance(0.4)) {
        problem.buffers.push_back({live[i].lower, t, live[i].bytes});
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        free -= live[i].bytes;
      }
    while (t < time && free > 0) {
      const int64_t bytes = 1 + static_cast<int64_t>(rng.below(static_cast<uint64_t>(std::min(free, largest))));
      live.push_back({t, 0, bytes});
      free -= bytes;
    }
  }
  return problem;
}

/// Of all packings, by trying at each buffer every offset that any sum of others
/// makes.
int64_t leastPeak(const OffsetProblem &problem) {
  const std::vector<Buffer> &buffers = problem.buffers;
  std::vector<int64_t> sums{0}, offsets(buffers.size(), 0);
  for (const Buffer &buffer : buffers)
    for (size_t k = 0, size = sums.size(); k < size; ++k)
      sums.push_back(sums[k] + buffer.bytes);
  std::sort(sums.begin(), sums.end());
  sums.erase(std::unique(sums.begin(), sums.end()), sums.end());
  int64_t best = sums.back() + 1;
  auto place = [&](auto &self, size_t i, int64_t peak) -> void {
    if (i == buffers.size()) {
      best = std::min(best, peak);
      return;
    }
    for (int64_t offset : sums) {
      const int64_t top = offset + buffers[i].bytes;
      if (std::max(peak, top) >= best)
        break;
      bool free = true;
      for (size_t j = 0; j < i && free; ++j)
        free = buffers[j].lower >= buffers[i].upper || buffers[i].lower >= buffers[j].upper || offsets[j] >= top ||
               offset >= offsets[j] + buffers[j].bytes;
      if (!free)
        continue;
      offsets[i] = offset;
      self(self, i + 1, std::max(peak, top));
    }
  };
  place(place, 0, 0);
  return best;
}

/// The least pool of size classes: classes are ranges of sizes, each with as many
/// objects of its largest size as buffers of it are live at once.
int64_t leastPoolBytes(const OffsetProblem &problem) {
  std::vector<int64_t> sizes;
  for (const Buffer &buffer : problem.buffers)
    sizes.push_back(buffer.bytes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  std::vector<int64_t> least(sizes.size() + 1, std::numeric_limits<int64_t>::max());
  least[0] = 0;
  for (size_t to = 1; to <= sizes.size(); ++to)
    for (size_t from = 0; from < to; ++from) {
      OffsetProblem members;
      for (const Buffer &buffer : problem.buffers)
        if (buffer.bytes >= sizes[from] && buffer.bytes <= sizes[to - 1])
          members.buffers.push_back({buffer.lower, buffer.upper, 1});
      least[to] = std::min(least[to], least[from] + maxLive(members).bytes * sizes[to - 1]);
    }
  return least.back();
}

OffsetParams evaluations(int64_t count, uint64_t seed = 1) {
  OffsetParams params;
  params.budget.evaluations = count;
  params.seed = seed;
  return params;
}

} // namespace

TEST_CASE("the search tells of each better packing", "[memory]") {
  Rng rng(7);
  OffsetProblem problem;
  for (int i = 0; i < 300; ++i) {
    const auto lower = static_cast<int64_t>(rng.below(100));
    problem.buffers.push_back(
        {lower, lower + 1 + static_cast<int64_t>(rng.below(40)), 1 + static_cast<int64_t>(rng.below(1000))});
  }
  std::vector<OffsetProgress> told;
  OffsetParams params = evaluations(20'000);
  params.progress = [&](const OffsetProgress &progress) { told.push_back(progress); };
  Expected<OffsetSolution> solution = solveOffsets(problem, params);
  REQUIRE(solution);
  REQUIRE(told.size() > 1);
  for (size_t i = 1; i < told.size(); ++i) {
    CHECK(told[i].peakBytes < told[i - 1].peakBytes);
    CHECK(told[i].boundBytes >= told[i - 1].boundBytes);
  }
  CHECK(told.back().peakBytes == solution->peakBytes);
  CHECK(told.back().boundBytes <= solution->boundBytes);
}

TEST_CASE("search finds what greedy packings miss", "[memory]") {
  OffsetProblem problem;
  // Thirteen are live at time 7; the greedy orders all leave a gap of one.
  problem.buffers = {{2, 6, 4}, {5, 9, 3}, {7, 8, 3}, {6, 8, 3}, {4, 8, 4}};
  for (BufferOrder order : {BufferOrder::Size, BufferOrder::Lifetime, BufferOrder::Area, BufferOrder::Start})
    for (FitRule rule : {FitRule::FirstFit, FitRule::BestFit})
      CHECK(packInOrder(problem, bufferOrder(problem, order), rule).peakBytes > 13);
  CHECK(solveOffsetsOwl(problem)->peakBytes > 13);
  Expected<OffsetSolution> solution = solveOffsets(problem);
  REQUIRE(solution);
  CHECK(solution->peakBytes == 13);
  CHECK(solution->boundBytes == 13);
}

TEST_CASE("search proves the optimum of small instances", "[memory]") {
  // Known: five are live at all times, no packing takes less than six.
  OffsetProblem known;
  known.buffers = {{0, 1, 3}, {0, 2, 2}, {1, 4, 2}, {2, 4, 1}, {1, 5, 1}, {2, 5, 1}, {4, 6, 3}, {5, 6, 2}};
  REQUIRE(maxLive(known).bytes == 5);
  REQUIRE(leastPeak(known) == 6);
  CHECK(solveOffsets(known)->boundBytes == 6);
  known.capacityBytes = 5;
  CHECK(solveOffsets(known).error().message.find("the buffers need at least 6 bytes") != std::string::npos);

  Rng rng(21);
  int aboveLive = 0;
  for (int round = 0; round < 300; ++round) {
    OffsetProblem problem = round % 2 ? alwaysFull(rng, 4, 6, 3) : OffsetProblem{known.buffers, {}, {}};
    if (problem.buffers.size() > 10)
      continue;
    Buffer &changed = problem.buffers[rng.below(problem.buffers.size())];
    if (rng.chance(0.5))
      changed.bytes += static_cast<int64_t>(rng.below(2));
    else
      changed.upper += static_cast<int64_t>(rng.below(2));
    const int64_t optimum = leastPeak(problem);
    aboveLive += optimum > maxLive(problem).bytes;
    Expected<OffsetSolution> solution = solveOffsets(problem);
    REQUIRE(solution);
    CHECK(solution->peakBytes == optimum);
    CHECK(solution->boundBytes == optimum);
    problem.capacityBytes = optimum;
    CHECK(solveOffsets(problem));
    problem.capacityBytes = optimum - 1;
    Expected<OffsetSolution> below = solveOffsets(problem);
    REQUIRE_FALSE(below);
    CHECK(below.error().code == ErrorCode::Infeasible);
  }
  CHECK(aboveLive > 0);
}

TEST_CASE("what is cut from a rectangle packs back into it", "[memory]") {
  Rng rng(4);
  for (int round = 0; round < 12; ++round) {
    // Every third is full at every moment.
    OffsetProblem problem = cutRectangle(rng, 20 + rng.below(60), 40, 500, 1024, 0.05 * (round % 3));
    Expected<OffsetSolution> solution = solveOffsets(problem);
    REQUIRE(solution);
    CHECK(validate(problem, *solution));
  }
}

TEST_CASE("training steps pack to what is live", "[memory]") {
  Rng rng(8);
  for (int64_t layers : {20, 60, 1000}) {
    OffsetProblem problem = trainingStep(rng, layers);
    Expected<OffsetSolution> solution = solveOffsets(problem, evaluations(50'000));
    REQUIRE(solution);
    CHECK(validate(problem, *solution));
    const auto live = static_cast<double>(maxLive(problem).bytes);
    CHECK(static_cast<double>(solution->peakBytes) <= 1.001 * live);
  }
}

TEST_CASE("no baseline is better than the search", "[memory]") {
  Rng rng(17);
  for (int round = 0; round < 20; ++round) {
    OffsetProblem problem = cutRectangle(rng, 10 + rng.below(40), 30, 60, 64, 0.2);
    problem.capacityBytes = std::nullopt;
    for (Buffer &buffer : problem.buffers)
      buffer.alignment = rng.chance(0.2) ? 256 : 64;
    Expected<OffsetSolution> search = solveOffsets(problem, evaluations(2'000)), best = solveOffsetsBestFit(problem),
                             owl = solveOffsetsOwl(problem);
    REQUIRE(search);
    CHECK(validate(problem, *search));
    CHECK(search->peakBytes >= search->boundBytes);
    CHECK(search->peakBytes <= owl->peakBytes);
    CHECK(search->peakBytes <= best->peakBytes);
    for (Buffer &buffer : problem.buffers)
      buffer.alignment = 64;
    CHECK(solveOffsets(problem, evaluations(2'000))->peakBytes <= leastPoolBytes(problem));
  }
}

TEST_CASE("alignments hold in every solver's packing", "[memory]") {
  Rng rng(31);
  for (int round = 0; round < 60; ++round) {
    OffsetProblem problem;
    const int64_t alignments[] = {1, 3, 8, 64, 48};
    for (uint64_t i = 1 + rng.below(25); i-- > 0;) {
      const auto lower = static_cast<int64_t>(rng.below(20));
      problem.buffers.push_back({lower, lower + static_cast<int64_t>(rng.below(9)),
                                 static_cast<int64_t>(rng.below(200)), alignments[rng.below(round % 5 + 1)]});
    }
    Expected<OffsetSolution> solution = solveOffsets(problem, evaluations(3'000));
    REQUIRE(solution);
    CHECK(validate(problem, *solution));
    CHECK(solution->boundBytes >= maxLive(problem).bytes);
    CHECK(solution->boundBytes <= solution->peakBytes);
  }
  // One stack, each start a multiple of 64: only the topmost need not be padded.
  OffsetProblem stack;
  stack.buffers = {{0, 4, 65, 64}, {0, 4, 64, 64}, {0, 4, 1, 64}};
  Expected<OffsetSolution> solution = solveOffsets(stack);
  REQUIRE(solution);
  CHECK(solution->peakBytes == 64 + 128 + 1);
  CHECK(solution->boundBytes == solution->peakBytes);
}

TEST_CASE("the same seed and evaluations give the same packing", "[memory]") {
  Rng rng(12);
  OffsetProblem problem = cutRectangle(rng, 150, 80, 1000, 1, 0);
  problem.capacityBytes = std::nullopt;
  Expected<OffsetSolution> once = solveOffsets(problem, evaluations(20'000, 5)),
                           again = solveOffsets(problem, evaluations(20'000, 5));
  REQUIRE(once);
  REQUIRE(again);
  CHECK(once->offsets == again->offsets);
  CHECK(once->evaluations == again->evaluations);
  CHECK_FALSE(once->stoppedByClock);
  // Nor do sizes that a double cannot hold keep it from ending.
  OffsetProblem huge = problem;
  for (Buffer &buffer : huge.buffers)
    buffer.bytes = buffer.bytes * (int64_t(1) << 44) + 1;
  CHECK(validate(huge, *solveOffsets(huge, evaluations(20'000))));
  // More of them never make it worse.
  CHECK(solveOffsets(problem, evaluations(1))->peakBytes >= once->peakBytes);
}

TEST_CASE("a search that is told to stop keeps its best packing", "[memory]") {
  Rng rng(13);
  OffsetProblem problem = cutRectangle(rng, 300, 100, 5000, 1, 0);
  problem.capacityBytes = std::nullopt;
  OffsetParams params;
  params.budget.deadline = std::chrono::steady_clock::now();
  Expected<OffsetSolution> solution = solveOffsets(problem, params);
  REQUIRE(solution);
  CHECK(validate(problem, *solution));
  CHECK(solution->stoppedByClock);
  std::atomic<bool> interrupt = true;
  params.budget = {1'000'000, std::nullopt, &interrupt};
  solution = solveOffsets(problem, params);
  REQUIRE(solution);
  CHECK(validate(problem, *solution));
}

TEST_CASE("public instances pack within their capacities and to what is live", "[memory]") {
  const std::filesystem::path bench = std::filesystem::path(SLUICE_SOURCE_DIR) / ".." / "shared" / "bench";
  if (!std::filesystem::exists(bench / "minimalloc"))
    return test::skip("no ../shared/bench/minimalloc beside the sources");
  for (const char *folder : {"minimalloc", "buffers"})
    for (const auto &entry : std::filesystem::directory_iterator(bench / folder)) {
      std::ifstream file(entry.path());
      std::string text{std::istreambuf_iterator<char>(file), {}};
      const std::string name = entry.path().stem().string(); // "A.1048576"
      Expected<OffsetProblem> problem = offsetsFromCsv(text, name);
      REQUIRE(problem);
      const int64_t live = maxLive(*problem).bytes;
      if (Expected<int64_t> capacity = parseInteger(name.substr(name.rfind('.') + 1)))
        problem->capacityBytes = *capacity;
      else
        problem->capacityBytes = live + live / 1000;
      INFO(name);
      OffsetParams params;
      params.budget.evaluations = 5'000'000;
      Expected<OffsetSolution> solution = solveOffsets(*problem, params);
      REQUIRE(solution);
      CHECK(validate(*problem, *solution));
      problem->capacityBytes = live - 1;
      Expected<OffsetSolution> below = solveOffsets(*problem);
      REQUIRE_FALSE(below);
      CHECK(below.error().message.find("by 1 B, give a capacity of at least") != std::string::npos);
    }
}
