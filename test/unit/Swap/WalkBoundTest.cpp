//===- WalkBoundTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "../../../lib/Swap/WalkBound.h"
#include "Problems.h"
#include <array>
#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::swap;
using namespace sluice::test;

namespace {
/// Spot 0 is a parameter in place when the step begins, spot 1 one that must come; both take 10 ns.
struct Fixture {
  const StreamId compute{0u}, in{1u};
  const MemoryId memory{1u};
  WalkBound bound{2, 2, 2};
  std::array<int64_t, 2> clocks{0, 0};

  Fixture() {
    bound.expect(compute, 25);
    bound.fillBy(memory, in);
    bound.startsWith(SpotId(0u));
    bound.startsWithout(SpotId(1u), memory, 10);
  }
  /// The least makespan for which the walk is not given up: what the bound is.
  int64_t leastNs() const {
    int64_t ns = 0;
    while (bound.exceeds({.best = {ns, 0}}, clocks, 0))
      ++ns;
    return ns - 1;
  }
};
} // namespace

TEST_CASE_METHOD(Fixture, "a walk takes at least what its streams must still run", "[swap]") {
  CHECK(leastNs() == 25);
  // An operator that starts late: its stream ends later by as much.
  clocks[0] = 9;
  bound.meet(compute, 5);
  CHECK(leastNs() == 29);
  // The parameter leaves for good and must be back when the step ends: 7 + 10 + 10.
  clocks[1] = 7;
  bound.leaves(SpotId(0u), memory, 10, /*isReadLater=*/false, /*wasInitial=*/true);
  CHECK(leastNs() == 29);
  clocks[1] = 12;
  CHECK(leastNs() == 32);
  bound.arrives(SpotId(0u), memory, 10);
  clocks[1] = 22;
  CHECK(leastNs() == 32);
  // It counts once, however often it arrives.
  bound.arrives(SpotId(0u), memory, 10);
  CHECK(leastNs() == 32);
}

TEST_CASE_METHOD(Fixture, "a rival ends a walk where the later ones cannot win either", "[swap]") {
  clocks[1] = 40;
  WalkLimits limits{.rival = {24, 0}};
  // This walk takes 50 ns, and every later one 25.
  CHECK(bound.exceeds(limits, clocks, 0));
  limits.rival = {26, 0};
  CHECK_FALSE(bound.exceeds(limits, clocks, 0));
  limits.isLast = true;
  CHECK(bound.exceeds(limits, clocks, 0));
  // Equal cost leaves the walk in the race with a rival, but not with an earlier walk.
  limits.rival = {50, 7};
  CHECK_FALSE(bound.exceeds(limits, clocks, 7));
  CHECK(bound.exceeds(limits, clocks, 8));
  limits.best = {50, 7};
  CHECK(bound.exceeds(limits, clocks, 7));
  // Without its initial parameter, later walks copy 20 ns in: still less than they compute.
  limits = {.rival = {25, 0}};
  bound.leaves(SpotId(0u), memory, 10, true, true);
  CHECK_FALSE(bound.exceeds(limits, clocks, 0));
  limits.rival = {24, 0};
  CHECK(bound.exceeds(limits, clocks, 0));
}

TEST_CASE("more walks and the streaming plan never make a plan slower", "[swap]") {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Instance random;
    Rng rng(seed);
    fillRandom(random, rng, 30 + 3 * seed, 1);
    const std::vector<MinimumBytes> minimum = minimumBytes(random.problem());
    const std::vector<int64_t> peak = livenessPeakBytes(random.problem());
    random.capacity[1] = minimum[1].bytes + (peak[1] - minimum[1].bytes) * static_cast<int64_t>(seed % 4) / 4;
    for (Link &link : random.machine.links)
      link.duplexBytesPerSec = 2 * link.bytesPerSec; // So that the planner's times are the simulator's.
    int64_t before = std::numeric_limits<int64_t>::max();
    for (int passes = 1; passes <= 4; ++passes) {
      SwapParams params;
      params.passes = passes;
      Expected<Plan> plan = planSwapOffsets(random.problem(), params);
      REQUIRE(plan);
      const int64_t ns = makespanNs(random, *plan);
      INFO(seed << " after " << passes);
      CHECK(ns <= before);
      before = ns;
    }
  }
}
