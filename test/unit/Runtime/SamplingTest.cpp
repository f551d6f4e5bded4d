//===- SamplingTest.cpp - Choosing a token by its logits ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Sampling.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

using sluice::runtime::Result;
using sluice::runtime::Sampler;

namespace {

Sampler samplerOf(uint32_t topK, double topP, double temperature, uint64_t seed = 1) {
  const sluice_sampling sampling{sizeof(sluice_sampling), topK, topP, temperature, seed};
  Result<Sampler> sampler = Sampler::create(&sampling);
  REQUIRE(sampler);
  return *sampler;
}

/// How often each of the logits is drawn in so many times.
std::map<size_t, int> draw(Sampler sampler, const std::vector<float> &logits, int times) {
  std::map<size_t, int> counts;
  for (int i = 0; i < times; ++i)
    ++counts[sampler.pick(logits.data(), logits.size())];
  return counts;
}

} // namespace

TEST_CASE("greedy is the greatest logit, the first of equal ones", "[runtime]") {
  const std::vector<float> logits = {1, 3, -2, 3, 0};
  CHECK(Sampler::create(nullptr)->pick(logits.data(), logits.size()) == 1);
  CHECK(samplerOf(1, 1, 1).pick(logits.data(), logits.size()) == 1);
  CHECK(samplerOf(0, 1, 0).pick(logits.data(), logits.size()) == 1);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> odd = {nan, -infinity, -5};
  CHECK(samplerOf(0, 1, 1).pick(odd.data(), odd.size()) == 2);
  const std::vector<float> none = {nan, nan};
  CHECK(samplerOf(0, 1, 1).pick(none.data(), none.size()) == 0);
}

TEST_CASE("tokens are drawn as often as their probabilities say", "[runtime]") {
  // Probabilities 1/2, 1/4, 1/8, 1/8.
  const std::vector<float> logits = {std::log(4.0F), std::log(2.0F), 0, 0};
  constexpr int kTimes = 16000;
  std::map<size_t, int> all = draw(samplerOf(0, 1, 1), logits, kTimes);
  CHECK(all[0] == Approx(kTimes / 2).epsilon(0.05));
  CHECK(all[1] == Approx(kTimes / 4).epsilon(0.05));
  CHECK(all[2] == Approx(kTimes / 8).epsilon(0.1));
  CHECK(all[3] == Approx(kTimes / 8).epsilon(0.1));
  // Of two: 2/3 and 1/3.
  std::map<size_t, int> two = draw(samplerOf(2, 1, 1), logits, kTimes);
  CHECK(two.size() == 2);
  CHECK(two[0] == Approx(kTimes * 2 / 3).epsilon(0.05));
  // The fewest with 0.7 together are the first two, with 0.5 the first alone.
  CHECK(draw(samplerOf(0, 0.7, 1), logits, 1000).size() == 2);
  CHECK(draw(samplerOf(0, 0.5, 1), logits, 1000).size() == 1);
  // At half the temperature probabilities are squared: 16, 4, 1, 1 of 22.
  std::map<size_t, int> cold = draw(samplerOf(0, 1, 0.5), logits, kTimes);
  CHECK(cold[0] == Approx(kTimes * 16 / 22).epsilon(0.05));
}

TEST_CASE("one seed gives one text, another seed another", "[runtime]") {
  const std::vector<float> logits(50, 0);
  auto text = [&](uint64_t seed) {
    Sampler sampler = samplerOf(0, 1, 1, seed);
    std::vector<size_t> tokens;
    for (int i = 0; i < 20; ++i)
      tokens.push_back(sampler.pick(logits.data(), logits.size()));
    return tokens;
  };
  CHECK(text(3) == text(3));
  CHECK(text(3) != text(4));
}

TEST_CASE("sampling out of range is refused", "[runtime]") {
  auto errorOf = [](double topP, double temperature) {
    const sluice_sampling sampling{sizeof(sluice_sampling), 0, topP, temperature, 0};
    Result<Sampler> sampler = Sampler::create(&sampling);
    return sampler ? std::string() : sampler.error();
  };
  CHECK(errorOf(0, 1) == "top_p 0 is out of range, give a probability above 0 and up to 1");
  CHECK(errorOf(1.5, 1).find("top_p 1.5") == 0);
  CHECK(errorOf(1, -1) == "temperature -1 is out of range, give a finite number of at least 0 (0 is greedy)");
  CHECK(errorOf(1, std::numeric_limits<double>::quiet_NaN()).find("temperature") == 0);
}
