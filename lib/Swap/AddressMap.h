//===- AddressMap.h - The data at each address of an arena ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_ADDRESSMAP_H
#define SLUICE_LIB_SWAP_ADDRESSMAP_H

#include "sluice/Support/Ids.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::swap {

/// A piece of an arena and the residency last created there, live or dead.
struct Extent {
  int64_t offset = 0;
  int64_t end = 0;
  ResidencyId occupant; ///< Invalid: the piece was never used.
};

/// All of an arena's addresses, [0, capacity), as adjoining extents by offset.
class AddressMap {
public:
  explicit AddressMap(int64_t capacityBytes) : capacity(capacityBytes), pieces{{0, capacityBytes, ResidencyId()}} {}

  int64_t capacityBytes() const { return capacity; }
  /// The highest end of an address range ever occupied.
  int64_t peakBytes() const { return peak; }
  const std::vector<Extent> &extents() const { return pieces; }
  /// The index of the extent that holds the address. O(log extents).
  size_t find(int64_t offset) const;

  /// Gives [offset, end) to a residency and appends the former occupants to `displaced`.
  void occupy(int64_t offset, int64_t end, ResidencyId occupant, std::vector<ResidencyId> &displaced);

private:
  int64_t capacity, peak = 0;
  std::vector<Extent> pieces;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_ADDRESSMAP_H
