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

/// A piece of an AddressMap: names it until the piece is merged into another.
using ExtentId = Id<struct ExtentTag>;

/// Extents in ascending order of their offsets, which are distinct. The entries are in chunks of
/// at most kChunk, so that an insertion moves few of them: with n entries every operation takes
/// O(log n + kChunk), and one insertion in kChunk / 2 takes O(n / kChunk) in addition.
class OffsetIndex {
public:
  struct Entry {
    int64_t offset;
    ExtentId extent;
  };
  /// A place in the order; insertions and erasures invalidate it.
  struct Cursor {
    size_t chunk, entry;
  };

  size_t size() const { return count; }
  void insert(int64_t offset, ExtentId extent);
  /// The entry exists.
  void erase(int64_t offset);
  /// Moves the entry at an offset to another one, which lies beyond no other entry.
  void move(int64_t offset, int64_t to);
  /// The last entry at the offset or below; the first entry where there is none.
  Cursor floor(int64_t offset) const;
  /// False beyond the last entry.
  bool valid(Cursor at) const { return at.chunk < chunks.size(); }
  const Entry &operator[](Cursor at) const { return chunks[at.chunk][at.entry]; }
  Cursor next(Cursor at) const {
    return at.entry + 1 < chunks[at.chunk].size() ? Cursor{at.chunk, at.entry + 1} : Cursor{at.chunk + 1, 0};
  }

private:
  static constexpr size_t kChunk = 64;
  size_t chunkOf(int64_t offset) const;

  std::vector<int64_t> firsts;            ///< Per chunk: its first offset.
  std::vector<std::vector<Entry>> chunks; ///< None is empty.
  size_t count = 0;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_OFFSETINDEX_H
