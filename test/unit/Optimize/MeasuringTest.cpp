//===- MeasuringTest.cpp - Searches by measurements -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Optimize/BestFirst.h"
#include "sluice/Optimize/Crossing.h"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>

using namespace sluice;

namespace {

using Point = std::array<int, 3>;

std::vector<Point> around(const Point &from) {
  std::vector<Point> points;
  for (size_t d = 0; d < from.size(); ++d)
    for (int step : {-1, 1}) {
      Point next = from;
      next[d] += step;
      if (next[d] >= 0 && next[d] < 12)
        points.push_back(next);
    }
  return points;
}

/// Searches by `cost` and returns how many points were measured.
template <typename Cost>
int64_t searchAll(BestFirst<Point> &search, Cost cost) {
  while (std::optional<Point> next = search.next()) {
    REQUIRE(search.next() == next);
    search.tell(cost(*next));
  }
  return search.trials();
}

} // namespace

TEST_CASE("a best-first search finds the optimum of a space with one", "[optimize]") {
  for (const Point &optimum : {Point{0, 0, 0}, Point{11, 3, 7}, Point{5, 5, 5}, Point{2, 11, 0}}) {
    auto cost = [&](const Point &point) {
      double sum = 100;
      for (size_t d = 0; d < point.size(); ++d)
        sum *= 1 + 0.1 * std::abs(point[d] - optimum[d]);
      return sum;
    };
    BestFirst<Point> search({{6, 6, 6}}, around);
    const int64_t trials = searchAll(search, cost);
    REQUIRE(search.best());
    CHECK(*search.best() == optimum);
    CHECK(search.bestCost() == cost(optimum));
    // Around a line to the optimum, not the 1728 points of the grid.
    CHECK(trials < 150);
    CHECK(search.isFinished());
  }
}

TEST_CASE("a best-first search ends where nothing gains enough", "[optimize]") {
  // 0.1% a step: three points are searched around in vain, of which none is 1% better.
  auto cost = [](const Point &point) { return 100 - 0.1 * point[0]; };
  BestFirst<Point> search({{3, 0, 0}}, around);
  searchAll(search, cost);
  CHECK(*search.best() == Point{3, 0, 0});
  BestFirst<Point> finer({{3, 0, 0}}, around, {.leastGain = 0.0005});
  searchAll(finer, cost);
  CHECK((*finer.best())[0] == 11);
}

TEST_CASE("a best-first search crosses points that cost a little more", "[optimize]") {
  // 1% up, then a valley.
  auto cost = [](const Point &point) {
    return 100 + point[1] * 10 + point[2] * 10 + (point[0] < 2 ? point[0] : 20 - 10.0 * point[0]);
  };
  BestFirst<Point> search({{0, 0, 0}}, around);
  searchAll(search, cost);
  CHECK(*search.best() == Point{11, 0, 0});
  BestFirst<Point> impatient({{0, 0, 0}}, around, {.patience = 1});
  CHECK(searchAll(impatient, cost) == 4);
  CHECK(*impatient.best() == Point{0, 0, 0});
  BestFirst<Point> strict({{0, 0, 0}}, around, {.slack = 0.005});
  searchAll(strict, cost);
  CHECK(*strict.best() == Point{0, 0, 0});
}

TEST_CASE("a best-first search starts from the best of several points", "[optimize]") {
  // Two valleys, of which the second is deeper.
  auto cost = [](const Point &point) {
    return std::min(50 + 10.0 * std::abs(point[0] - 1), 20 + 10.0 * std::abs(point[0] - 10));
  };
  BestFirst<Point> one({{0, 0, 0}}, around);
  searchAll(one, cost);
  CHECK((*one.best())[0] == 1);
  BestFirst<Point> both({{0, 0, 0}, {9, 0, 0}, {0, 0, 0}}, around);
  searchAll(both, cost);
  CHECK((*both.best())[0] == 10);
  BestFirst<Point> none({}, around);
  CHECK(none.isFinished());
  CHECK(!none.best());
}

TEST_CASE("a crossing is bisected to its precision", "[optimize]") {
  for (double at : {3.0, 40.0, 777.0, 9000.0}) {
    int64_t measured = 0;
    auto gain = [&](double size) {
      ++measured;
      return std::optional<double>(size / at);
    };
    const Crossing crossing = findCrossing(logSpaced(1, 10'000, 9), gain, 1.1);
    REQUIRE(crossing.state == CrossingState::At);
    CHECK(crossing.size >= at);
    CHECK(crossing.size <= 1.1 * at);
    CHECK(measured <= 9 + 4);
  }
}

TEST_CASE("never and unknown are not the same", "[optimize]") {
  const std::vector<double> sizes = logSpaced(1, 1024, 6);
  CHECK(sizes.front() == 1);
  CHECK(sizes[3] == Approx(64));
  auto always = [](double) { return std::optional<double>(2); };
  CHECK(findCrossing(sizes, always).state == CrossingState::At);
  CHECK(findCrossing(sizes, always).size == 1);
  auto never = [](double) { return std::optional<double>(0.9); };
  CHECK(findCrossing(sizes, never).state == CrossingState::Never);
  // Interrupted, at once or while bisecting.
  CHECK(findCrossing(sizes, [](double) { return std::optional<double>(); }).state == CrossingState::Unknown);
  int64_t left = 7;
  auto interrupted = [&](double size) { return left-- > 0 ? std::optional<double>(size / 100) : std::nullopt; };
  CHECK(findCrossing(sizes, interrupted).state == CrossingState::Unknown);
  CHECK(findCrossing({}, always).state == CrossingState::Unknown);
  // Gains at small sizes and none at large ones, or far from each other, name no crossing.
  auto falling = [](double size) { return std::optional<double>(size < 50 ? 2 : 0.5); };
  CHECK(findCrossing(sizes, falling).state == CrossingState::Unknown);
  auto waving = [](double size) { return std::optional<double>(size < 2 || size > 500 ? 2 : 0.5); };
  CHECK(findCrossing(sizes, waving).state == CrossingState::Unknown);
  // Noise near the crossing is no contradiction.
  auto noisy = [](double size) { return std::optional<double>((size > 10 && size < 20) || size > 30 ? 2 : 0.5); };
  CHECK(findCrossing(sizes, noisy).state == CrossingState::At);
}
