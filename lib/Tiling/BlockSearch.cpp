//===- BlockSearch.cpp - Large neighbourhoods, solved by elimination ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The problem is to choose a strategy for each node, with costs on nodes and edges and a memory limit at each moment.
// Multipliers are prices of memory at each moment. With given multipliers the limits disappear, and the rest is solved
// by message passing for the whole graph (a lower bound), and exactly by elimination for a block of nodes while all
// other nodes keep their strategies.
//
// A walk repeats rounds. In a round, eight blocks of random size are improved from the same state, each with
// multipliers of its own that a few subgradient steps adapt to the block. The improvements are then applied one after
// the other, if they leave the state no worse. The number of blocks is fixed and their order is too, so the result is
// the same for any number of threads. Bytes beyond the limit cost a price that rises while the state exceeds the limit
// and falls while it does not improve. A walk that finds nothing better for long ends, and the next one starts from
// another choice of the message passing.
//
//===----------------------------------------------------------------------===//

#include "MessagePassing.h"
#include "Solvers.h"
#include "sluice/Optimize/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>

namespace sluice {
namespace {

/// What a block's nodes should become.
struct Proposal {
  std::vector<std::pair<uint32_t, uint32_t>> changes;   ///< Node, strategy.
  std::vector<std::pair<uint32_t, double>> multipliers; ///< Moment, its multiplier here.
  int64_t evaluations = 0;
};

/// One thread's workspace for improving blocks of a state it only reads.
class BlockWorker {
public:
  explicit BlockWorker(const TilingModel &model) : model(model), eliminator(model), mark(model.count, 0) {}

  Proposal improve(const TilingState &state, const std::vector<double> &multipliers, double price, size_t size, Rng rng,
                   const Budget &budget);

private:
  const TilingModel &model;
  Eliminator eliminator;
  std::vector<uint32_t> mark, block, choice;
  uint32_t stamp = 0;

  void grow(uint32_t seed, size_t size, Rng &rng);
  /// Usage of the planned nodes at `choice`, per moment of [from, to).
  void usageOf(const std::vector<uint32_t> &choice, uint32_t from, uint32_t to, std::vector<double> &usage);
};

void BlockWorker::grow(uint32_t seed, size_t size, Rng &rng) {
  ++stamp;
  block.clear();
  std::vector<uint32_t> frontier{seed};
  mark[seed] = stamp;
  while (block.size() < size && !frontier.empty()) {
    std::swap(frontier[rng.below(frontier.size())], frontier.back());
    const uint32_t node = frontier.back();
    frontier.pop_back();
    block.push_back(node);
    for (const TilingModel::Neighbour &other : model.neighbours(node))
      if (mark[other.node] != stamp) {
        mark[other.node] = stamp;
        frontier.push_back(other.node);
      }
  }
}

void BlockWorker::usageOf(const std::vector<uint32_t> &of, uint32_t from, uint32_t to, std::vector<double> &usage) {
  usage.assign(to - from + 1, 0);
  for (uint32_t node : eliminator.nodes())
    for (const TilingModel::Life &life : model.lives(node)) {
      usage[life.begin - from] += life.usages[of[node]];
      usage[life.end - from] -= life.usages[of[node]];
    }
  for (uint32_t m = 1; m < to - from; ++m)
    usage[m] += usage[m - 1];
  usage.resize(to - from);
}

Proposal BlockWorker::improve(const TilingState &state, const std::vector<double> &multipliers, double price,
                              size_t size, Rng rng, const Budget &budget) {
  Proposal proposal;
  grow(static_cast<uint32_t>(rng.below(model.count)), size, rng);
  // Small tables leave out more nodes and take less time; none of them serves always.
  constexpr size_t kSmall = 1000;
  constexpr std::array kTables{0x1p9, 0x1p12, 0x1p16, 0x1p19};
  eliminator.plan(block, {kTables[rng.below(block.size() > kSmall ? 2 : kTables.size())], 4e6, false}, state.choice,
                  TilingModel::prefixSums(multipliers), rng);
  uint32_t from = model.moments, to = 0;
  for (uint32_t node : eliminator.nodes())
    for (const TilingModel::Life &life : model.lives(node)) {
      from = std::min(from, life.begin);
      to = std::max(to, life.end);
    }
  from = std::min(from, to);
  std::vector<double> before, after, local(multipliers), room(to - from), slope(to - from);
  usageOf(state.choice, from, to, before);
  double oldExcess = 0;
  for (uint32_t m = from; m < to; ++m) {
    room[m - from] = model.room[m] - (state.usage[m] - before[m - from]);
    oldExcess += std::max(0.0, state.usage[m] - model.room[m]);
  }
  // A byte too much costs `price`: no multiplier is greater where the least merit is sought.
  double best = eliminator.costOf(state.choice) + price * oldExcess;
  for (uint32_t m = from; m < to; ++m)
    local[m] = std::min(local[m], price);
  choice = state.choice;
  constexpr int kSteps = 8;
  for (int step = 0; step < kSteps && !budget.mustStop(); ++step) {
    double value = eliminator.solve(choice, TilingModel::prefixSums(local));
    ++proposal.evaluations;
    usageOf(choice, from, to, after);
    double excess = 0, square = 0;
    for (uint32_t m = from; m < to; ++m) {
      const double over = after[m - from] - room[m - from];
      slope[m - from] = over;
      excess += std::max(0.0, over);
      if (over > 0 ? local[m] < price : local[m] > 0)
        square += over * over;
      value -= local[m] * room[m - from];
    }
    if (const double merit = eliminator.costOf(choice) + price * excess; merit <= best) {
      best = merit;
      proposal.changes.clear();
      for (uint32_t node : eliminator.nodes())
        if (choice[node] != state.choice[node])
          proposal.changes.emplace_back(node, choice[node]);
    }
    // No choice of this block has less merit than its value.
    if (square == 0 || value >= best - 0.5)
      break;
    const double scale = 1.2 * (best - value) / square;
    for (uint32_t m = from; m < to; ++m)
      if (slope[m - from] > 0 || local[m] > 0)
        local[m] = std::clamp(local[m] + scale * slope[m - from], 0.0, price);
  }
  for (uint32_t m = from; m < to; ++m)
    if (local[m] != multipliers[m])
      proposal.multipliers.emplace_back(m, local[m]);
  return proposal;
}

/// Takes the changes if they leave the state no worse.
void apply(const TilingModel &model, TilingState &state, const Proposal &proposal, double price) {
  if (proposal.changes.empty())
    return;
  std::vector<uint32_t> choice = state.choice;
  double cost = state.cost;
  std::vector<double> difference(model.moments + 1);
  // One node after the other, each against the others as they are by then.
  for (auto [node, strategy] : proposal.changes) {
    const uint32_t own = model.strategies(node), old = choice[node];
    cost += model.costs(node)[strategy] - model.costs(node)[old];
    for (const TilingModel::Neighbour &other : model.neighbours(node)) {
      const double *row = other.transposed + size_t(choice[other.node]) * own;
      cost += row[strategy] - row[old];
    }
    model.use(node, old, -1, difference);
    model.use(node, strategy, 1, difference);
    choice[node] = strategy;
  }
  double excess = 0, change = 0;
  for (uint32_t m = 0; m < model.moments; ++m) {
    change += difference[m];
    excess += std::max(0.0, state.usage[m] + change - model.room[m]);
  }
  if (cost + price * excess > state.cost + price * state.excess)
    return;
  change = 0;
  for (uint32_t m = 0; m < model.moments; ++m)
    state.usage[m] += change += difference[m];
  state.choice = std::move(choice);
  state.cost = cost;
  state.excess = excess;
}

/// Message passing with the multipliers' steps: towards a level above the best
/// bound that grows while bounds do and shrinks while they do not.
class BoundSearch {
public:
  explicit BoundSearch(const TilingModel &model) : passing(model) {}

  double bound = 0;
  const std::vector<uint32_t> &rounded() const { return passing.rounded(); }
  /// Those of the best bound.
  const std::vector<double> &multipliers() const { return best; }

  void sweep() {
    passing.sweep();
    const bool better = sweeps == 0 || passing.bound() > bound;
    if (better) {
      bound = passing.bound();
      best = passing.multipliers;
    }
    // The messages settle first.
    constexpr int kSettle = 10;
    if (++sweeps < kSettle)
      return;
    if (sweeps == kSettle)
      rise = 0.1 * std::abs(bound) + 1;
    rise *= better ? 1.1 : 0.97;
    passing.moveMultipliers(bound + rise);
  }

private:
  MessagePassing passing;
  std::vector<double> best;
  double rise = 0;
  int64_t sweeps = 0;
};

/// Whether nothing is better by more than a part of the cost; none: by anything.
bool isWithin(double gap, const TilingState &best, double bound) {
  return best.excess == 0 && bound >= best.cost - gap * std::abs(best.cost) - 0.5;
}

/// Where walks begin.
class Starts {
public:
  /// Sweeps until the messages settle, or the best choice they say is within the gap; counts them, and takes that
  /// choice into `result`.
  Starts(const TilingModel &model, BoundSearch &bounds, double gap, int64_t evaluations, const Budget &budget,
         TilingSearchResult &result)
      : model(model), bounds(bounds) {
    constexpr int kSweeps = 300;
    const size_t most = std::clamp<size_t>((size_t(1) << 26) / (model.count + 1), 1, kSweeps);
    std::deque<std::vector<uint32_t>> read;
    for (int i = 0; i < kSweeps && result.evaluations < evaluations && !budget.mustStop(); ++i) {
      bounds.sweep();
      ++result.evaluations;
      read.push_back(bounds.rounded());
      if (read.size() > most)
        read.pop_front();
      constexpr int kCheck = 25;
      if (i % kCheck != kCheck - 1)
        continue;
      if (TilingState state(model, bounds.rounded()); state.betterThan(result.best))
        result.best = std::move(state);
      if (isWithin(gap, result.best, bounds.bound))
        break;
    }
    multipliers = bounds.multipliers();
    multipliers.resize(model.moments);
    for (double multiplier : multipliers)
      price = std::max(price, multiplier);
    for (std::vector<uint32_t> &choice : read) {
      TilingState state(model, std::move(choice));
      first.emplace_back(state.cost + price * state.excess, state.choice);
      if (state.betterThan(result.best))
        result.best = std::move(state);
    }
    std::sort(first.begin(), first.end());
    first.erase(
        std::unique(first.begin(), first.end(), [](const auto &a, const auto &b) { return a.first == b.first; }),
        first.end());
  }

  std::vector<double> multipliers; ///< Of the best bound there was then.
  double price = 1e-6;             ///< Of a byte too much at one moment: the greatest of them.

  /// The best of the first, then others of them and what the messages say by now in turns.
  TilingState next() {
    const size_t turn = turns++;
    return TilingState(model, turn % 2 == 0 && turn / 2 < first.size() ? first[turn / 2].second : bounds.rounded());
  }

private:
  const TilingModel &model;
  BoundSearch &bounds;
  std::vector<std::pair<double, std::vector<uint32_t>>> first; ///< By merit, each of another one.
  size_t turns = 0;
};

} // namespace

TilingSearchResult searchTilingBlocks(const TilingModel &model, const TilingParams &params) {
  TilingSearchResult result;
  const Budget &budget = params.budget;
  int64_t evaluations = budget.evaluations;
  if (evaluations == std::numeric_limits<int64_t>::max() && !budget.deadline) {
    constexpr int64_t kWork = 2'000'000'000, kLeast = 2000, kMost = 20'000;
    evaluations = std::clamp<int64_t>(kWork / static_cast<int64_t>(model.edgeEntries() + 1), kLeast, kMost);
  }
  result.best = solveTilingGreedily(model);
  BoundSearch bounds(model);
  Starts starts(model, bounds, params.gap, evaluations, budget, result);

  // Rounds of independent blocks, taken in their order: the same on any number of threads.
  constexpr size_t kWidth = 8;
  // Seldom all: what must change together may reach everywhere.
  constexpr size_t kSizes[] = {20, 60, 200, 600, 20, 60, 200, 2000, 20, 60, 200, 600, 20, 60, 200, 1'000'000};
  std::vector<std::unique_ptr<BlockWorker>> workers(kWidth);
  for (std::unique_ptr<BlockWorker> &worker : workers)
    worker = std::make_unique<BlockWorker>(model);
  std::vector<Proposal> proposals(kWidth);
  const Rng rng(params.seed);
  // A walk goes from a start until it finds nothing better for long; then there is another.
  TilingState state = starts.next(), found = state;
  std::vector<double> multipliers = starts.multipliers;
  double price = starts.price;
  uint64_t begun = 0, improved = 0; // Rounds.
  for (uint64_t round = 0;; ++round) {
    if (state.betterThan(found)) {
      found = state;
      improved = round;
    }
    if (state.betterThan(result.best))
      result.best = state;
    constexpr uint64_t kGiveUp = 150;
    if (round - improved > std::max(kGiveUp, (improved - begun) / 2)) {
      state = found = starts.next();
      multipliers = starts.multipliers;
      price = starts.price;
      begun = improved = round;
    }
    result.bound = bounds.bound;
    result.proven = isWithin(0, result.best, result.bound);
    if (isWithin(params.gap, result.best, result.bound))
      break;
    result.stoppedByClock = budget.mustStop();
    if (result.stoppedByClock || result.evaluations >= evaluations)
      break;
    const size_t size = std::min<size_t>(kSizes[round % std::size(kSizes)], model.count);
    parallelFor(params.threads, kWidth + 1, [&](size_t i) {
      if (i == 0)
        bounds.sweep();
      else
        proposals[i - 1] =
            workers[i - 1]->improve(state, multipliers, price, size, rng.fork(round * kWidth + i), budget);
    });
    ++result.evaluations;
    const double excess = state.excess;
    for (const Proposal &proposal : proposals) {
      result.evaluations += proposal.evaluations;
      apply(model, state, proposal, price);
      // The blocks' multipliers are learnt slowly: each knows only its own part.
      for (auto [moment, value] : proposal.multipliers)
        multipliers[moment] += 0.1 * (value - multipliers[moment]);
    }
    // Within the limit and out of it in turns: ways lead through what is not allowed.
    constexpr uint64_t kPatience = 32;
    // While excess falls by itself the price is right.
    if (state.excess > 0)
      price *= state.excess > 0.97 * excess ? 1.08 : 1;
    else if (round - improved > kPatience)
      price *= 0.95;
  }
  return result;
}

} // namespace sluice
