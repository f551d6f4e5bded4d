//===- PlacedItems.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PlacedItems.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::memory;

void PlacedItems::clear() {
  for (std::unique_ptr<Block> &block : blocks)
    spare.push_back(std::move(block));
  blocks.clear();
}

void PlacedItems::setHull(Block &block) {
  block.first = *std::min_element(block.firsts.begin(), block.firsts.begin() + block.count);
  block.last = *std::max_element(block.lasts.begin(), block.lasts.begin() + block.count);
}

size_t PlacedItems::blockOf(int64_t offset) const {
  auto after =
      std::upper_bound(blocks.begin(), blocks.end(), offset,
                       [](int64_t value, const std::unique_ptr<Block> &block) { return value < block->offsets[0]; });
  return after == blocks.begin() ? 0 : static_cast<size_t>(after - blocks.begin()) - 1;
}

/// Moves elements [from, count) of an array by one or back.
template <typename Array>
static void shift(Array &array, uint32_t from, uint32_t count, bool up) {
  if (up)
    std::move_backward(array.begin() + from, array.begin() + count, array.begin() + count + 1);
  else
    std::move(array.begin() + from + 1, array.begin() + count, array.begin() + from);
}

void PlacedItems::insert(const Item &item, uint32_t id, int64_t offset) {
  auto take = [&] {
    if (spare.empty())
      return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(spare.back());
    spare.pop_back();
    return block;
  };
  if (blocks.empty()) {
    blocks.push_back(take());
    blocks[0]->count = 0;
  }
  size_t b = blockOf(offset);
  if (blocks[b]->count == kBlock) {
    std::unique_ptr<Block> upper = take();
    Block &full = *blocks[b];
    const uint32_t half = kBlock / 2;
    upper->count = full.count = half;
    for (uint32_t k = 0; k < half; ++k) {
      upper->firsts[k] = full.firsts[half + k];
      upper->lasts[k] = full.lasts[half + k];
      upper->ids[k] = full.ids[half + k];
      upper->offsets[k] = full.offsets[half + k];
      upper->ends[k] = full.ends[half + k];
    }
    setHull(full);
    setHull(*upper);
    bool above = offset >= upper->offsets[0];
    blocks.insert(blocks.begin() + static_cast<std::ptrdiff_t>(b) + 1, std::move(upper));
    b += above;
  }
  Block &block = *blocks[b];
  auto at = static_cast<uint32_t>(std::upper_bound(block.offsets.begin(), block.offsets.begin() + block.count, offset) -
                                  block.offsets.begin());
  shift(block.firsts, at, block.count, true);
  shift(block.lasts, at, block.count, true);
  shift(block.ids, at, block.count, true);
  shift(block.offsets, at, block.count, true);
  shift(block.ends, at, block.count, true);
  block.firsts[at] = item.first;
  block.lasts[at] = item.last;
  block.ids[at] = id;
  block.offsets[at] = offset;
  block.ends[at] = offset + item.size;
  block.first = block.count == 0 ? item.first : std::min(block.first, item.first);
  block.last = block.count == 0 ? item.last : std::max(block.last, item.last);
  ++block.count;
}

void PlacedItems::erase(uint32_t id, int64_t offset) {
  // Items of one offset may spread over blocks: go down from the last.
  for (size_t b = blockOf(offset);; --b) {
    Block &block = *blocks[b];
    const uint32_t *ids = block.ids.data();
    auto at = static_cast<uint32_t>(std::find(ids, ids + block.count, id) - ids);
    if (at == block.count)
      continue;
    shift(block.firsts, at, block.count, false);
    shift(block.lasts, at, block.count, false);
    shift(block.ids, at, block.count, false);
    shift(block.offsets, at, block.count, false);
    shift(block.ends, at, block.count, false);
    if (--block.count > 0) {
      setHull(block);
    } else {
      spare.push_back(std::move(blocks[b]));
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(b));
    }
    return;
  }
}

/// At the clock.
constexpr size_t kItemsPerLook = 512;

int64_t memory::packItems(const Sections &sections, const std::vector<uint32_t> &order, FitRule rule,
                          PlacedItems &placed, std::vector<int64_t> &offsets, int64_t limitBytes,
                          const Budget *budget) {
  placed.clear();
  int64_t peakBytes = 0;
  size_t untilLook = kItemsPerLook;
  for (uint32_t i : order) {
    if (budget && --untilLook == 0) {
      if (budget->mustStop())
        return std::numeric_limits<int64_t>::max();
      untilLook = kItemsPerLook;
    }
    const Item &item = sections.items[i];
    auto aligned = [&](int64_t offset) {
      return item.alignment == 1 ? offset : (offset + item.alignment - 1) / item.alignment * item.alignment;
    };
    int64_t cursor = 0, best = -1, bestGap = 0;
    placed.visitMeeting(item.first, item.last, [&](uint32_t, int64_t offset, int64_t end) {
      if (offset - cursor >= item.size) {
        int64_t start = aligned(cursor), gap = offset - cursor;
        if (start + item.size <= offset && (best < 0 || gap < bestGap)) {
          best = start;
          bestGap = gap;
          if (rule == FitRule::FirstFit)
            return true;
        }
      }
      cursor = std::max(cursor, end);
      return false;
    });
    offsets[i] = best >= 0 ? best : aligned(cursor);
    peakBytes = std::max(peakBytes, (offsets[i] + item.size) * sections.unitBytes - item.spareBytes);
    if (peakBytes > limitBytes)
      return peakBytes;
    placed.insert(item, i, offsets[i]);
  }
  return peakBytes;
}
