//===- Sections.h - An offset problem without times and bytes ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Solvers need to know only which buffers meet. Time becomes the sections in
// which a set of buffers, included in no other such set, is live at once (the
// maximal cliques of the interval graph); bytes become units that divide all
// sizes and alignments.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_SECTIONS_H
#define SLUICE_LIB_MEMORY_SECTIONS_H

#include "sluice/Memory/Offsets.h"

namespace sluice::memory {

/// Takes part: has bytes and a lifetime.
inline bool occupies(const Buffer &buffer) { return buffer.bytes > 0 && buffer.lower < buffer.upper; }

struct Item {
  uint32_t buffer = 0;          ///< In the problem.
  uint32_t first = 0, last = 0; ///< Lives in the sections [first, last).
  int64_t size = 0;             ///< Units, rounded up.
  int64_t alignment = 1;        ///< Units.
  int64_t spareBytes = 0;       ///< By how much size x unit exceeds the buffer.

  bool meets(const Item &other) const { return first < other.last && other.first < last; }
};

struct Sections {
  std::vector<Item> items;
  uint32_t count = 0;
  int64_t unitBytes = 1;
  std::vector<int64_t> live; ///< Units of all items in each section.
  /// Most bytes by which an item's rounded size exceeds it.
  int64_t maxSpareBytes = 0;
};

/// For a checked problem. O(n log n).
Sections sectionsOf(const OffsetProblem &problem);

/// Least peak that no packing undercuts, from each section's items alone.
int64_t boundBytes(const Sections &sections);

/// A part of a problem that can be packed alone, above `base`.
struct Part {
  Sections sections;
  int64_t base = 0; ///< Units taken below by items that outlive all others.
};

/// Cuts where no item crosses; items that live all the while in what is between
/// two cuts go to the bottom, and what is left is cut again. `offsets`, in
/// units per buffer of the problem, gets those of the items gone. Each part has
/// at least two items. Loses no packing of least peak.
std::vector<Part> partsOf(const Sections &sections, std::vector<int64_t> &offsets);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_SECTIONS_H
