//===- Sampling.h - Choosing a token by its logits --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_SAMPLING_H
#define SLUICE_RUNTIME_SAMPLING_H

#include "Result.h"
#include "sluice/Runtime/sluice.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::runtime {

/// Draws tokens. The same logits and seed give the same tokens on every machine with the same exp().
class Sampler {
public:
  /// If `given` is null, or too short to hold the temperature, the choice is greedy. Fails on values out of range.
  static Result<Sampler> create(const sluice_sampling *given);

  /// Picks one of `count` logits, at least 1, and returns its number. The greedy choice is the greatest, and the first
  /// of equal ones. Otherwise the logit is drawn by softmax(logit / temperature) from the `top_k` greatest, reduced to
  /// the fewest that have `top_p` of the probability together (Holtzman et al., "The Curious Case of Neural Text
  /// Degeneration", 2020). NaN counts as the least. O(count x log(count)).
  size_t pick(const float *logits, size_t count);

private:
  explicit Sampler(const sluice_sampling &options) : options(options), state(options.seed) {}
  /// A random number in [0, 1).
  double draw();

  sluice_sampling options;
  uint64_t state;
  std::vector<size_t> order; ///< A member only to reuse its memory.
  std::vector<double> weights;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_SAMPLING_H
