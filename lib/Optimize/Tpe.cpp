//===- Tpe.cpp ------------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Optimize/Tpe.h"

#include <algorithm>
#include <cmath>

namespace sluice {

void CategoricalTpe::observe(Choices choices, int64_t cost) {
  auto at = std::upper_bound(history.begin(), history.end(), cost,
                             [](int64_t value, const auto &entry) { return value < entry.first; });
  history.insert(at, {cost, std::move(choices)});
}

Choices CategoricalTpe::suggest(Rng &rng, int candidates) const {
  /// The paper's quantile is 0.15.
  const size_t good = (history.size() * 15 + 99) / 100;
  // Per variable and choice, of one seen once more than it was.
  std::vector<std::vector<double>> likely(numChoices.size()), rest(numChoices.size());
  for (size_t v = 0; v < numChoices.size(); ++v) {
    likely[v].assign(numChoices[v], 1);
    rest[v].assign(numChoices[v], 1);
    for (size_t i = 0; i < history.size(); ++i)
      (i < good ? likely : rest)[v][history[i].second[v]] += 1;
    for (std::vector<double> *side : {&likely[v], &rest[v]}) {
      double sum = 0;
      for (double count : *side)
        sum += count;
      for (double &count : *side)
        count /= sum;
    }
  }
  Choices best;
  double bestScore = 0;
  for (int i = 0; i < std::max(candidates, 1); ++i) {
    Choices drawn(numChoices.size());
    double score = 0;
    for (size_t v = 0; v < drawn.size(); ++v) {
      double left = rng.uniform();
      while (drawn[v] + 1 < numChoices[v] && (left -= likely[v][drawn[v]]) >= 0)
        ++drawn[v];
      score += std::log(likely[v][drawn[v]] / rest[v][drawn[v]]);
    }
    if (best.empty() || score > bestScore) {
      best = std::move(drawn);
      bestScore = score;
    }
  }
  return best;
}

} // namespace sluice
