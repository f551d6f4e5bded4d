//===- Sections.h - An offset problem without times and bytes ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Solvers only need to know which buffers are live at the same time. Time is therefore
// replaced by sections: the maximal sets of buffers that are live at once (the maximal
// cliques of the interval graph). Bytes are replaced by units that divide all sizes and
// alignments.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_SECTIONS_H
#define SLUICE_LIB_MEMORY_SECTIONS_H

#include "sluice/Memory/Offsets.h"

namespace sluice::memory {

/// Whether the buffer takes part in the packing: it has bytes and a lifetime.
inline bool occupies(const Buffer &buffer) { return buffer.bytes > 0 && buffer.lower < buffer.upper; }

struct Item {
  uint32_t buffer = 0;          ///< In the problem.
  uint32_t first = 0, last = 0; ///< Lives in the sections [first, last).
  int64_t size = 0;             ///< Units, rounded up.
  int64_t alignment = 1;        ///< Units.
  int64_t spareBytes = 0;       ///< The bytes by which size x unit exceeds the buffer.

  bool meets(const Item &other) const { return first < other.last && other.first < last; }
};

struct Sections {
  std::vector<Item> items;
  uint32_t count = 0;
  int64_t unitBytes = 1;
  std::vector<int64_t> live; ///< The units of all items in each section.
  /// The greatest number of spare bytes of an item.
  int64_t maxSpareBytes = 0;
};

/// The problem passes check(). Takes O(n log n) time.
Sections sectionsOf(const OffsetProblem &problem);

/// A lower bound of the peak of all packings, from the items of each section.
int64_t boundBytes(const Sections &sections);

/// A part of a problem that can be packed separately, above `base`.
struct Part {
  Sections sections;
  int64_t base = 0; ///< The units below, which have the items that outlive all others.
};

/// Cuts the problem where no item crosses. Items that live during a whole part move to
/// its bottom, and the rest of the part is cut again. `offsets` has units for each buffer
/// of the problem, and receives the offsets of the removed items. Each part has at least
/// two items. A packing of least peak is not lost.
std::vector<Part> partsOf(const Sections &sections, std::vector<int64_t> &offsets);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_SECTIONS_H
