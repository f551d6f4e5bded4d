//===- IdleSlots.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "IdleSlots.h"

#include <algorithm>
#include <limits>

namespace sluice {

static constexpr size_t kMaxBlock = 256;

IdleSlots::IdleSlots() : blocks(1) {
  blocks[0].slots.push_back({0, std::numeric_limits<int64_t>::max()});
  blocks[0].measure();
}

void IdleSlots::Block::measure() {
  longestNs = 0;
  for (const Interval &slot : slots)
    longestNs = std::max(longestNs, slot.endNs - slot.startNs);
}

size_t IdleSlots::blockEndingAfter(int64_t timeNs) const {
  auto it = std::partition_point(blocks.begin(), blocks.end(),
                                 [&](const Block &block) { return block.slots.back().endNs <= timeNs; });
  return static_cast<size_t>(it - blocks.begin());
}

int64_t IdleSlots::earliestStart(int64_t readyNs, int64_t durationNs) const {
  // The last slot never ends, so the loops find room before they run out.
  for (size_t b = blockEndingAfter(readyNs);; ++b) {
    const Block &block = blocks[b];
    if (block.longestNs < durationNs)
      continue;
    auto slot = std::partition_point(block.slots.begin(), block.slots.end(),
                                     [&](const Interval &s) { return s.endNs <= readyNs; });
    for (; slot != block.slots.end(); ++slot) {
      int64_t start = std::max(slot->startNs, readyNs);
      if (slot->endNs - start >= durationNs)
        return start;
    }
  }
}

void IdleSlots::occupy(int64_t startNs, int64_t durationNs) {
  size_t b = blockEndingAfter(startNs);
  Block &block = blocks[b];
  auto slot = std::partition_point(block.slots.begin(), block.slots.end(),
                                   [&](const Interval &s) { return s.endNs <= startNs; });
  Interval before{slot->startNs, startNs}, after{startNs + durationNs, slot->endNs};
  bool keepBefore = before.startNs < before.endNs, keepAfter = after.startNs < after.endNs;
  if (keepBefore && keepAfter) {
    *slot = after;
    block.slots.insert(slot, before);
  } else if (keepBefore || keepAfter) {
    *slot = keepBefore ? before : after;
  } else {
    block.slots.erase(slot);
  }
  if (block.slots.empty()) {
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(b));
    return;
  }
  if (block.slots.size() > kMaxBlock) {
    Block upper;
    upper.slots.assign(block.slots.begin() + kMaxBlock / 2, block.slots.end());
    upper.measure();
    block.slots.resize(kMaxBlock / 2);
    block.measure();
    blocks.insert(blocks.begin() + static_cast<ptrdiff_t>(b) + 1, std::move(upper));
    return;
  }
  block.measure();
}

} // namespace sluice
