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
  bool vacant = true;   ///< The occupant is dead, or there is none.
};

/// All addresses [0, capacity) of an arena, as adjoining extents by offset. An extent is vacant if
/// its occupant is dead or if it was never used.
class AddressMap {
public:
  explicit AddressMap(int64_t capacityBytes);

  int64_t capacityBytes() const { return capacity; }
  /// The highest end of all address ranges that were occupied so far.
  int64_t peakBytes() const { return peak; }
  size_t numExtents() const { return byOffset.size(); }
  /// A bound that exceeds the id of every extent. Ids of merged extents are used again.
  size_t idBound() const { return pieces.size(); }
  const Extent &operator[](ExtentId id) const { return pieces[id.index()].extent; }
  bool isVacant(ExtentId id) const { return pieces[id.index()].extent.vacant; }
  /// The neighbours by address. They are invalid at the ends of the arena.
  ExtentId next(ExtentId id) const { return pieces[id.index()].next; }
  ExtentId previous(ExtentId id) const { return pieces[id.index()].previous; }
  ExtentId front() const { return find(0); }
  /// The extent that contains the address. Takes O(log extents).
  ExtentId find(int64_t offset) const { return byOffset[byOffset.floor(offset)].extent; }
  /// The same extent. The hint may be any id or invalid. Takes O(1) if the hint is the extent.
  ExtentId find(int64_t offset, ExtentId hint) const {
    if (hint.index() < pieces.size() && (*this)[hint].offset <= offset && offset < (*this)[hint].end)
      return hint;
    return find(offset);
  }
  const OffsetIndex &vacant() const { return vacantByOffset; }
  /// Replaces the contents of the list by all extents in the order of offsets. Takes O(extents).
  void list(std::vector<Extent> &extents) const;

  /// Gives [offset, end) to a live residency, and appends the former occupants to `displaced`. Returns the extent,
  /// which is invalid if the range is empty. Takes O(log extents) for each extent that the range meets. `hint` is as in
  /// find().
  ExtentId occupy(int64_t offset, int64_t end, ResidencyId occupant, std::vector<ResidencyId> &displaced,
                  ExtentId hint = {});
  /// Marks the extent as vacant when its occupant dies. Takes O(log extents).
  void vacate(ExtentId id);

private:
  /// Half a cache line.
  struct alignas(32) Piece {
    Extent extent;
    ExtentId previous, next;
  };
  /// Cuts an extent at an address within it. Returns the upper part, which is a new extent.
  ExtentId split(ExtentId id, int64_t at);
  /// Removes the next extent. This extent then ends at the end of that one.
  void mergeNext(ExtentId id);
  /// Moves the addresses below `at` from the next extent to this one.
  void growInto(ExtentId id, int64_t at);

  int64_t capacity, peak = 0;
  std::vector<Piece> pieces;
  std::vector<ExtentId> unused; ///< The ids without an extent.
  OffsetIndex byOffset, vacantByOffset;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_ADDRESSMAP_H
