//===- MessagePassing.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MessagePassing.h"

#include <algorithm>

namespace sluice {

MessagePassing::MessagePassing(const TilingModel &model)
    : multipliers(model.moments), model(model), share(model.count), prices(model.moments + 1), choice(model.count) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> entryOf;
  size_t size = 0;
  for (uint32_t i = 0; i < model.count; ++i) {
    entryFirst.push_back(messageFirst.size());
    uint32_t earlier = 0, later = 0;
    for (const TilingModel::Neighbour &other : model.neighbours(i)) {
      entryOf[{i, other.node}] = messageFirst.size();
      messageFirst.push_back(size);
      size += model.strategies(i);
      ++(other.node < i ? earlier : later);
    }
    share[i] = 1.0 / std::max({earlier, later, 1u});
  }
  for (uint32_t i = 0; i < model.count; ++i)
    for (const TilingModel::Neighbour &other : model.neighbours(i))
      reverse.push_back(entryOf[{other.node, i}]);
  messages.assign(size, 0);
}

void MessagePassing::gather(uint32_t node) {
  const uint32_t own = model.strategies(node);
  belief.assign(model.costs(node), model.costs(node) + own);
  model.charge(node, prices, belief);
  const size_t entries = model.neighbours(node).size();
  for (size_t e = entryFirst[node]; e < entryFirst[node] + entries; ++e)
    for (uint32_t k = 0; k < own; ++k)
      belief[k] += messages[messageFirst[e] + k];
}

double MessagePassing::tell(uint32_t node, size_t entry, const TilingModel::Neighbour &other) {
  const uint32_t own = model.strategies(node), theirs = model.strategies(other.node);
  const double *incoming = messages.data() + messageFirst[entry];
  double *message = messages.data() + messageFirst[reverse[entry]];
  part.resize(own);
  for (uint32_t k = 0; k < own; ++k)
    part[k] = share[node] * belief[k] - incoming[k];
  const double *row = other.costs;
  for (uint32_t t = 0; t < theirs; ++t)
    message[t] = part[0] + row[t];
  for (uint32_t k = 1; k < own; ++k) {
    row += theirs;
    for (uint32_t t = 0; t < theirs; ++t)
      message[t] = std::min(message[t], part[k] + row[t]);
  }
  const double least = *std::min_element(message, message + theirs);
  for (uint32_t t = 0; t < theirs; ++t)
    message[t] -= least;
  return least;
}

void MessagePassing::sweep() {
  prices = TilingModel::prefixSums(multipliers);
  std::vector<double> conditional;
  for (uint32_t i = 0; i < model.count; ++i) {
    gather(i);
    // The strategy: earlier neighbours have chosen, later ones say what they expect.
    conditional = belief;
    const std::span<const TilingModel::Neighbour> others = model.neighbours(i);
    const uint32_t own = model.strategies(i);
    for (size_t e = 0; e < others.size(); ++e)
      if (others[e].node < i) {
        const double *incoming = messages.data() + messageFirst[entryFirst[i] + e];
        const double *row = others[e].transposed + size_t(choice[others[e].node]) * own;
        for (uint32_t k = 0; k < own; ++k)
          conditional[k] += row[k] - incoming[k];
      }
    choice[i] = static_cast<uint32_t>(std::min_element(conditional.begin(), conditional.end()) - conditional.begin());
    for (size_t e = 0; e < others.size(); ++e)
      if (others[e].node > i)
        tell(i, entryFirst[i] + e, others[e]);
  }
  double sum = model.offset;
  for (uint32_t i = model.count; i-- > 0;) {
    gather(i);
    const double least = *std::min_element(belief.begin(), belief.end());
    sum += least;
    for (double &value : belief)
      value -= least;
    const std::span<const TilingModel::Neighbour> others = model.neighbours(i);
    for (size_t e = 0; e < others.size(); ++e)
      if (others[e].node < i)
        sum += tell(i, entryFirst[i] + e, others[e]);
  }
  for (uint32_t m = 0; m < model.moments; ++m)
    sum -= multipliers[m] * model.room[m];
  lowerBound = sum;
}

void MessagePassing::moveMultipliers(double target) {
  std::vector<double> slope = model.usageOf(choice);
  double square = 0;
  for (uint32_t m = 0; m < model.moments; ++m) {
    slope[m] -= model.room[m];
    if (slope[m] > 0 || multipliers[m] > 0)
      square += slope[m] * slope[m];
  }
  if (square == 0 || target <= lowerBound)
    return;
  const double step = (target - lowerBound) / square;
  for (uint32_t m = 0; m < model.moments; ++m)
    if (slope[m] > 0 || multipliers[m] > 0)
      multipliers[m] = std::max(0.0, multipliers[m] + step * slope[m]);
}

} // namespace sluice
