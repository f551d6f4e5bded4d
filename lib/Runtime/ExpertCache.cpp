//===- ExpertCache.cpp - Which experts stay in memory ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ExpertCache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace sluice::runtime {

ExpertCache::ExpertCache(uint32_t numExperts, uint32_t numSlots, double halfLife)
    : halfLife(halfLife), weights(numExperts, -std::numeric_limits<double>::infinity()), isHeld(numExperts, 0),
      slotOf(numExperts, kNone), holder(numSlots, kNone) {}

/// The sum of counts C at time t is 2^w * 2^(-t/H). All sums decay at the same rate, so the order of the w is theirs.
void ExpertCache::count(uint32_t expert, bool isHit) {
  if (uses.size() < kMostRecorded) {
    uses.push_back(expert);
    hits += isHit ? 1 : 0;
  }
  now += 1;
  double &weight = weights[expert];
  if (halfLife <= 0) {
    weight = now;
    return;
  }
  const double added = now / halfLife, high = std::max(weight, added), low = std::min(weight, added);
  weight = high + std::log2(1 + std::exp2(low - high));
}

std::optional<ExpertCache::Place> ExpertCache::hold(uint32_t expert) {
  if (const uint32_t slot = slotOf[expert]; slot != kNone) {
    count(expert, true);
    isHeld[expert] = 1;
    return Place{slot, true};
  }
  uint32_t best = kNone;
  for (uint32_t slot = 0; slot < holder.size(); ++slot) {
    const uint32_t there = holder[slot];
    if (there == kNone) {
      best = slot;
      break;
    }
    if (isHeld[there])
      continue;
    const uint32_t other = best == kNone ? kNone : holder[best];
    if (other == kNone || std::pair(weights[there], there) < std::pair(weights[other], other))
      best = slot;
  }
  if (best == kNone)
    return std::nullopt;
  // First, because it allocates: an expert whose slot was never filled must not be found in it later.
  count(expert, false);
  if (holder[best] != kNone)
    slotOf[holder[best]] = kNone;
  holder[best] = expert, slotOf[expert] = best;
  isHeld[expert] = 1;
  return Place{best, false};
}

void ExpertCache::drop(uint32_t expert) {
  isHeld[expert] = 0;
  if (slotOf[expert] == kNone)
    return;
  holder[slotOf[expert]] = kNone;
  slotOf[expert] = kNone;
}

int64_t mostHits(const std::vector<uint32_t> &uses, uint32_t numSlots) {
  constexpr uint32_t kNever = UINT32_MAX;
  const uint32_t numExperts = uses.empty() ? 0 : *std::max_element(uses.begin(), uses.end()) + 1;
  std::vector<uint32_t> next(uses.size()), seen(numExperts, kNever);
  for (size_t i = uses.size(); i-- > 0;)
    next[i] = std::exchange(seen[uses[i]], static_cast<uint32_t>(i));
  std::set<std::pair<uint32_t, uint32_t>> held; ///< The time of the next use, and the expert.
  std::vector<uint32_t> when(numExperts, kNever);
  std::vector<char> isHeld(numExperts, 0);
  int64_t hits = 0;
  for (size_t i = 0; i < uses.size(); ++i) {
    const uint32_t expert = uses[i];
    if (isHeld[expert]) {
      ++hits;
      held.erase({when[expert], expert});
    } else if (held.size() == numSlots) {
      const auto last = std::prev(held.end());
      isHeld[last->second] = 0;
      held.erase(last);
    }
    isHeld[expert] = 1;
    when[expert] = next[i];
    held.insert({next[i], expert});
  }
  return hits;
}

} // namespace sluice::runtime
