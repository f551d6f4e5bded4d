//===- Rng.cpp ------------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Rng.h"

#include <cmath>
#include <numbers>

namespace sluice {

static uint64_t splitmix64(uint64_t &x) {
  uint64_t z = (x += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

static uint64_t rotl(uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }

Rng::Rng(uint64_t seed) : seed(seed) {
  for (uint64_t &word : state)
    word = splitmix64(seed);
}

uint64_t Rng::next() {
  uint64_t result = rotl(state[1] * 5, 7) * 9;
  uint64_t t = state[1] << 17;
  state[2] ^= state[0];
  state[3] ^= state[1];
  state[1] ^= state[2];
  state[0] ^= state[3];
  state[2] ^= t;
  state[3] = rotl(state[3], 45);
  return result;
}

uint64_t Rng::below(uint64_t bound) {
  // Lemire 2019: multiply-shift, rejecting the few values that would bias.
  __uint128_t product = static_cast<__uint128_t>(next()) * bound;
  uint64_t low = static_cast<uint64_t>(product);
  if (low < bound) {
    uint64_t threshold = -bound % bound;
    while (low < threshold) {
      product = static_cast<__uint128_t>(next()) * bound;
      low = static_cast<uint64_t>(product);
    }
  }
  return static_cast<uint64_t>(product >> 64);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  double u = 1.0 - uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
}

Rng Rng::fork(uint64_t stream) const {
  uint64_t mixed = seed ^ (stream * 0xd1342543de82ef95ull + 0x632be59bd9b4e019ull);
  return Rng(splitmix64(mixed));
}

} // namespace sluice
