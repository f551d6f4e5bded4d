//===- PlacedItems.h - What is placed, by offset ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_PLACEDITEMS_H
#define SLUICE_LIB_MEMORY_PLACEDITEMS_H

#include "Sections.h"

#include <array>
#include <limits>
#include <memory>

namespace sluice::memory {

/// A list of items by offset, in blocks. Each block knows the range of sections of its
/// items. A query skips blocks that it does not meet, and an insertion moves one block.
class PlacedItems {
public:
  void clear();
  void insert(const Item &item, uint32_t id, int64_t offset);
  /// The item must be there, at this offset.
  void erase(uint32_t id, int64_t offset);

  /// Calls `visit(id, offset, end)` for the items that meet [first, last), in the order
  /// of offsets, until it returns true.
  template <typename Visitor>
  void visitMeeting(uint32_t first, uint32_t last, Visitor visit) const {
    std::array<uint8_t, kBlock> meets;
    for (const std::unique_ptr<Block> &block : blocks) {
      if (block->last <= first || last <= block->first)
        continue;
      for (size_t k = 0; k < kBlock; ++k)
        meets[k] = static_cast<uint8_t>(block->firsts[k] < last) & static_cast<uint8_t>(first < block->lasts[k]);
      for (uint32_t k = 0; k < block->count; ++k)
        if (meets[k] && visit(block->ids[k], block->offsets[k], block->ends[k]))
          return;
    }
  }

private:
  static constexpr uint32_t kBlock = 64;
  struct Block {
    uint32_t count = 0;
    uint32_t first = 0, last = 0; ///< The hull of the sections of the items.
    std::array<uint32_t, kBlock> firsts{}, lasts{}, ids{};
    std::array<int64_t, kBlock> offsets{}, ends{};
  };
  void setHull(Block &block);
  /// The last block that begins at or below the offset, or the first block if there is none.
  size_t blockOf(int64_t offset) const;

  std::vector<std::unique_ptr<Block>> blocks; ///< None is empty.
  std::vector<std::unique_ptr<Block>> spare;
};

/// Places items one at a time in `order`, each in a gap between the items that it meets,
/// or above them. Fills `offsets` in units and returns the peak in bytes. Ends early with
/// a peak above `limitBytes`. Returns the greatest number if the budget, if present, ends.
/// `placed` is scratch memory.
int64_t packItems(const Sections &sections, const std::vector<uint32_t> &order, FitRule rule, PlacedItems &placed,
                  std::vector<int64_t> &offsets, int64_t limitBytes = std::numeric_limits<int64_t>::max(),
                  const Budget *budget = nullptr);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_PLACEDITEMS_H
