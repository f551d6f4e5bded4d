//===- BranchAndBound.cpp - Problems that elimination takes whole ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// If elimination can take the whole graph, its tables give, for any choices of the nodes eliminated last, the exact
// optimum of the remaining nodes under given multipliers. This optimum minus the value of the multipliers is a lower
// bound of all completions within the memory. The search therefore first looks for multipliers with a great bound, and
// then descends through the nodes in reverse order of elimination. The bound of a child is that of its parent plus the
// difference of two table entries, so a visit takes constant time for each strategy.
//
//===----------------------------------------------------------------------===//

#include "Solvers.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sluice {
namespace {

/// Half of the least difference between two costs.
constexpr double kHalf = 0.5;

class Branching {
public:
  Branching(const TilingModel &model, Eliminator &eliminator, const std::vector<double> &multipliers,
            const Budget &stop, TilingState &best)
      : model(model), eliminator(eliminator), prices(TilingModel::prefixSums(multipliers)), stop(stop), best(best),
        usage(model.moments) {}

  /// False if it was cut short.
  bool run(int64_t most) {
    visits = most;
    choice = best.choice;
    double bound = model.offset + eliminator.solve(choice, prices);
    for (uint32_t m = 0; m < model.moments; ++m)
      bound -= (prices[m + 1] - prices[m]) * model.room[m];
    descend(model.count, bound);
    return visits > 0;
  }

private:
  const TilingModel &model;
  Eliminator &eliminator;
  const std::vector<double> prices;
  const Budget &stop;
  TilingState &best;
  std::vector<double> usage; ///< Of what is chosen; the rest uses its least.
  std::vector<uint32_t> choice;
  int64_t visits = 0;

  void use(uint32_t node, uint32_t strategy, double factor) {
    for (const TilingModel::Life &life : model.lives(node))
      for (uint32_t m = life.begin; m < life.end; ++m)
        usage[m] += factor * life.usages[strategy];
  }
  bool fits(uint32_t node) const {
    for (const TilingModel::Life &life : model.lives(node))
      for (uint32_t m = life.begin; m < life.end; ++m)
        if (usage[m] > model.room[m])
          return false;
    return true;
  }

  /// Chooses for the planned nodes before `s`; no completion costs less than `bound`.
  void descend(size_t s, double bound) {
    if (visits <= 0 || (--visits % 256 == 0 && stop.mustStop())) {
      visits = 0;
      return;
    }
    if (s == 0) {
      TilingState state(model, choice);
      if (state.betterThan(best))
        best = std::move(state);
      return;
    }
    const uint32_t node = eliminator.nodes()[--s];
    std::vector<double> values;
    eliminator.valuesOf(s, choice, prices, values);
    std::vector<uint32_t> byValue(values.size());
    std::iota(byValue.begin(), byValue.end(), 0);
    std::stable_sort(byValue.begin(), byValue.end(), [&](uint32_t a, uint32_t b) { return values[a] < values[b]; });
    const double optimum = values[byValue.front()];
    for (uint32_t k : byValue) {
      const double child = bound + (values[k] - optimum);
      if (best.excess == 0 && child >= best.cost - kHalf)
        break;
      use(node, k, 1);
      choice[node] = k;
      if (fits(node))
        descend(s, child);
      use(node, k, -1);
    }
  }
};

} // namespace

std::optional<TilingSearchResult> solveTilingExactly(const TilingModel &model, const TilingParams &params) {
  std::vector<uint32_t> all(model.count);
  std::iota(all.begin(), all.end(), 0);
  Eliminator eliminator(model);
  Rng rng(params.seed);
  eliminator.plan(all, {0x1p22, 0x1p25, true}, std::vector<uint32_t>(model.count), {}, rng);
  if (eliminator.nodes().size() < model.count)
    return std::nullopt;

  std::vector<uint32_t> choice(model.count);
  std::vector<double> multipliers(model.moments), best;
  double bound = model.offset + eliminator.solve(choice, {});
  TilingState state(model, choice);
  if (state.excess == 0)
    return TilingSearchResult{std::move(state), bound, 1, false, true};

  TilingSearchResult result = searchTilingBlocks(model, params);
  // The multipliers whose bound is greatest.
  best = multipliers;
  for (int step = 0; step < 200 && !params.budget.mustStop(); ++step) {
    std::vector<double> slope = model.usageOf(choice);
    double square = 0;
    for (uint32_t m = 0; m < model.moments; ++m) {
      slope[m] -= model.room[m];
      if (slope[m] > 0 || multipliers[m] > 0)
        square += slope[m] * slope[m];
    }
    const double target = result.best.excess == 0 ? result.best.cost : bound + 0.1 * bound + 1;
    if (square == 0 || bound >= target - kHalf)
      break;
    for (uint32_t m = 0; m < model.moments; ++m)
      if (slope[m] > 0 || multipliers[m] > 0)
        multipliers[m] = std::max(0.0, multipliers[m] + (target - bound) / square * slope[m]);
    double value = model.offset + eliminator.solve(choice, TilingModel::prefixSums(multipliers));
    ++result.evaluations;
    for (uint32_t m = 0; m < model.moments; ++m)
      value -= multipliers[m] * model.room[m];
    if (value > bound) {
      bound = value;
      best = multipliers;
    }
    if (TilingState found(model, choice); found.betterThan(result.best))
      result.best = std::move(found);
  }
  result.bound = std::max(result.bound, bound);
  // Deeper than this the open choices are too many to prove anything, and the stack.
  constexpr uint32_t kMostNodes = 2000;
  constexpr int64_t kVisits = 300'000;
  if (model.count <= kMostNodes && Branching(model, eliminator, best, params.budget, result.best).run(kVisits))
    result.proven = true;
  return result;
}

} // namespace sluice
