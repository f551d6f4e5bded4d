//===- Rng.h - The one random generator -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The distributions of the
// standard library differ between implementations. These do not, so a seed gives the same
// plan everywhere.
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
  /// An independent generator that depends only on the seed of this generator and on `stream`.
  /// If parallel parts of a search get their generators in this way, the numbers that a part draws do not depend on the
  /// order in which the parts start.
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
