//===- UseCalendar.h - Extents by their occupants' next use ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_USECALENDAR_H
#define SLUICE_LIB_SWAP_USECALENDAR_H

#include "OffsetIndex.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::swap {

/// Extents in slots [0, slots). The extents of a slot are a list. A tree of bits, with 64 in a word, finds the slots
/// that have extents. Every operation takes O(log slots), with base 64.
class UseCalendar {
public:
  explicit UseCalendar(size_t slots);

  void insert(ExtentId id, size_t slot);
  /// Requires that the extent is in the slot.
  void erase(ExtentId id, size_t slot);
  /// The highest slot below `end` that has an extent.
  std::optional<size_t> lastBelow(size_t end) const;
  /// The first extent of a slot, and the next one. They are invalid if there is none.
  ExtentId front(size_t slot) const { return heads[slot]; }
  ExtentId next(ExtentId id) const { return links[id.index()].next; }

private:
  struct Link {
    ExtentId previous, next;
  };
  std::vector<ExtentId> heads;             ///< Per slot.
  std::vector<Link> links;                 ///< Per extent.
  std::vector<std::vector<uint64_t>> bits; ///< [level][word]; a bit: the slot or the word below is not empty.
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_USECALENDAR_H
