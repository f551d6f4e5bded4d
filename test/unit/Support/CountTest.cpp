//===- CountTest.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Count.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

using namespace sluice;

static constexpr int64_t kMost = Count::kMost, kLeast = Count::kLeast;

TEST_CASE("counts saturate", "[support]") {
  const Count large = int64_t(1) << 40;
  CHECK(large * large == kMost);
  CHECK(-large * large == kLeast);
  CHECK(large * -large == kLeast);
  CHECK(-large * -large == kMost);
  CHECK(Count(kMost) + 1 == kMost);
  CHECK(Count(kLeast) + -1 == kLeast);
  CHECK(Count(kLeast) - 1 == kLeast);
  CHECK(Count(kMost) - -1 == kMost);
  CHECK(-Count(kLeast) == kMost);
  CHECK(2 * Count(3) + 4 == 10);
  CHECK(Count(7) - size_t(9) == -2);
  CHECK(Count(UINT64_MAX) == kMost);
  CHECK(Count(kMost).isSaturated());
  CHECK_FALSE(large.isSaturated());
}

TEST_CASE("counts divide by anything", "[support]") {
  CHECK(Count(32768) / Count(0) == kMost);
  CHECK(Count(-32768) / 0 == kLeast);
  CHECK(Count(0) / 0 == 0);
  CHECK(Count(7) / 2 == 3);
  CHECK(Count(7) % 4 == 3);
  CHECK(Count(7) % 0 == 7);
  CHECK(Count(kLeast) / -1 == kMost);
  CHECK(Count(kLeast) % -1 == 0);
  CHECK(32768 / Count(16) == 2048);
}

// `32768 / (inner * product(kernel))` of a kernel of 2^29 x 2^29 and 64 columns was a division by zero.
TEST_CASE("a grain of saturated work is one", "[support]") {
  const Count kernel = Count(int64_t(1) << 29) * (int64_t(1) << 29);
  for (int64_t inner : {int64_t(1), int64_t(64), int64_t(1) << 35})
    CHECK(std::max<int64_t>(1, 32768 / (inner * kernel)) == 1);
}

TEST_CASE("plain totals take counts without wrapping around", "[support]") {
  int64_t total = 5;
  total += Count(kMost);
  CHECK(total == kMost);
  total = 3;
  total *= Count(kMost);
  CHECK(total == kMost);
  total = 10;
  total -= Count(4);
  total /= Count(0);
  CHECK(total == kMost);
}

TEST_CASE("counts serve as integers", "[support]") {
  const Count three = 3;
  CHECK(std::vector<char>(three).size() == 3);
  CHECK(three < 4);
  CHECK(2U < three);
  CHECK(static_cast<double>(three) * 1.5 == 4.5);
  Count sum;
  for (int i : {1, 2, 3})
    sum += i;
  CHECK(sum == 6);
  static_assert(Count(6) / 4 * 2 == 2);
}
