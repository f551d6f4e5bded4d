//===- WorkTest.cpp - Chunks of parallel loops ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/Emit/Work.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::dataflow;

namespace {

/// Work that takes so long by its operations alone.
Work workOf(Count ns) { return {Rate::Vectors, ns * static_cast<int64_t>(Rate::Vectors), 0}; }

int64_t chunksOf(int64_t extent, int64_t grain) { return (extent + grain - 1) / grain; }

/// Items of the thread with most, where each has neighbouring chunks, as many as the others or one more.
int64_t largestShare(int64_t extent, int64_t grain, int64_t threads) {
  const int64_t chunks = chunksOf(extent, grain);
  int64_t largest = 0;
  for (int64_t thread = 0; thread < threads; ++thread) {
    const int64_t begin = thread * chunks / threads * grain, end = (thread + 1) * chunks / threads * grain;
    largest = std::max(largest, std::min(end, extent) - begin);
  }
  return largest;
}

} // namespace

TEST_CASE("work takes the longer of computing and moving", "[dataflow]") {
  CHECK(Work{Rate::Vectors, 32'000, 0}.ns() == 1000);
  CHECK(Work{Rate::Products, 200'000, 64'000}.ns() == 1000);
  CHECK(Work{Rate::Products, 200'000, 256'000}.ns() == 2000);
  CHECK(Work{Rate::Scalars, Count(Count::kMost), 0}.ns() > 1'000'000'000);
}

TEST_CASE("a loop too short for two threads is one chunk", "[dataflow]") {
  for (int64_t extent : {1, 2, 7, 64, 100'000}) {
    CHECK(chooseGrain(extent, {}) == extent);
    CHECK(chooseGrain(extent, workOf(8'000)) == extent);
  }
  CHECK(chooseGrain(0, workOf(1'000'000)) == 1);
  CHECK(chooseGrain(1, workOf(1'000'000)) == 1);
  // A product of 64 x 128 by 128 x 64, and one of 16 times as many operations.
  CHECK(chooseGrain(10, {Rate::Products, 1'048'576, 98'304}) == 10);
  CHECK(chooseGrain(40, {Rate::Products, 16'777'216, 600'000}) < 5);
}

TEST_CASE("a longer loop has chunks that two threads share equally", "[dataflow]") {
  CHECK(chooseGrain(100, workOf(10'000)) == 50);
  CHECK(chooseGrain(100, workOf(20'000)) == 25);
  // Three chunks of 2 items would leave one of two threads with 4 of them.
  CHECK(chooseGrain(6, workOf(20'000)) == 1);
  CHECK(chooseGrain(12, workOf(20'000)) == 3);
  // Items that are chunks of their own.
  CHECK(chooseGrain(9, workOf(1'000'000)) == 1);
  for (int64_t ns : {9'000, 15'000, 20'000, 50'000, 130'000, 1'000'000})
    for (int64_t extent = 2; extent < 700; ++extent) {
      const int64_t grain = chooseGrain(extent, workOf(ns)), chunks = chunksOf(extent, grain);
      CAPTURE(ns, extent, grain);
      REQUIRE(grain >= 1);
      REQUIRE(chunks > 1);
      // No chunk but the last is far shorter than what hides its dispatch.
      if (grain > 1)
        REQUIRE(ns * grain / extent >= 1'000);
      // Within an eighth of a half, or what a single item more makes.
      REQUIRE(largestShare(extent, grain, 2) <= std::max((extent + 1) / 2, extent * 9 / 16));
      if (chunks >= 8)
        REQUIRE(largestShare(extent, grain, 4) <= std::max((extent + 3) / 4, extent * 3 / 8));
    }
}

TEST_CASE("chunks begin at multiples", "[dataflow]") {
  CHECK(chooseGrain(100'000, workOf(1'000'000), 64) % 64 == 0);
  CHECK(chunksOf(100'000, chooseGrain(100'000, workOf(1'000'000), 64)) >= 100);
  CHECK(chooseGrain(64, workOf(1'000'000), 64) == 64);
  CHECK(chooseGrain(65, workOf(1'000'000), 64) == 64);
  CHECK(chooseGrain(63, workOf(1'000'000), 64) == 63);
}

TEST_CASE("work and extents of any size have a grain", "[dataflow]") {
  const Work most{Rate::Scalars, Count(Count::kMost), Count(Count::kMost)};
  CHECK(chooseGrain(5, most) == 1);
  for (int64_t extent : {Count::kMost, Count::kMost - 1, int64_t(1) << 40})
    for (int64_t multiple : {1, 64}) {
      const int64_t grain = chooseGrain(extent, most, multiple);
      CHECK(grain >= 1);
      CHECK(grain < extent);
    }
}

TEST_CASE("a loop is cut by the least time of its chunks", "[dataflow]") {
  Work work = workOf(20'000);
  ChunkTimes times;
  CHECK(times.of(Rate::Vectors) == ChunkTimes::kDefaultNs);
  times.ns[1] = 10'000;
  REQUIRE(times.of(Rate::Vectors) == 10'000);
  CHECK(chooseGrain(100, work, 1, times) == 50);
  times.ns[1] = 10'001;
  CHECK(chooseGrain(100, work, 1, times) == 100);
  // A kernel's own comes before the rate's.
  work.chunkNs = 5'000;
  CHECK(chooseGrain(100, work, 1, times) == 25);
  work.chunkNs = ChunkTimes::kNever;
  CHECK(chooseGrain(100, work) == 100);
}

TEST_CASE("chunks' times are read from text", "[dataflow]") {
  const std::optional<ChunkTimes> none = ChunkTimes::parse("");
  REQUIRE(none);
  CHECK(none->ns == ChunkTimes().ns);
  const std::optional<ChunkTimes> some = ChunkTimes::parse("vectors=9000,tile-products=never");
  REQUIRE(some);
  CHECK(some->of(Rate::Vectors) == 9000);
  CHECK(some->of(Rate::TileProducts) == ChunkTimes::kNever);
  CHECK(some->of(Rate::ByteProducts) == ChunkTimes::kDefaultNs);
  for (const char *text : {"vectors", "vectors=", "vectors=0", "vectors=-1", "vectors=1x", "vectors=99999999999999",
                           "vectors=99999999999999999999", "speed=3", "vectors=1,vectors=2", ",", "vectors=never2"}) {
    CAPTURE(text);
    CHECK(!ChunkTimes::parse(text));
  }
}
