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
  for (uint32_t m = 0; m < model.moments; ++m)
    sum += std::max(0.0, usage[m] - model.room[m]);
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
    if (usage[moment] <= model.room[moment])
      continue;
    // What each strategy of a node uses at this moment; nothing where it is not live.
    auto usagesOf = [&](uint32_t node) {
      std::vector<double> usages;
      for (const TilingModel::Life &life : model.lives(node))
        if (life.begin <= moment && moment < life.end) {
          usages.resize(model.strategies(node));
          for (size_t k = 0; k < usages.size(); ++k)
            usages[k] += life.usages[k];
        }
      return usages;
    };
    std::vector<std::pair<uint32_t, std::vector<double>>> live;
    for (uint32_t i = 0; i < model.count; ++i)
      if (std::vector<double> usages = usagesOf(i); !usages.empty())
        live.emplace_back(i, std::move(usages));
    while (usage[moment] > model.room[moment]) {
      double best = std::numeric_limits<double>::infinity();
      uint32_t node = 0, strategy = 0;
      for (const auto &[i, usages] : live) {
        costsOf(i, false);
        for (uint32_t k = 0; k < model.strategies(i); ++k) {
          const double saved = usages[choice[i]] - usages[k];
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
      for (const TilingModel::Life &life : model.lives(node))
        for (uint32_t m = life.begin; m < life.end; ++m)
          usage[m] += life.usages[strategy] - life.usages[choice[node]];
      choice[node] = strategy;
    }
  }
  return TilingState(model, std::move(choice));
}

} // namespace sluice
