//===- SizeClassPoolTest.cpp ----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Memory/SizeClassPool.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {
constexpr int64_t kMiB = int64_t(1) << 20;
using Classes = std::vector<int32_t>;
using Counts = std::vector<int64_t>;

PoolConfig makePool(Classes classes, Counts counts) {
  return {{1 * kMiB, 2 * kMiB, 3 * kMiB, 4 * kMiB}, std::move(classes), std::move(counts)};
}
} // namespace

TEST_CASE("crossover and repair reproduce SwapAdvisor's figure 5", "[memory]") {
  PoolConfig first = makePool({1, 1, 1, 1}, {4}), second = makePool({1, 2, 2, 2}, {8, 1});
  REQUIRE(check(first));
  REQUIRE(check(second));

  PoolConfig child1 = crossover(second, first, 2);
  CHECK(child1.classes == Classes{1, 2, 2, 2});
  CHECK(child1.counts == Counts{8, 3});
  CHECK(poolBytes(child1) == 20 * kMiB);
  REQUIRE(repairCounts(child1, 12 * kMiB));
  CHECK(child1.counts == Counts{4, 2});
  CHECK(poolBytes(child1) == 12 * kMiB);

  PoolConfig child2 = crossover(first, second, 2);
  CHECK(child2.classes == Classes{1, 1, 2, 2});
  CHECK(child2.counts == Counts{4, 1});
  CHECK(classBytes(child2) == std::vector<int64_t>{2 * kMiB, 4 * kMiB});
  CHECK(poolBytes(child2) == 12 * kMiB);
}

TEST_CASE("class repair raises what falls and lowers after jumps", "[memory]") {
  Classes falling = {1, 2, 3, 1, 2, 2};
  repairClasses(falling);
  CHECK(falling == Classes{1, 2, 3, 3, 3, 3});
  Classes jumping = {1, 4, 5, 5, 7};
  repairClasses(jumping);
  CHECK(jumping == Classes{1, 2, 3, 3, 4});
  Classes late = {3, 3, 4};
  repairClasses(late);
  CHECK(late == Classes{1, 1, 2});
}

TEST_CASE("count repair keeps each class's working set", "[memory]") {
  PoolConfig pool = makePool({1, 1, 2, 2}, {10, 10});
  Counts minimum = {1, 3};
  REQUIRE(repairCounts(pool, 14 * kMiB, minimum));
  CHECK(pool.counts == Counts{1, 3});
  Status status = repairCounts(pool, 14 * kMiB - 1, minimum);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::Infeasible);
  CHECK(status.error().message.find("1 bytes more than the capacity") != std::string::npos);
}

TEST_CASE("mutated pools stay valid", "[memory]") {
  Rng rng(7);
  PoolConfig pool = makePool({1, 2, 2, 3}, {8, 2, 1});
  bool changed = false;
  for (int i = 0; i < 500; ++i) {
    PoolConfig before = pool;
    mutateClasses(pool, 0.3, rng);
    mutateCounts(pool, 0.3, 0.2, rng);
    REQUIRE(repairCounts(pool, 24 * kMiB));
    REQUIRE(check(pool));
    REQUIRE(poolBytes(pool) <= 24 * kMiB);
    changed |= !(before == pool);
  }
  CHECK(changed);
}

TEST_CASE("malformed pools are refused by name", "[memory]") {
  CHECK(check(makePool({1, 1, 2}, {1, 1})).error().message.find("4 sizes and 3") != std::string::npos);
  CHECK(check(makePool({1, 3, 3, 3}, {1, 1, 1})).error().message.find("pool class 3 at position 1 is out of order") !=
        std::string::npos);
  CHECK(check(makePool({2, 2, 2, 2}, {1, 1})).error().message.find("pool class 2 at position 0 is out of order") !=
        std::string::npos);
  CHECK(check(makePool({1, 1, 2, 2}, {1})).error().message.find("1 counts for 2") != std::string::npos);
  CHECK_FALSE(check(makePool({1, 1, 2, 2}, {1, -1})));
  CHECK_FALSE(check(PoolConfig{{64, 64}, {1, 1}, {1}}));
  CHECK(check(PoolConfig{}));
}

TEST_CASE("a size maps to the smallest class that holds it", "[memory]") {
  PoolConfig pool = makePool({1, 1, 2, 2}, {1, 1});
  CHECK(classOf(pool, 1) == 0);
  CHECK(classOf(pool, 2 * kMiB) == 0);
  CHECK(classOf(pool, 2 * kMiB + 1) == 1);
  CHECK(classOf(pool, 4 * kMiB + 1) == -1);
}
