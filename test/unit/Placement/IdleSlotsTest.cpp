//===- IdleSlotsTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IdleSlots.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace sluice;

TEST_CASE("idle slots are found first-fit", "[placement]") {
  IdleSlots slots;
  CHECK(slots.earliestStart(5, 10) == 5);
  slots.occupy(5, 10);
  CHECK(slots.earliestStart(0, 5) == 0);
  CHECK(slots.earliestStart(0, 6) == 15);
  CHECK(slots.earliestStart(2, 4) == 15);
  CHECK(slots.lastEnd() == 15);
  slots.occupy(0, 5);
  CHECK(slots.earliestStart(0, 1) == 15);
}

TEST_CASE("idle slots agree with a plain scan over thousands of intervals", "[placement]") {
  Rng rng(1);
  IdleSlots slots;
  std::vector<Interval> busy; // Ascending.
  for (int i = 0; i < 4000; ++i) {
    int64_t ready = static_cast<int64_t>(rng.below(40000)), duration = 1 + static_cast<int64_t>(rng.below(12));
    int64_t expected = ready;
    for (const Interval &b : busy)
      if (b.startNs < expected + duration && expected < b.endNs)
        expected = b.endNs;
    int64_t start = slots.earliestStart(ready, duration);
    REQUIRE(start == expected);
    slots.occupy(start, duration);
    Interval taken{start, start + duration};
    busy.insert(std::upper_bound(busy.begin(), busy.end(), taken,
                                 [](const Interval &a, const Interval &b) { return a.startNs < b.startNs; }),
                taken);
    REQUIRE(slots.lastEnd() == busy.back().endNs);
  }
}
