//===- ServingTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The queue against what is known of it: M/D/1's mean and distribution, M/G/1's
// mean, and a queue replayed event by event.
//
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Serving.h"

#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace sluice;

namespace {

constexpr int64_t kMs = 1'000'000;

ServingStats simulated(const ServingProblem &problem, const ServingParams &params) {
  Expected<ServingStats> stats = simulateServing(problem, params);
  REQUIRE(stats);
  return *stats;
}

/// M/D/1: the probability of a wait of at most `wait` services (Erlang 1909).
/// Alternating terms: for waits of a few services alone.
double waitsAtMost(double wait, double load) {
  double sum = 0, factorial = 1;
  for (int k = 0; k <= static_cast<int>(wait); ++k) {
    if (k > 0)
      factorial *= k;
    const double x = load * (k - wait);
    sum += std::pow(x, k) / factorial * std::exp(-x);
  }
  return (1 - load) * sum;
}

} // namespace

TEST_CASE("one model alone is an M/D/1 queue", "[simulator][serving]") {
  for (double load : {0.2, 0.5, 0.8}) {
    ServingProblem problem{{{10 * kMs, 10 * kMs}}, load * 100};
    CHECK(offeredLoad(problem) == Approx(load));
    const double expected = load * 10e6 / (2 * (1 - load));
    CHECK(expectedWaitNs(problem) == Approx(expected));
    const ServingStats stats = simulated(problem, {1'000'000, 10'000, 7});
    CHECK(stats.meanWaitNs == Approx(expected).epsilon(0.03));
    CHECK(stats.meanLatencyNs == Approx(stats.meanWaitNs + 10e6));
    CHECK(stats.requestsPerSec == Approx(problem.requestsPerSec).epsilon(0.01));
    CHECK(stats.switches == 0);
  }
  // Tails, where Erlang's sum is exact enough.
  for (double load : {0.3, 0.5}) {
    const ServingStats stats = simulated({{{10 * kMs, 10 * kMs}}, load * 100}, {1'000'000, 10'000, 3});
    CHECK(waitsAtMost(static_cast<double>(stats.p99Ns) / 10e6 - 1, load) == Approx(0.99).margin(0.001));
    CHECK(waitsAtMost(static_cast<double>(stats.medianNs) / 10e6 - 1, load) >= 0.5 - 0.002);
  }
}

TEST_CASE("models that take turns in memory are an M/G/1 queue", "[simulator][serving]") {
  for (size_t models : {2u, 4u, 16u}) {
    ServingProblem problem{std::vector<ServedModel>(models, {10 * kMs, 30 * kMs}), 25};
    const double cold = 1 - 1 / static_cast<double>(models);
    CHECK(offeredLoad(problem) == Approx(25 * (0.01 + cold * 0.02)));
    const ServingStats stats = simulated(problem, {1'000'000, 10'000, 11});
    CHECK(stats.meanWaitNs == Approx(expectedWaitNs(problem)).epsilon(0.03));
    CHECK(static_cast<double>(stats.switches) / 1e6 == Approx(cold).epsilon(0.01));
  }
}

TEST_CASE("the queue agrees with one replayed event by event", "[simulator][serving]") {
  const ServingProblem problem{{{3 * kMs, 9 * kMs}, {5 * kMs, 6 * kMs}, {1 * kMs, 20 * kMs}}, 90};
  const int64_t count = 2000;
  Rng rng(5);
  std::vector<double> arrivals, latencies;
  std::vector<size_t> models;
  double now = 0;
  for (int64_t i = 0; i < count; ++i) {
    arrivals.push_back(now);
    models.push_back(rng.below(3));
    now -= std::log1p(-rng.uniform()) * 1e9 / 90;
  }
  double freeAt = 0, sum = 0, longest = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const ServedModel &model = problem.models[models[i]];
    const bool cold = i == 0 || models[i - 1] != models[i];
    freeAt = std::max(freeAt, arrivals[i]) + static_cast<double>(cold ? model.coldNs : model.warmNs);
    sum += freeAt - arrivals[i];
    longest = std::max(longest, freeAt - arrivals[i]);
  }
  const ServingStats stats = simulated(problem, {count, 0, 5});
  CHECK(stats.meanLatencyNs == Approx(sum / count));
  CHECK(static_cast<double>(stats.longestNs) == Approx(longest));
}

TEST_CASE("the same seed serves the same requests", "[simulator][serving]") {
  const ServingProblem problem{std::vector<ServedModel>(4, {10 * kMs, 20 * kMs}), 30};
  const ServingStats a = simulated(problem, {5000, 100, 1}), b = simulated(problem, {5000, 100, 1});
  CHECK(a.p99Ns == b.p99Ns);
  CHECK(a.meanWaitNs == b.meanWaitNs);
  CHECK(simulated(problem, {5000, 100, 2}).p99Ns != a.p99Ns);
  // Twice as fast a device and twice the rate: everything in half the time.
  const ServingProblem faster{std::vector<ServedModel>(4, {5 * kMs, 10 * kMs}), 60};
  CHECK(simulated(faster, {5000, 100, 1}).meanWaitNs == Approx(a.meanWaitNs / 2));
}

TEST_CASE("an overloaded device completes what it can", "[simulator][serving]") {
  const ServingProblem problem{{{10 * kMs, 10 * kMs}}, 250};
  CHECK(offeredLoad(problem) == Approx(2.5));
  CHECK(std::isinf(expectedWaitNs(problem)));
  const ServingStats stats = simulated(problem, {20'000, 1000, 0});
  CHECK(stats.requestsPerSec == Approx(100).epsilon(0.001));
  CHECK(stats.longestNs >= stats.p99Ns);
  CHECK(stats.p99Ns > stats.medianNs);
}

TEST_CASE("serving problems that mean nothing are refused", "[simulator][serving]") {
  const std::vector<ServedModel> one{{kMs, kMs}};
  CHECK_FALSE(simulateServing({{}, 10}));
  CHECK_FALSE(simulateServing({{{0, kMs}}, 10}));
  CHECK_FALSE(simulateServing({{{kMs, -5}}, 10}));
  CHECK_FALSE(simulateServing({{{kMs, std::numeric_limits<int64_t>::max()}}, 10}));
  for (double rate : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e300})
    CHECK_FALSE(simulateServing({one, rate}));
  CHECK_FALSE(simulateServing({one, 10}, {0, 0, 0}));
  CHECK_FALSE(simulateServing({one, 10}, {10, -1, 0}));
  CHECK_FALSE(simulateServing({one, 10}, {std::numeric_limits<int64_t>::max(), 0, 0}));
  Expected<ServingStats> refused = simulateServing({{}, 10});
  CHECK(refused.error().message == "the serving problem has no models, give at least one");
  CHECK(simulateServing({one, 1e9}, {1, 0, 0})); // A single request.
}
