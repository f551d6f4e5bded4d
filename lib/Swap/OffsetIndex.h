//===- OffsetIndex.h - Extents by their first address ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_OFFSETINDEX_H
#define SLUICE_LIB_SWAP_OFFSETINDEX_H

#include "sluice/Support/Ids.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::swap {

/// The name of a piece of an AddressMap, until the piece is merged into another one.
using ExtentId = Id<struct ExtentTag>;

/// Extents in ascending order of their offsets, which are distinct. The entries are in chunks of
/// at most kChunk entries, so an insertion moves only a few of them. With n entries, every
/// operation takes O(log n + kChunk). One of kChunk / 2 insertions takes O(n / kChunk) in addition.
class OffsetIndex {
public:
  struct Entry {
    int64_t offset;
    ExtentId extent;
  };
  /// A position in the order. Insertions and erasures invalidate it.
  struct Cursor {
    size_t chunk, entry;
  };

  size_t size() const { return count; }
  void insert(int64_t offset, ExtentId extent);
  /// Requires that the entry exists.
  void erase(int64_t offset);
  /// Changes the offset of an entry. The order of entries must stay the same.
  void move(int64_t offset, int64_t to);
  /// The last entry at or below the offset, or the first entry if there is none.
  Cursor floor(int64_t offset) const;
  /// Whether the cursor is at an entry, and not beyond the last one.
  bool valid(Cursor at) const { return at.chunk < chunks.size(); }
  const Entry &operator[](Cursor at) const { return chunks[at.chunk][at.entry]; }
  Cursor next(Cursor at) const {
    return at.entry + 1 < chunks[at.chunk].size() ? Cursor{at.chunk, at.entry + 1} : Cursor{at.chunk + 1, 0};
  }

private:
  static constexpr size_t kChunk = 64;
  size_t chunkOf(int64_t offset) const;

  std::vector<int64_t> firsts;            ///< The first offset of each chunk.
  std::vector<std::vector<Entry>> chunks; ///< No chunk is empty.
  size_t count = 0;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_OFFSETINDEX_H
