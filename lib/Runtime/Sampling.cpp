//===- Sampling.cpp - Choosing a token by its logits ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Sampling.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace sluice::runtime {

Result<Sampler> Sampler::create(const sluice_sampling *given) {
  sluice_sampling options{};
  options.temperature = 0;
  options.top_p = 1;
  if (given)
    std::memcpy(&options, given, std::min(given->size, sizeof options));
  options.size = sizeof options;
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    return failure("temperature ", options.temperature,
                   " is out of range, give a finite number of at least 0 (0 is greedy)");
  if (!(options.top_p > 0 && options.top_p <= 1))
    return failure("top_p ", options.top_p, " is out of range, give a probability above 0 and up to 1");
  return Sampler(options);
}

double Sampler::draw() {
  // SplitMix64 (Steele, Lea and Flood, 2014).
  uint64_t z = state += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  z ^= z >> 31;
  return static_cast<double>(z >> 11) * 0x1p-53;
}

size_t Sampler::pick(const float *logits, size_t count) {
  auto valueOf = [&](size_t i) {
    return std::isnan(logits[i]) ? -std::numeric_limits<double>::infinity() : static_cast<double>(logits[i]);
  };
  auto isBefore = [&](size_t a, size_t c) { return valueOf(a) != valueOf(c) ? valueOf(a) > valueOf(c) : a < c; };
  order.resize(count);
  std::iota(order.begin(), order.end(), size_t(0));
  const auto best = *std::min_element(order.begin(), order.end(), isBefore);
  if (options.temperature == 0 || options.top_k == 1 || std::isinf(valueOf(best)))
    return best;
  const size_t kept = options.top_k == 0 ? count : std::min<size_t>(options.top_k, count);
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(), isBefore);
  weights.clear();
  double total = 0;
  for (size_t i = 0; i < kept; ++i)
    total += weights.emplace_back(std::exp((valueOf(order[i]) - valueOf(best)) / options.temperature));
  double nucleus = 0;
  size_t size = 0;
  while (size < kept && nucleus < options.top_p * total)
    nucleus += weights[size++];
  double left = draw() * nucleus;
  for (size_t i = 0; i < size; ++i)
    if ((left -= weights[i]) < 0)
      return order[i];
  return order[size - 1];
}

} // namespace sluice::runtime
