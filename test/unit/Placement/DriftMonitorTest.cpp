//===- DriftMonitorTest.cpp - When a running plan no longer fits ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/DriftMonitor.h"
#include "sluice/Support/Rng.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sluice;

namespace {

/// Steps of two devices in turn, 10 ms and 6 ms, which vary by `noise`.
struct Steps {
  Rng rng;
  double noise, second = 1;

  bool feed(DriftMonitor &monitor) {
    const auto vary = [&](double ns) { return static_cast<int64_t>(ns * std::max(0.5, 1 + noise * rng.normal())); };
    const int64_t a = vary(10e6), b = vary(6e6 * second);
    return monitor.observe(a + b, {a, b, 0});
  }
};

} // namespace

TEST_CASE("a thousand undisturbed iterations trigger nothing", "[placement]") {
  for (double noise : {0.0, 0.01, 0.05, 0.2})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      DriftMonitor monitor;
      Steps steps{Rng(seed), noise};
      for (int i = 0; i < 1000; ++i)
        REQUIRE_FALSE(steps.feed(monitor));
    }
}

TEST_CASE("a device slowed three times is found within the window, and by how much", "[placement]") {
  for (double noise : {0.0, 0.01, 0.03})
    for (uint64_t seed = 0; seed < 20; ++seed) {
      DriftMonitor monitor;
      Steps steps{Rng(seed), noise};
      for (int i = 0; i < 100; ++i)
        REQUIRE_FALSE(steps.feed(monitor));
      steps.second = 3;
      int after = 1;
      while (!steps.feed(monitor) && after < 100)
        ++after;
      CHECK(after <= 20);
      const std::vector<double> slowdowns = monitor.slowdowns();
      CHECK(slowdowns[0] == Approx(1).epsilon(4 * noise + 1e-9));
      CHECK(slowdowns[1] == Approx(3).epsilon(4 * noise + 1e-9));
      CHECK(slowdowns[2] == 1);
      // What is now is the rule from here on; faster again is a change too.
      monitor.restart();
      for (int i = 0; i < 200; ++i)
        REQUIRE_FALSE(steps.feed(monitor));
      steps.second = 1;
      for (after = 1; !steps.feed(monitor) && after < 100;)
        ++after;
      CHECK(after <= 20);
      CHECK(monitor.slowdowns()[1] == Approx(1.0 / 3).epsilon(4 * noise + 1e-9));
    }
}

TEST_CASE("delays by the system neither hide a change nor feign one", "[placement]") {
  DriftMonitor monitor;
  Steps steps{Rng(3), 0.01};
  auto feed = [&, i = 0]() mutable {
    return ++i % 7 == 0 ? monitor.observe(400'000'000, {390'000'000, 6'000'000, 0}) : steps.feed(monitor);
  };
  for (int i = 0; i < 1000; ++i)
    REQUIRE_FALSE(feed());
  steps.second = 3;
  int after = 1;
  while (!feed() && after < 100)
    ++after;
  CHECK(after <= 20);
  CHECK(monitor.slowdowns()[1] == Approx(3).epsilon(0.05));
}

TEST_CASE("a slowed device is found although the machine's speed wanders", "[placement]") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    DriftMonitor monitor;
    Rng rng(seed);
    double slower = 1;
    // The first device takes three quarters of the time; all vary together by a fifth.
    auto feed = [&] {
      const double speed = std::max(0.5, 1 + 0.2 * rng.normal()) * 1e6;
      const auto vary = [&](double ms) { return static_cast<int64_t>(ms * speed * (1 + 0.01 * rng.normal())); };
      const int64_t a = vary(15), b = vary(5 * slower);
      return monitor.observe(a + b, {a, b});
    };
    for (int i = 0; i < 1000; ++i)
      REQUIRE_FALSE(feed());
    slower = 3;
    int after = 1;
    while (!feed() && after < 100)
      ++after;
    CHECK(after <= 20);
    CHECK(monitor.slowdowns()[1] == Approx(3).epsilon(0.05));
  }
}

TEST_CASE("a change is listened to again, and may be over", "[placement]") {
  for (bool lasts : {true, false}) {
    DriftMonitor monitor;
    Steps steps{Rng(7), 0.01};
    for (int i = 0; i < 100; ++i)
      REQUIRE_FALSE(steps.feed(monitor));
    steps.second = 3;
    while (!steps.feed(monitor)) {
    }
    monitor.listenAgain();
    steps.second = lasts ? 3 : 1;
    int after = 1;
    bool isChanged = false;
    while (monitor.isListening() && !(isChanged = steps.feed(monitor)) && after < 100)
      ++after;
    CHECK(isChanged == lasts);
    CHECK(monitor.isListening() == lasts);
    CHECK(after <= 6);
  }
}

TEST_CASE("a device that hardly works calls for no plan", "[placement]") {
  DriftMonitor monitor;
  for (int i = 0; i < 100; ++i)
    REQUIRE_FALSE(monitor.observe(10'000'000, {9'990'000, 10'000}));
  for (int i = 0; i < 100; ++i)
    REQUIRE_FALSE(monitor.observe(10'010'000, {9'990'000, 20'000}));
}

TEST_CASE("what slows all devices alike slows none beside the others", "[placement]") {
  DriftMonitor monitor;
  for (int i = 0; i < 100; ++i)
    REQUIRE_FALSE(monitor.observe(10'000'000, {9'000'000, 6'000'000, 0}));
  int after = 1;
  while (!monitor.observe(16'000'000, {14'400'000, 9'600'000, 0}) && after < 100)
    ++after;
  CHECK(after <= 20);
  for (double slowdown : monitor.slowdowns())
    CHECK(slowdown == Approx(1));
  // Of one device alone nobody knows: another may be faster now.
  monitor.restart();
  for (int i = 0; i < 100; ++i)
    REQUIRE_FALSE(monitor.observe(10'000'000, {9'000'000, 0, 0}));
  while (!monitor.observe(16'000'000, {14'400'000, 0, 0})) {
  }
  CHECK(monitor.slowdowns()[0] == Approx(1.6));
}

TEST_CASE("the first iterations may take as long as they will", "[placement]") {
  DriftMonitor monitor({4, 3});
  Steps steps{Rng(1), 0};
  CHECK_FALSE(monitor.observe(1'000'000'000, {1, 1, 0}));
  for (int i = 0; i < 50; ++i)
    CHECK_FALSE(steps.feed(monitor));
}
