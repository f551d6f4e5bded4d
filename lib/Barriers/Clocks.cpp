//===- Clocks.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Clocks.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sluice {

Clocks::Clocks(uint32_t workers)
    : clocks(workers), order(workers), positions(workers), first(1, 0), sums(1, 0), stamps(workers) {
  std::iota(order.begin(), order.end(), 0u);
  std::iota(positions.begin(), positions.end(), 0u);
}

int64_t Clocks::arrived(int64_t clock) const {
  int64_t sum = 0;
  for (clock = std::min<int64_t>(clock, static_cast<int64_t>(sums.size()) - 1); clock > 0; clock &= clock - 1)
    sum += sums[clock];
  return sum;
}

int64_t Clocks::lacking(int64_t clock) const { return clock * static_cast<int64_t>(order.size()) - arrived(clock); }

void Clocks::advance(uint32_t worker) {
  const auto clock = static_cast<size_t>(++clocks[worker]);
  if (clock == first.size()) { // The first to reach it: a node of the tree sums a range that ends there.
    first.push_back(static_cast<uint32_t>(order.size()));
    sums.push_back(arrived(static_cast<int64_t>(clock) - 1) - arrived(static_cast<int64_t>(clock & (clock - 1))));
  }
  const uint32_t last = --first[clock], other = order[last];
  std::swap(order[positions[worker]], order[last]);
  std::swap(positions[worker], positions[other]);
  for (size_t node = clock; node < sums.size(); node += node & -node)
    ++sums[node];
}

void Clocks::sampleOthers(uint32_t worker, int64_t clock, int64_t count, Rng &rng, std::vector<uint32_t> &sample) {
  if (++stamp == 0) { // Wrapped around: old stamps would look new.
    std::fill(stamps.begin(), stamps.end(), 0);
    stamp = 1;
  }
  // Floyd's algorithm (Bentley and Floyd 1987) over the workers of high clocks, which come last, `worker` left out.
  const int64_t others = atLeast(clock) - 1, begin = static_cast<int64_t>(order.size()) - others - 1;
  auto positionOf = [&](int64_t index) { return begin + index + (begin + index >= positions[worker] ? 1 : 0); };
  for (int64_t last = others - count; last < others; ++last) {
    int64_t position = positionOf(static_cast<int64_t>(rng.below(static_cast<uint64_t>(last) + 1)));
    if (stamps[position] == stamp)
      position = positionOf(last);
    stamps[position] = stamp;
    sample.push_back(order[position]);
  }
}

} // namespace sluice
