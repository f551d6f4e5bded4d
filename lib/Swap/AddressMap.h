//===- AddressMap.h - The data at each address of an arena ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_ADDRESSMAP_H
#define SLUICE_LIB_SWAP_ADDRESSMAP_H

#include "OffsetIndex.h"

namespace sluice::swap {

/// A piece of an arena and the residency last created there, live or dead.
struct Extent {
  int64_t offset = 0;
  int64_t end = 0;
  ResidencyId occupant; ///< Invalid: the piece was never used.
};

/// All of an arena's addresses, [0, capacity), as adjoining extents by offset. A vacant extent's
/// occupant is dead, or the extent was never used.
class AddressMap {
public:
  explicit AddressMap(int64_t capacityBytes);

  int64_t capacityBytes() const { return capacity; }
  /// The highest end of an address range ever occupied.
  int64_t peakBytes() const { return peak; }
  size_t numExtents() const { return byOffset.size(); }
  /// Above the value of every extent's id. Ids of merged extents are used again.
  size_t idBound() const { return pieces.size(); }
  const Extent &operator[](ExtentId id) const { return pieces[id.index()].extent; }
  bool isVacant(ExtentId id) const { return pieces[id.index()].vacant; }
  /// The neighbours by address; invalid at the arena's ends.
  ExtentId next(ExtentId id) const { return pieces[id.index()].next; }
  ExtentId previous(ExtentId id) const { return pieces[id.index()].previous; }
  ExtentId front() const { return find(0); }
  /// The extent that holds the address. O(log extents).
  ExtentId find(int64_t offset) const { return byOffset[byOffset.floor(offset)].extent; }
  /// The same; O(1) where the hint, any id or an invalid one, is the extent.
  ExtentId find(int64_t offset, ExtentId hint) const {
    if (hint.index() < pieces.size() && (*this)[hint].offset <= offset && offset < (*this)[hint].end)
      return hint;
    return find(offset);
  }
  const OffsetIndex &vacant() const { return vacantByOffset; }
  /// All extents by offset, in place of what the list held. O(extents).
  void list(std::vector<Extent> &extents) const;

  /// Gives [offset, end) to a live residency and appends the former occupants to `displaced`. Returns the extent;
  /// invalid where the range is empty. O(log extents) for each extent that the range touches. `hint` as in find().
  ExtentId occupy(int64_t offset, int64_t end, ResidencyId occupant, std::vector<ResidencyId> &displaced,
                  ExtentId hint = {});
  /// The extent's occupant died. O(log extents).
  void vacate(ExtentId id);

private:
  struct Piece {
    Extent extent;
    ExtentId previous, next;
    bool vacant = true;
  };
  /// Cuts an extent at an address within it. Returns the upper part, which is new.
  ExtentId split(ExtentId id, int64_t at);
  /// Removes the extent after this one; this one ends where that one did.
  void mergeNext(ExtentId id);
  /// The extent after this one loses its addresses below `at` to this one.
  void growInto(ExtentId id, int64_t at);

  int64_t capacity, peak = 0;
  std::vector<Piece> pieces;
  std::vector<ExtentId> unused; ///< Ids without an extent.
  OffsetIndex byOffset, vacantByOffset;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_ADDRESSMAP_H
