//===- Elimination.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Elimination.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace sluice {

void Eliminator::eliminateSymbolically(std::span<const uint32_t> block, const Limits &limits, Rng &rng,
                                       std::vector<std::vector<uint32_t>> &scopes) {
  const uint32_t size = static_cast<uint32_t>(block.size());
  std::vector<std::vector<uint32_t>> near(size); // Local indices, sorted.
  for (uint32_t i = 0; i < size; ++i) {
    for (const TilingModel::Neighbour &other : model.neighbours(block[i]))
      if (localOf[other.node] != kNone)
        near[i].push_back(localOf[other.node]);
    std::sort(near[i].begin(), near[i].end());
  }
  auto weight = [&](uint32_t i) {
    double entries = model.strategies(block[i]);
    for (uint32_t other : near[i])
      if ((entries *= model.strategies(block[other])) > 1e3 * limits.table) // Hubs have thousands.
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
      // Something of this table keeps its choice: what most others depend on, or anything.
      uint32_t leave = node;
      if (total + top.weight <= limits.total && !near[node].empty()) {
        if (rng.chance(0.5)) {
          for (uint32_t other : near[node])
            if (near[other].size() > near[leave].size())
              leave = other;
        } else {
          const size_t pick = rng.below(near[node].size() + 1);
          leave = pick == near[node].size() ? node : near[node][pick];
        }
      }
      forget(leave);
      scopes[leave].clear();
      stepOf[block[leave]] = kNone;
      for (uint32_t other : near[leave])
        update(other);
      if (leave != node)
        queue.push({weights[node], ties[node], node});
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

void Eliminator::plan(std::span<const uint32_t> block, const Limits &limits, Rng &rng) {
  for (uint32_t node : order)
    stepOf[node] = kNone;
  order.clear();
  for (uint32_t i = 0; i < block.size(); ++i)
    localOf[block[i]] = i;
  std::vector<std::vector<uint32_t>> scopes(block.size());
  eliminateSymbolically(block, limits, rng, scopes);

  steps.assign(order.size(), {});
  messages.resize(std::max(messages.size(), order.size()));
  size_t best = 0;
  for (size_t s = 0; s < order.size(); ++s) {
    Step &step = steps[s];
    step.node = order[s];
    for (uint32_t other : scopes[localOf[step.node]])
      if (stepOf[block[other]] != kNone) // Else left out later on.
        step.scope.push_back(stepOf[block[other]]);
    std::sort(step.scope.begin(), step.scope.end(), std::greater<>());
    for (uint32_t other : step.scope)
      step.configurations *= model.strategies(order[other]);
    step.best = best;
    best += step.configurations;
  }
  bests.resize(best);
  for (uint32_t node : block)
    localOf[node] = kNone;

  // Who reads what: edges to later nodes, and the messages of earlier ones.
  for (size_t s = 0; s < order.size(); ++s) {
    Step &step = steps[s];
    auto positionOf = [](const Step &reader, uint32_t other) {
      return static_cast<uint32_t>(std::lower_bound(reader.scope.begin(), reader.scope.end(), other, std::greater<>()) -
                                   reader.scope.begin());
    };
    for (const TilingModel::Neighbour &other : model.neighbours(step.node))
      if (const uint32_t later = stepOf[other.node]; later != kNone && later > s)
        step.factors.push_back({other.transposed, kNone, {positionOf(step, later)}, {model.strategies(step.node)}});
    if (step.scope.empty())
      continue;
    // The scope's last is the next eliminated: it reads the message, its own strategies fastest.
    Step &reader = steps[step.scope.back()];
    Factor factor{nullptr, s, {}, {}};
    size_t stride = model.strategies(reader.node);
    for (size_t i = step.scope.size() - 1; i-- > 0;) {
      factor.at.insert(factor.at.begin(), positionOf(reader, step.scope[i]));
      factor.strides.insert(factor.strides.begin(), stride);
      stride *= model.strategies(order[step.scope[i]]);
    }
    reader.factors.push_back(std::move(factor));
  }
}

void Eliminator::fixedCosts(uint32_t node, const std::vector<uint32_t> &choice, const std::vector<double> &multipliers,
                            std::vector<double> &sum) const {
  const uint32_t own = model.strategies(node);
  sum.assign(model.costs(node), model.costs(node) + own);
  if (!multipliers.empty()) {
    const double price = multipliers[model.momentEnd(node)] - multipliers[model.momentBegin(node)];
    if (price != 0)
      for (uint32_t k = 0; k < own; ++k)
        sum[k] += price * model.usages(node)[k];
  }
  for (const TilingModel::Neighbour &other : model.neighbours(node))
    if (stepOf[other.node] == kNone) {
      const double *row = other.transposed + size_t(choice[other.node]) * own;
      for (uint32_t k = 0; k < own; ++k)
        sum[k] += row[k];
    }
}

void Eliminator::valuesOf(size_t s, const std::vector<uint32_t> &choice, const std::vector<double> &multipliers,
                          std::vector<double> &values) const {
  const Step &step = steps[s];
  fixedCosts(step.node, choice, multipliers, values);
  for (const Factor &factor : step.factors) {
    const double *row = factor.message == kNone ? factor.costs : messages[factor.message].data();
    for (size_t i = 0; i < factor.at.size(); ++i)
      row += factor.strides[i] * choice[order[step.scope[factor.at[i]]]];
    for (size_t k = 0; k < values.size(); ++k)
      values[k] += row[k];
  }
}

void Eliminator::solveStep(size_t index, const std::vector<uint32_t> &choice, const std::vector<double> &multipliers) {
  Step &step = steps[index];
  const uint32_t own = model.strategies(step.node);
  thread_local std::vector<double> base, sum;
  fixedCosts(step.node, choice, multipliers, base);
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
    sizes[p] = model.strategies(order[step.scope[p]]);
  for (size_t f = 0; f < factors; ++f) {
    const Factor &factor = step.factors[f];
    rows[f] = factor.message == kNone ? factor.costs : messages[factor.message].data();
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

double Eliminator::solve(std::vector<uint32_t> &choice, const std::vector<double> &multipliers) {
  double value = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    solveStep(s, choice, multipliers);
    if (steps[s].scope.empty())
      value += messages[s][0];
  }
  for (size_t s = steps.size(); s-- > 0;) {
    const Step &step = steps[s];
    size_t configuration = 0;
    for (uint32_t other : step.scope)
      configuration = configuration * model.strategies(order[other]) + choice[order[other]];
    choice[step.node] = bests[step.best + configuration];
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
