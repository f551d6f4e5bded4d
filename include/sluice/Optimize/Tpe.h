//===- Tpe.h - Bayesian optimisation over choices ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Tree-structured Parzen estimators (Bergstra, Bardenet, Bengio and Kegl,
// "Algorithms for Hyper-Parameter Optimization", NeurIPS 2011, section 4) over
// independent choices: the history is split at a quantile into what was good and
// the rest; each choice has its frequency in either, and what is likeliest among
// the good and unlikeliest among the rest comes next.
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
  /// Per variable, how many choices it has: at least 1.
  explicit CategoricalTpe(std::vector<uint8_t> numChoices) : numChoices(std::move(numChoices)) {}

  /// One choice a variable, in range, and what it costs: less is better.
  void observe(Choices choices, int64_t cost);
  /// The most promising of `candidates` drawn from what was good; by chance alone
  /// where nothing was observed.
  Choices suggest(Rng &rng, int candidates = 24) const;

private:
  std::vector<uint8_t> numChoices;
  std::vector<std::pair<int64_t, Choices>> history; ///< By cost.
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_TPE_H
