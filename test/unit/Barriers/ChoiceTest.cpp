//===- ChoiceTest.cpp - Which barrier a training run should use -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Barriers/Choice.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace sluice;
using Catch::Matchers::Contains;

namespace {

/// Four ranks with steps of 10 ms, the first of which is `slowness` times slower. The loss falls by `fall` in a step.
BarrierTrial trialOf(double slowness, double fall) {
  BarrierTrial trial;
  trial.stepsLeft = 80;
  for (int64_t rank = 0; rank < 4; ++rank)
    trial.ranks.push_back(
        {0, std::vector<int64_t>(10, std::llround((rank == 0 ? slowness : 1) * 1e7) + 10'000 * rank)});
  for (int step = 0; step < 10; ++step)
    trial.losses.push_back(2 * std::pow(1 - fall, step));
  return trial;
}

std::string chosen(const BarrierTrial &trial, double ratio) {
  auto choice = chooseBarrier(trial, ratio);
  REQUIRE(choice);
  const BarrierCandidate &one = choice->candidates.at(choice->chosen);
  CHECK(one.lossRatio <= ratio);
  CHECK(choice->candidates.front().barrier == Barrier());
  CHECK(choice->candidates.front().lossRatio == 1);
  CHECK(choice->candidates.front().speed == 1);
  return barrierText(one.barrier);
}

} // namespace

TEST_CASE("ranks of one speed stay in step", "[barriers]") {
  CHECK(chosen(trialOf(1, 0.02), 1.05) == "bsp");
  CHECK(chosen(trialOf(1, 0.02), 100) == "bsp");
}

TEST_CASE("a slow rank is not waited for if the loss may rise", "[barriers]") {
  const BarrierTrial trial = trialOf(3, 0.02);
  CHECK(chosen(trial, 1) == "bsp");
  const std::string barrier = chosen(trial, 1.1);
  CHECK((barrier == "asp" || barrier.starts_with("p")));
  auto choice = chooseBarrier(trial, 1.1);
  const BarrierCandidate &one = choice->candidates[choice->chosen];
  // Three ranks do 3 steps for one of the slow rank, and the slow rank one: 10 updates for 4.
  CHECK(one.speed == Approx(2.5).epsilon(0.05));
  CHECK(one.waitingShare < 0.05);
  CHECK(choice->candidates.front().waitingShare == Approx(0.5).margin(0.03));
  // The loss that falls faster costs more.
  const double ratio = one.lossRatio;
  const BarrierTrial steep = trialOf(3, 0.2);
  auto other = chooseBarrier(steep, 100);
  CHECK(other->candidates[choice->chosen].lossRatio > ratio);
  CHECK(other->candidates[choice->chosen].lossRatio ==
        Approx(std::exp(-std::log(0.8) * other->candidates[choice->chosen].meanLate / 4)));
}

TEST_CASE("staleness is bounded by what the loss may rise", "[barriers]") {
  // A few updates late cost more than 1%, and all that they bring is lost.
  const std::string barrier = chosen(trialOf(3, 0.5), 1.01);
  CHECK(barrier == "bsp");
  BarrierTrial negative = trialOf(3, 0.02);
  negative.losses[3] = -1;
  CHECK(chosen(negative, 100) == "bsp");
  // A loss that does not fall yet loses nothing.
  BarrierTrial flat = trialOf(3, 0);
  CHECK(chosen(flat, 1) != "bsp");
}

TEST_CASE("a choice depends on its arguments alone", "[barriers]") {
  const BarrierTrial trial = trialOf(2, 0.05);
  auto first = chooseBarrier(trial, 1.2), second = chooseBarrier(trial, 1.2);
  REQUIRE(first);
  CHECK(first->chosen == second->chosen);
  for (size_t i = 0; i < first->candidates.size(); ++i)
    CHECK(first->candidates[i].speed == second->candidates[i].speed);
  // A sample of all others is no sample.
  BarrierTrial two = trial;
  two.ranks.resize(2);
  const auto choice = chooseBarrier(two, 100);
  for (const BarrierCandidate &one : choice->candidates)
    CHECK(one.barrier.sample.value_or(0) == 0);
}

TEST_CASE("a trial that says nothing is refused", "[barriers]") {
  BarrierTrial trial = trialOf(1, 0.1);
  trial.losses.resize(1);
  CHECK(!chooseBarrier(trial, 2));
  trial = trialOf(1, 0.1);
  trial.ranks[2].stepsNs.clear();
  auto refused = chooseBarrier(trial, 2);
  REQUIRE(!refused);
  CHECK_THAT(refused.error().message, Contains("is too short to choose a barrier"));
  // No barrier at all would be allowed.
  CHECK(!chooseBarrier(trialOf(1, 0.1), 0.9));
  CHECK(!chooseBarrier(trialOf(1, 0.1), std::nan("")));
  CHECK(parseBarrierChoice("auto:loss=1.05").value() == 1.05);
  for (const char *text : {"auto", "auto:loss=0.9", "auto:loss=x", "auto:loss=101", "auto:gain=2", "auto:loss=nan"})
    CHECK(!parseBarrierChoice(text));
}
