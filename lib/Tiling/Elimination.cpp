//===- Elimination.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elimination.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>

namespace sluice {

void Eliminator::eliminateSymbolically(std::span<const uint32_t> block, const Limits &limits, Rng &rng,
                                       std::vector<std::vector<uint32_t>> &scopes, std::vector<uint32_t> &sizes) {
  const uint32_t size = static_cast<uint32_t>(block.size());
  std::vector<std::vector<uint32_t>> near(size); // Local indices, sorted.
  for (uint32_t i = 0; i < size; ++i) {
    sizes.push_back(model.strategies(block[i]));
    for (const TilingModel::Neighbour &other : model.neighbours(block[i]))
      if (localOf[other.node] != kNone)
        near[i].push_back(localOf[other.node]);
    std::sort(near[i].begin(), near[i].end());
  }
  auto weight = [&](uint32_t i) {
    double entries = sizes[i];
    for (uint32_t other : near[i])
      if ((entries *= sizes[other]) > 1e3 * limits.table) // Hubs have thousands.
        return std::numeric_limits<double>::infinity();
    return entries;
  };
  struct Candidate {
    double weight;
    uint32_t tie, node;
    bool operator>(const Candidate &other) const { return std::tie(weight, tie) > std::tie(other.weight, other.tie); }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  std::vector<uint32_t> ties(size);
  std::vector<double> weights(size);
  for (uint32_t i = 0; i < size; ++i) {
    ties[i] = static_cast<uint32_t>(rng.next());
    weights[i] = weight(i);
    queue.push({weights[i], ties[i], i});
  }
  std::vector<char> gone(size);
  auto update = [&](uint32_t i) {
    const double now = weight(i);
    if (now != weights[i])
      queue.push({weights[i] = now, ties[i], i});
  };
  auto forget = [&](uint32_t node) {
    gone[node] = 1;
    for (uint32_t other : near[node])
      std::erase(near[other], node);
  };
  double total = 0;
  std::vector<uint32_t> merged;
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const uint32_t node = top.node;
    if (gone[node] || top.weight != weights[node])
      continue;
    if (top.weight > limits.table || total + top.weight > limits.total) {
      if (limits.whole) {
        for (uint32_t planned : order)
          stepOf[planned] = kNone;
        order.clear();
        return;
      }
      // Something of this table has less to choose from: the one with the most, or anything.
      uint32_t less = node;
      if (total + top.weight > limits.total)
        sizes[less] = 1;
      else {
        if (rng.chance(0.5)) {
          for (uint32_t other : near[node])
            if (sizes[other] > sizes[less])
              less = other;
        } else if (const size_t pick = rng.below(near[node].size() + 1); pick < near[node].size())
          less = near[node][pick];
        sizes[less] = (sizes[less] + 1) / 2;
      }
      if (sizes[less] == 1) {
        forget(less);
        scopes[less].clear();
      } else
        update(less);
      for (uint32_t other : near[less])
        update(other);
      if (less != node && weights[node] == top.weight) // Still infinite.
        queue.push(top);
      continue;
    }
    total += top.weight;
    stepOf[block[node]] = static_cast<uint32_t>(order.size());
    order.push_back(block[node]);
    scopes[node] = near[node];
    forget(node);
    for (uint32_t other : near[node]) {
      merged.clear();
      std::set_union(near[other].begin(), near[other].end(), near[node].begin(), near[node].end(),
                     std::back_inserter(merged));
      std::erase(merged, other);
      near[other] = merged;
    }
    for (uint32_t other : near[node])
      update(other);
  }
}

void Eliminator::plan(std::span<const uint32_t> block, const Limits &limits, const std::vector<uint32_t> &choice,
                      const std::vector<double> &prices, Rng &rng) {
  for (uint32_t node : order)
    stepOf[node] = kNone;
  order.clear();
  for (uint32_t i = 0; i < block.size(); ++i)
    localOf[block[i]] = i;
  std::vector<std::vector<uint32_t>> scopes(block.size());
  std::vector<uint32_t> sizes;
  eliminateSymbolically(block, limits, rng, scopes, sizes);

  steps.assign(order.size(), {});
  picked.assign(order.size(), 0);
  compact.clear();
  messages.resize(std::max(messages.size(), order.size()));
  for (size_t s = 0; s < order.size(); ++s) {
    steps[s].node = order[s];
    restrict(steps[s], sizes[localOf[order[s]]], choice, prices, rng);
  }
  size_t best = 0;
  for (Step &step : steps) {
    for (uint32_t other : scopes[localOf[step.node]])
      if (stepOf[block[other]] != kNone) // Else left out later on.
        step.scope.push_back(stepOf[block[other]]);
    std::sort(step.scope.begin(), step.scope.end(), std::greater<>());
    for (uint32_t other : step.scope)
      step.configurations *= sizeOf(steps[other]);
    step.best = best;
    best += step.configurations;
  }
  bests.resize(best);
  for (uint32_t node : block)
    localOf[node] = kNone;

  // Who reads what: edges to later nodes, and the messages of earlier ones.
  for (size_t s = 0; s < order.size(); ++s) {
    Step &step = steps[s];
    addEdges(s);
    if (step.scope.empty())
      continue;
    // The scope's last is the next eliminated: it reads the message, its own strategies fastest.
    Step &reader = steps[step.scope.back()];
    Factor factor{nullptr, s, true, {}, {}};
    size_t stride = sizeOf(reader);
    for (size_t i = step.scope.size() - 1; i-- > 0;) {
      factor.at.insert(factor.at.begin(), positionOf(reader.scope, step.scope[i]));
      factor.strides.insert(factor.strides.begin(), stride);
      stride *= sizeOf(steps[step.scope[i]]);
    }
    reader.factors.push_back(std::move(factor));
  }
}

void Eliminator::restrict(Step &step, uint32_t size, const std::vector<uint32_t> &choice,
                          const std::vector<double> &prices, Rng &rng) const {
  const uint32_t own = model.strategies(step.node);
  step.base.assign(model.costs(step.node), model.costs(step.node) + own);
  for (const TilingModel::Neighbour &other : model.neighbours(step.node))
    if (stepOf[other.node] == kNone) {
      const double *row = other.transposed + size_t(choice[other.node]) * own;
      for (uint32_t k = 0; k < own; ++k)
        step.base[k] += row[k];
    }
  if (size == own)
    return;
  // The choice there is, and anything, or what is best with the others' choices.
  std::vector<double> rank(own);
  if (rng.chance(0.5)) {
    rank = step.base;
    if (!prices.empty())
      model.charge(step.node, prices, rank);
    for (const TilingModel::Neighbour &other : model.neighbours(step.node))
      if (stepOf[other.node] != kNone) {
        const double *row = other.transposed + size_t(choice[other.node]) * own;
        for (uint32_t k = 0; k < own; ++k)
          rank[k] += row[k];
      }
  } else
    for (double &value : rank)
      value = rng.uniform();
  rank[choice[step.node]] = -std::numeric_limits<double>::infinity();
  step.domain.resize(own);
  std::iota(step.domain.begin(), step.domain.end(), 0);
  std::nth_element(step.domain.begin(), step.domain.begin() + size, step.domain.end(),
                   [&](uint32_t a, uint32_t b) { return std::tie(rank[a], a) < std::tie(rank[b], b); });
  step.domain.resize(size);
  std::sort(step.domain.begin(), step.domain.end());
  for (uint32_t k = 0; k < size; ++k)
    step.base[k] = step.base[step.domain[k]];
  step.base.resize(size);
}

uint32_t Eliminator::positionOf(const std::vector<uint32_t> &scope, uint32_t step) {
  return static_cast<uint32_t>(std::lower_bound(scope.begin(), scope.end(), step, std::greater<>()) - scope.begin());
}

void Eliminator::addEdges(size_t s) {
  Step &step = steps[s];
  const uint32_t own = model.strategies(step.node);
  for (const TilingModel::Neighbour &other : model.neighbours(step.node)) {
    const uint32_t later = stepOf[other.node];
    if (later == kNone || later < s)
      continue;
    Factor factor{other.transposed, 0, false, {positionOf(step.scope, later)}, {sizeOf(step)}};
    const Step &reader = steps[later];
    if (!step.domain.empty() || !reader.domain.empty()) {
      factor.costs = nullptr;
      factor.index = compact.size();
      for (uint32_t t = 0; t < sizeOf(reader); ++t) {
        const double *row = other.transposed + size_t(reader.domain.empty() ? t : reader.domain[t]) * own;
        for (uint32_t k = 0; k < sizeOf(step); ++k)
          compact.push_back(row[step.domain.empty() ? k : step.domain[k]]);
      }
    }
    step.factors.push_back(std::move(factor));
  }
}

const double *Eliminator::tableOf(const Factor &factor) const {
  if (factor.costs)
    return factor.costs;
  return factor.isMessage ? messages[factor.index].data() : compact.data() + factor.index;
}

void Eliminator::charged(const Step &step, const std::vector<double> &prices, std::vector<double> &sum) const {
  sum = step.base;
  if (prices.empty())
    return;
  if (step.domain.empty()) {
    model.charge(step.node, prices, sum);
    return;
  }
  for (const TilingModel::Life &life : model.lives(step.node))
    if (const double price = prices[life.end] - prices[life.begin]; price != 0)
      for (size_t k = 0; k < sum.size(); ++k)
        sum[k] += price * life.usages[step.domain[k]];
}

void Eliminator::valuesOf(size_t s, const std::vector<uint32_t> &choice, const std::vector<double> &prices,
                          std::vector<double> &values) const {
  const Step &step = steps[s];
  charged(step, prices, values);
  for (const Factor &factor : step.factors) {
    const double *row = tableOf(factor);
    for (size_t i = 0; i < factor.at.size(); ++i)
      row += factor.strides[i] * choice[order[step.scope[factor.at[i]]]];
    for (size_t k = 0; k < values.size(); ++k)
      values[k] += row[k];
  }
}

void Eliminator::solveStep(size_t index, const std::vector<double> &prices) {
  Step &step = steps[index];
  const uint32_t own = sizeOf(step);
  thread_local std::vector<double> base, sum;
  charged(step, prices, base);
  sum.resize(own);
  std::vector<double> &message = messages[index];
  message.resize(step.configurations);
  const size_t width = step.scope.size(), factors = step.factors.size();
  // Per position of the scope: its strategies, and what each factor's place moves by.
  thread_local std::vector<uint32_t> sizes, digits;
  thread_local std::vector<size_t> moves;
  thread_local std::vector<const double *> rows;
  sizes.resize(width);
  digits.assign(width, 0);
  moves.assign(width * factors, 0);
  rows.resize(factors);
  for (size_t p = 0; p < width; ++p)
    sizes[p] = sizeOf(steps[step.scope[p]]);
  for (size_t f = 0; f < factors; ++f) {
    const Factor &factor = step.factors[f];
    rows[f] = tableOf(factor);
    for (size_t i = 0; i < factor.at.size(); ++i)
      moves[factor.at[i] * factors + f] = factor.strides[i];
  }
  for (size_t c = 0; c < step.configurations; ++c) {
    const double *values = base.data();
    for (size_t f = 0; f < factors; ++f) {
      const double *row = rows[f];
      for (uint32_t k = 0; k < own; ++k)
        sum[k] = values[k] + row[k];
      values = sum.data();
    }
    uint32_t best = 0;
    double least = values[0];
    for (uint32_t k = 1; k < own; ++k)
      if (values[k] < least) {
        least = values[k];
        best = k;
      }
    message[c] = least;
    bests[step.best + c] = static_cast<uint16_t>(best);
    for (size_t p = width; p-- > 0;) {
      const size_t *move = moves.data() + p * factors;
      if (++digits[p] < sizes[p]) {
        for (size_t f = 0; f < factors; ++f)
          rows[f] += move[f];
        break;
      }
      digits[p] = 0;
      for (size_t f = 0; f < factors; ++f)
        rows[f] -= move[f] * (sizes[p] - 1);
    }
  }
}

double Eliminator::solve(std::vector<uint32_t> &choice, const std::vector<double> &prices) {
  double value = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    solveStep(s, prices);
    if (steps[s].scope.empty())
      value += messages[s][0];
  }
  for (size_t s = steps.size(); s-- > 0;) {
    const Step &step = steps[s];
    size_t configuration = 0;
    for (uint32_t other : step.scope)
      configuration = configuration * sizeOf(steps[other]) + picked[other];
    picked[s] = bests[step.best + configuration];
    choice[step.node] = step.domain.empty() ? picked[s] : step.domain[picked[s]];
  }
  return value;
}

double Eliminator::costOf(const std::vector<uint32_t> &choice) const {
  double sum = 0;
  for (size_t s = 0; s < order.size(); ++s) {
    const uint32_t node = order[s];
    sum += model.costs(node)[choice[node]];
    for (const TilingModel::Neighbour &other : model.neighbours(node))
      if (const uint32_t step = stepOf[other.node]; step == kNone || step > s)
        sum += other.costs[size_t(choice[node]) * model.strategies(other.node) + choice[other.node]];
  }
  return sum;
}

} // namespace sluice
