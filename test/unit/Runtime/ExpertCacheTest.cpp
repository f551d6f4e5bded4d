//===- ExpertCacheTest.cpp - Which experts stay in memory -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ExpertCache.h"
#include "RefusedMemory.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <new>
#include <random>
#include <set>

using namespace sluice::runtime;

// Sanitizers have operators of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
thread_local bool sluice::test::refusesMemory = false;

void *operator new(size_t bytes) {
  void *memory = sluice::test::refusesMemory ? nullptr : std::malloc(bytes);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
#endif

namespace {

/// The greatest number of hits over all choices of what to replace.
int64_t tryAll(const std::vector<uint32_t> &uses, size_t at, std::set<uint32_t> held, uint32_t numSlots) {
  if (at == uses.size())
    return 0;
  if (held.count(uses[at]))
    return 1 + tryAll(uses, at + 1, held, numSlots);
  if (held.size() < numSlots) {
    held.insert(uses[at]);
    return tryAll(uses, at + 1, held, numSlots);
  }
  int64_t best = 0;
  for (uint32_t out : held) {
    std::set<uint32_t> next = held;
    next.erase(out);
    next.insert(uses[at]);
    best = std::max(best, tryAll(uses, at + 1, next, numSlots));
  }
  return best;
}

std::vector<uint32_t> someUses(uint32_t seed, uint32_t numExperts, size_t count) {
  std::minstd_rand random(seed);
  std::vector<uint32_t> uses(count);
  for (uint32_t &use : uses)
    use = static_cast<uint32_t>(random() % numExperts);
  return uses;
}

int64_t hitsOf(const std::vector<uint32_t> &uses, uint32_t numExperts, uint32_t numSlots, double halfLife) {
  ExpertCache cache(numExperts, numSlots, halfLife);
  int64_t hits = 0;
  for (uint32_t use : uses) {
    const auto place = cache.hold(use);
    REQUIRE(place);
    hits += place->isHit;
    cache.release(use);
  }
  CHECK(cache.recordedHits() == hits);
  CHECK(cache.recorded() == uses);
  return hits;
}

/// Uses of layers that take turns. Each expert has a popularity of its own, which changes as fast as `drift` says.
std::vector<uint32_t> routing(double skew, double drift, uint32_t seed) {
  constexpr int kLayers = 8, kExperts = 8, kChosen = 2, kTokens = 600;
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> fixed(kLayers * kExperts), moving(kLayers * kExperts);
  for (double &each : fixed)
    each = skew * normal(random);
  for (double &each : moving)
    each = normal(random);
  std::vector<uint32_t> uses;
  for (int token = 0; token < kTokens; ++token)
    for (int layer = 0; layer < kLayers; ++layer) {
      std::vector<std::pair<double, uint32_t>> scores;
      for (int e = 0; e < kExperts; ++e) {
        const auto number = static_cast<size_t>(layer * kExperts + e);
        moving[number] = (1 - drift) * moving[number] + std::sqrt(1 - (1 - drift) * (1 - drift)) * normal(random);
        scores.emplace_back(fixed[number] + moving[number], static_cast<uint32_t>(number));
      }
      std::sort(scores.rbegin(), scores.rend());
      for (int i = 0; i < kChosen; ++i)
        uses.push_back(scores[static_cast<size_t>(i)].second);
    }
  return uses;
}

} // namespace

TEST_CASE("the best cache has as many hits as the best of all choices", "[runtime][experts]") {
  for (uint32_t seed = 1; seed <= 60; ++seed)
    for (uint32_t slots = 1; slots <= 4; ++slots) {
      const std::vector<uint32_t> uses = someUses(seed, 2 + seed % 4, 11);
      INFO("seed " << seed << ", " << slots << " slots");
      REQUIRE(mostHits(uses, slots) == tryAll(uses, 0, {}, slots));
    }
  CHECK(mostHits({}, 2) == 0);
  // Belady's example of a cycle that is one longer than the cache: all but one of its members stay.
  CHECK(mostHits({0, 1, 2, 0, 1, 2, 0, 1, 2}, 2) == 3);
}

TEST_CASE("experts are replaced by their decayed counts", "[runtime][experts]") {
  constexpr uint32_t kExperts = 6, kSlots = 3;
  constexpr double kHalfLife = 5;
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    ExpertCache cache(kExperts, kSlots, kHalfLife);
    std::vector<uint32_t> past, held;
    auto countsOf = [&](uint32_t expert) {
      double sum = 0;
      for (size_t i = 0; i < past.size(); ++i)
        if (past[i] == expert)
          sum += std::exp2((static_cast<double>(i) - static_cast<double>(past.size())) / kHalfLife);
      return sum;
    };
    for (uint32_t use : someUses(seed, kExperts, 60)) {
      const bool isThere = std::find(held.begin(), held.end(), use) != held.end();
      if (!isThere && held.size() == kSlots)
        held.erase(std::min_element(held.begin(), held.end(),
                                    [&](uint32_t a, uint32_t c) { return countsOf(a) < countsOf(c); }));
      if (!isThere)
        held.push_back(use);
      past.push_back(use);
      const auto place = cache.hold(use);
      REQUIRE(place);
      REQUIRE(place->isHit == isThere);
      cache.release(use);
    }
  }
}

TEST_CASE("without a half-life the least recently used expert is replaced", "[runtime][experts]") {
  ExpertCache cache(4, 2, 0);
  auto use = [&](uint32_t expert) {
    const auto place = cache.hold(expert);
    cache.release(expert);
    return place->isHit;
  };
  CHECK_FALSE(use(0));
  CHECK_FALSE(use(1));
  CHECK(use(0));
  CHECK_FALSE(use(2));
  CHECK(use(0));
  CHECK_FALSE(use(1));
}

TEST_CASE("held experts stay, and dropped ones are gone", "[runtime][experts]") {
  ExpertCache cache(4, 2, 4);
  const auto first = cache.hold(0), second = cache.hold(1);
  REQUIRE((first && second));
  CHECK(first->slot != second->slot);
  CHECK_FALSE(cache.hold(2));
  CHECK(cache.recorded().size() == 2);
  cache.release(1);
  const auto third = cache.hold(2);
  REQUIRE(third);
  CHECK(third->slot == second->slot);
  cache.drop(2);
  cache.release(0);
  CHECK(cache.hold(0)->isHit);
  CHECK_FALSE(cache.hold(2)->isHit);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("an expert is not found in a slot that was never filled", "[runtime][experts]") {
  ExpertCache cache(4, 1, 0);
  CHECK_FALSE(cache.hold(0)->isHit);
  cache.release(0);
  sluice::test::refusesMemory = true;
  bool wasRefused = false;
  try {
    cache.hold(1); // The list of uses has room for one.
  } catch (const std::bad_alloc &) {
    wasRefused = true;
  }
  sluice::test::refusesMemory = false;
  REQUIRE(wasRefused);
  CHECK_FALSE(cache.hold(1)->isHit);
}
#endif

TEST_CASE("counts that decay serve routings on which recency or frequency alone fail", "[runtime][experts]") {
  constexpr uint32_t kExperts = 64, kSlots = 32;
  constexpr double kForever = 1e9;
  auto rates = [&](double skew, double drift) {
    const std::vector<uint32_t> uses = routing(skew, drift, 3);
    const int64_t best = mostHits(uses, kSlots);
    std::vector<double> list;
    for (double halfLife : {0.0, double(kExperts), kForever}) {
      const int64_t hits = hitsOf(uses, kExperts, kSlots, halfLife);
      CHECK(hits <= best);
      list.push_back(static_cast<double>(hits) / static_cast<double>(uses.size()));
    }
    return list;
  };
  // Fixed popularity: recency alone loses. Popularity that wanders: frequency alone loses.
  const std::vector<double> fixed = rates(0.7, 1), wandering = rates(0, 0.05);
  INFO("fixed " << fixed[0] << " " << fixed[1] << " " << fixed[2] << ", wandering " << wandering[0] << " "
                << wandering[1] << " " << wandering[2]);
  CHECK(fixed[1] > fixed[0] + 0.04);
  CHECK(wandering[1] > wandering[2] + 0.1);
}
