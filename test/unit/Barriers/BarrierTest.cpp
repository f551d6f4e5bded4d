//===- BarrierTest.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Barrier.h"
#include "sluice/Barriers/Simulator.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <vector>

using namespace sluice;

TEST_CASE("barriers are one family", "[barriers]") {
  const std::vector<int64_t> view = {4, 2, 6};
  const Barrier bsp, asp{0, 0}, ssp{4, {}};
  CHECK(bsp.passes(2, view));
  CHECK_FALSE(bsp.passes(3, view));
  CHECK(ssp.passes(6, view));
  CHECK_FALSE(ssp.passes(7, view));
  CHECK(asp.passes(1000, {}));
  CHECK(bsp.viewSize(5) == 4);
  CHECK(asp.viewSize(5) == 0);
  CHECK(Barrier{0, 3}.viewSize(5) == 3);
  CHECK(Barrier{0, 10}.viewSize(5) == 4);
  CHECK(bsp.viewSize(1) == 0);
}

TEST_CASE("barriers are read from text and written", "[barriers]") {
  for (const char *text : {"bsp", "ssp:4", "asp", "pbsp:10", "pssp:4,10", "pssp:3,0"}) {
    Expected<Barrier> barrier = parseBarrier(text);
    REQUIRE(barrier);
    CHECK(barrierText(*barrier) == text);
  }
  CHECK(*parseBarrier("ssp:0") == *parseBarrier("bsp"));
  CHECK(*parseBarrier("pbsp:0") == *parseBarrier("asp"));
  CHECK(*parseBarrier("pssp:4,10") == Barrier{4, 10});
}

TEST_CASE("texts that are no barrier name the fault", "[barriers]") {
  auto fault = [](const std::string &text) {
    Expected<Barrier> barrier = parseBarrier(text);
    REQUIRE_FALSE(barrier);
    CHECK(barrier.error().code == ErrorCode::InvalidInput);
    return barrier.error().message;
  };
  using Catch::Contains;
  CHECK_THAT(fault(""), Contains("unknown barrier ''"));
  CHECK_THAT(fault("BSP"), Contains("unknown barrier 'BSP'") && Contains("give bsp, ssp:STALENESS"));
  CHECK_THAT(fault(std::string(1000, 'x')), Contains("...") && !Contains(std::string(100, 'x')));
  CHECK(fault("bsp:1") == "barrier 'bsp:1' has 1 number, write 'bsp' with no number");
  CHECK(fault("ssp") == "barrier 'ssp' has 0 numbers, write 'ssp' with a staleness, as in 'ssp:4'");
  CHECK_THAT(fault("pssp:4"), Contains("with a staleness and a sample"));
  CHECK_THAT(fault("pssp:4,10,1"), Contains("has 3 numbers"));
  CHECK_THAT(fault("pbsp:"), Contains("'' is not an integer"));
  CHECK_THAT(fault("pssp:4:5,6"), Contains("'4:5' is not an integer"));
  CHECK_THAT(fault("ssp:-1"), Contains("cannot have a staleness of -1 steps"));
  CHECK_THAT(fault("pbsp:1000001"), Contains("cannot have a sample of 1000001 workers"));
  CHECK_THAT(fault("ssp:99999999999999999999"), Contains("does not fit 64 bits"));
  CHECK_THAT(fault("ssp:nan"), Contains("'nan' is not an integer"));
}

TEST_CASE("step times are read from text and drawn within their bounds", "[barriers]") {
  struct Case {
    const char *text;
    double least, most, mean;
  };
  for (const Case &c : {Case{"fixed:5us", 5e3, 5e3, 5e3}, Case{"uniform:1us,2us", 1e3, 3e3, 2e3},
                        Case{"exponential:1us,1us", 1e3, 1e18, 2e3},
                        Case{"lognormal:1us,0.5", 1, 1e18, 1e3 * std::exp(0.125)}, Case{"fixed:0s", 1, 1, 1}}) {
    INFO(c.text);
    Expected<StepTime> time = parseStepTime(c.text);
    REQUIRE(time);
    Rng rng(1);
    double sum = 0, least = 1e18, most = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; ++i) {
      const auto ns = static_cast<double>(time->draw(rng));
      sum += ns;
      least = std::min(least, ns);
      most = std::max(most, ns);
    }
    CHECK(least >= c.least);
    CHECK(least >= static_cast<double>(time->leastNs()));
    CHECK(most <= c.most);
    CHECK(sum / kDraws == Approx(c.mean).epsilon(0.02)); // The widest, exponential, errs by 0.0035.
  }
  for (const char *text : {"", "gauss:1s,1s", "fixed", "fixed:1s,1s", "uniform:1s", "exponential:-1s,1s",
                           "lognormal:1s,nan", "lognormal:1s,11", "fixed:inf", "fixed:1e300s", "exponential:1s,"}) {
    INFO(text);
    CHECK_FALSE(parseStepTime(text));
  }
}
