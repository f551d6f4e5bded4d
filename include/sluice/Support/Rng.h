//===- Rng.h - The one random generator -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The standard
// library's distributions differ between implementations; these do not, so a
// seed means the same plan everywhere.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_RNG_H
#define SLUICE_SUPPORT_RNG_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace sluice {

class Rng {
public:
  explicit Rng(uint64_t seed);
  uint64_t next();
  /// Uniform in [0, bound); bound > 0. Unbiased.
  uint64_t below(uint64_t bound);
  /// Uniform in [0, 1).
  double uniform();
  /// Standard normal.
  double normal();
  bool chance(double probability) { return uniform() < probability; }
  /// An independent generator, a function of this one's seed and `stream`
  /// alone: islands and threads get theirs so, whatever order they start in.
  Rng fork(uint64_t stream) const;

  template <typename Container>
  void shuffle(Container &items) {
    for (size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[below(i)]);
  }

private:
  std::array<uint64_t, 4> state;
  uint64_t seed;
};

} // namespace sluice

#endif // SLUICE_SUPPORT_RNG_H
