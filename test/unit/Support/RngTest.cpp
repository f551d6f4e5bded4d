//===- RngTest.cpp --------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>
#include <vector>

using namespace sluice;

TEST_CASE("a seed repeats, another differs", "[support]") {
  Rng a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    uint64_t value = a.next();
    CHECK(value == b.next());
    differs |= value != c.next();
  }
  CHECK(differs);
}

TEST_CASE("forks depend on seed and stream alone", "[support]") {
  Rng a(7), b(7);
  a.next();
  CHECK(a.fork(3).next() == b.fork(3).next());
  CHECK(b.fork(3).next() != b.fork(4).next());
}

TEST_CASE("below is in range and even", "[support]") {
  Rng rng(1);
  std::vector<int> counts(5);
  for (int i = 0; i < 50000; ++i)
    ++counts.at(rng.below(5));
  for (int count : counts)
    CHECK(count == Approx(10000).margin(500));
  CHECK(rng.below(1) == 0);
}

TEST_CASE("uniform and normal have their moments", "[support]") {
  Rng rng(2);
  double sum = 0, normalSum = 0, normalSquares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    double u = rng.uniform();
    REQUIRE(u >= 0);
    REQUIRE(u < 1);
    sum += u;
    double n = rng.normal();
    normalSum += n;
    normalSquares += n * n;
  }
  CHECK(sum / kCount == Approx(0.5).margin(0.01));
  CHECK(normalSum / kCount == Approx(0).margin(0.02));
  CHECK(normalSquares / kCount == Approx(1).margin(0.02));
}

TEST_CASE("shuffle permutes", "[support]") {
  Rng rng(3);
  std::vector<int> items(50);
  std::iota(items.begin(), items.end(), 0);
  std::vector<int> shuffled = items;
  rng.shuffle(shuffled);
  CHECK(shuffled != items);
  std::sort(shuffled.begin(), shuffled.end());
  CHECK(shuffled == items);
}
