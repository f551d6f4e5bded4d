//===- Greedy.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Solvers.h"

#include <algorithm>
#include <limits>

namespace sluice {

static double excessOf(const TilingModel &model, const std::vector<double> &usage) {
  double sum = 0;
  for (double bytes : usage)
    sum += std::max(0.0, bytes - model.limit);
  return sum;
}

TilingState::TilingState(const TilingModel &model, std::vector<uint32_t> given)
    : choice(std::move(given)), usage(model.usageOf(choice)), cost(model.costOf(choice)),
      excess(excessOf(model, usage)) {}

TilingState solveTilingGreedily(const TilingModel &model) {
  std::vector<uint32_t> choice(model.count);
  std::vector<double> sum;
  auto costsOf = [&](uint32_t node, bool earlierOnly) {
    const uint32_t own = model.strategies(node);
    sum.assign(model.costs(node), model.costs(node) + own);
    for (const TilingModel::Neighbour &other : model.neighbours(node))
      if (!earlierOnly || other.node < node)
        for (uint32_t k = 0; k < own; ++k)
          sum[k] += other.transposed[size_t(choice[other.node]) * own + k];
  };
  for (uint32_t node = 0; node < model.count; ++node) {
    costsOf(node, true);
    choice[node] = static_cast<uint32_t>(std::min_element(sum.begin(), sum.end()) - sum.begin());
  }
  // Whatever is live where the memory is exceeded takes less of it, the cheapest a byte first.
  std::vector<double> usage = model.usageOf(choice);
  for (uint32_t moment = 0; moment < model.moments; ++moment) {
    if (usage[moment] <= model.limit)
      continue;
    const std::vector<uint32_t> live = model.liveAt(moment);
    while (usage[moment] > model.limit) {
      double best = std::numeric_limits<double>::infinity();
      uint32_t node = 0, strategy = 0;
      for (uint32_t i : live) {
        costsOf(i, false);
        for (uint32_t k = 0; k < model.strategies(i); ++k) {
          const double saved = model.usages(i)[choice[i]] - model.usages(i)[k];
          const double price = (sum[k] - sum[choice[i]]) / saved;
          if (saved > 0 && price < best) {
            best = price;
            node = i;
            strategy = k;
          }
        }
      }
      if (best == std::numeric_limits<double>::infinity())
        break;
      const double saved = model.usages(node)[choice[node]] - model.usages(node)[strategy];
      for (uint32_t m = model.momentBegin(node); m < model.momentEnd(node); ++m)
        usage[m] -= saved;
      choice[node] = strategy;
    }
  }
  return TilingState(model, std::move(choice));
}

} // namespace sluice
