//===- Tpe.h - Bayesian optimisation over choices ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tree-structured Parzen estimators (Bergstra, Bardenet, Bengio and Kegl, "Algorithms for Hyper-Parameter
// Optimization", NeurIPS 2011, section 4) over independent choices. A quantile of the costs divides the history into
// good and bad entries. The frequencies of each choice in the two parts define two probabilities of a candidate. The
// next candidate is the one with the highest ratio of its probability among good entries to its probability among bad
// entries.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_TPE_H
#define SLUICE_OPTIMIZE_TPE_H

#include "sluice/Support/Rng.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace sluice {

using Choices = std::vector<uint8_t>;

class CategoricalTpe {
public:
  /// Per variable, the number of its choices, at least 1.
  explicit CategoricalTpe(std::vector<uint8_t> numChoices) : numChoices(std::move(numChoices)) {}

  /// Records one choice for each variable, in range, and its cost; lower is better.
  void observe(Choices choices, int64_t cost);
  /// Draws `candidates` candidates from the distribution of good entries and returns the most
  /// promising one. Without observations, returns a random candidate.
  Choices suggest(Rng &rng, int candidates = 24) const;

private:
  std::vector<uint8_t> numChoices;
  std::vector<std::pair<int64_t, Choices>> history; ///< All observations by ascending cost.
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_TPE_H
