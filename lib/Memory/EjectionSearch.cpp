//===- EjectionSearch.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "EjectionSearch.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::memory;

/// So that sums of costs keep their least terms.
constexpr double kMostPenalty = 1e6, kLeastCost = 1e-6;

EjectionSearch::EjectionSearch(const Sections &sections, int64_t capacityBytes, DisplacementCost how, Rng rng,
                               std::vector<int64_t> start)
    : items(sections.items), growth(how.growth), rng(rng), offsets(std::move(start)), highest(items.size()),
      penalty(items.size(), 1.0) {
  for (uint32_t i = 0; i < items.size(); ++i) {
    const int64_t bytes = items[i].size * sections.unitBytes - items[i].spareBytes;
    highest[i] = capacityBytes < bytes ? -1 : (capacityBytes - bytes) / sections.unitBytes;
    cost.push_back(std::pow(static_cast<double>(items[i].size) * (items[i].last - items[i].first), how.exponent));
    if (offsets[i] <= highest[i])
      placed.insert(items[i], i, offsets[i]);
    else
      missing.emplace(cost[i], i);
  }
}

bool EjectionSearch::run(const Budget &budget, int64_t &used) {
  int64_t evaluations = 0;
  for (int64_t step = 0; !missing.empty() && evaluations < budget.evaluations; ++step) {
    uint32_t i = missing.top().second;
    if (highest[i] < 0 || ((step & 31) == 0 && budget.mustStop()))
      break;
    missing.pop();
    insert(i);
    evaluations += 1 + static_cast<int64_t>(met.size() / 64);
  }
  used += evaluations;
  return missing.empty();
}

void EjectionSearch::insert(uint32_t i) {
  const Item &item = items[i];
  met.clear();
  tops.clear();
  placed.visitMeeting(item.first, item.last, [&](uint32_t id, int64_t offset, int64_t end) {
    met.push_back({offset, end, penalty[id] * cost[id], id});
    tops.emplace_back(end, met.back().cost);
    return false;
  });
  std::sort(tops.begin(), tops.end());
  // Displaced at an offset: all that begin below its end, less those that end
  // at or below it. Either an item lies on one that stays or just under one.
  int64_t best = -1;
  double bestCost = 0;
  size_t begun = 0, ended = 0;
  double begunCost = 0, endedCost = 0;
  auto consider = [&](int64_t offset, size_t &b, double &bCost, size_t &e, double &eCost) {
    while (b < met.size() && met[b].offset < offset + item.size)
      bCost += met[b++].cost;
    while (e < tops.size() && tops[e].first <= offset)
      eCost += tops[e++].second;
    const bool free = b == e; // What has ended has begun.
    const double displaced = free ? 0 : std::max(bCost - eCost, kLeastCost);
    if (best < 0 || displaced < bestCost || (displaced == bestCost && rng.chance(0.5))) {
      best = offset;
      bestCost = displaced;
    }
    return free;
  };
  bool free = consider(0, begun, begunCost, ended, endedCost);
  for (size_t k = 0; k < tops.size() && !free; ++k) {
    int64_t offset = (tops[k].first + item.alignment - 1) / item.alignment * item.alignment;
    if (offset > highest[i])
      break;
    free = consider(offset, begun, begunCost, ended, endedCost);
  }
  begun = ended = 0;
  begunCost = endedCost = 0;
  for (size_t k = 0; k <= met.size() && !free; ++k) {
    int64_t offset = k < met.size() ? met[k].offset - item.size : highest[i];
    if (offset < 0)
      continue;
    if (offset > highest[i])
      break;
    free = consider(offset / item.alignment * item.alignment, begun, begunCost, ended, endedCost);
  }
  if (!free) {
    penalty[i] = std::min(penalty[i] * growth, kMostPenalty);
    for (const Neighbour &other : met)
      if (other.offset < best + item.size && best < other.end) {
        placed.erase(other.id, other.offset);
        missing.emplace(cost[other.id], other.id);
      }
  }
  offsets[i] = best;
  placed.insert(item, i, best);
}
