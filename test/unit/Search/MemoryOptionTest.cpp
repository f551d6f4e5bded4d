//===- MemoryOptionTest.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/MemoryOption.h"

#include "RandomGraph.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("a memory's size in bytes or as a share of its needs", "[search]") {
  Instance instance = randomInstance(4, 20, 2);
  const int64_t least = instance.problem(0).capacityBytes[1], peak = instance.problem(1).capacityBytes[1];
  SearchProblem problem = instance.problem(0.5);
  SECTION("bytes of one") {
    int64_t other = problem.capacityBytes[2];
    REQUIRE(applyMemoryOption(problem, "accel0=3KiB"));
    CHECK(problem.capacityBytes[1] == 3072);
    CHECK(problem.capacityBytes[2] == other);
  }
  SECTION("bytes of every accelerator, not of the host") {
    int64_t host = problem.capacityBytes[0];
    REQUIRE(applyMemoryOption(problem, "4096"));
    CHECK(problem.capacityBytes == std::vector<int64_t>{host, 4096, 4096});
  }
  SECTION("shares run from the least to the peak") {
    REQUIRE(applyMemoryOption(problem, "accel0=0%"));
    CHECK(problem.capacityBytes[1] == least);
    REQUIRE(applyMemoryOption(problem, "accel0=100%"));
    CHECK(problem.capacityBytes[1] == peak);
    REQUIRE(applyMemoryOption(problem, "25.5%"));
    CHECK(problem.capacityBytes[1] >= least + (peak - least) / 4);
    CHECK(problem.capacityBytes[1] <= least + (peak - least) / 3);
    CHECK(problem.capacityBytes[1] % kArenaAlignment == 0);
    CHECK(problem.capacityBytes[2] == problem.capacityBytes[1]);
  }
  SECTION("shares without end do not overflow") {
    REQUIRE(applyMemoryOption(problem, "1e300%"));
    CHECK(problem.capacityBytes[1] == int64_t(1) << 62);
  }
  SECTION("anything else is refused") {
    for (const char *wrong : {"", "=", "gpu9=1KiB", "accel0=", "accel0=lots", "accel0=-5%", "accel0=%", "host=50%"}) {
      INFO(wrong);
      CHECK_FALSE(applyMemoryOption(problem, wrong));
    }
  }
}
