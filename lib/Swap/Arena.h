//===- Arena.h - Who is at which address ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_ARENA_H
#define SLUICE_LIB_SWAP_ARENA_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sluice::swap {

constexpr uint32_t kNobody = std::numeric_limits<uint32_t>::max();

/// A piece of a memory and the residency last created there, dead or alive.
struct Extent {
  int64_t offset = 0;
  int64_t end = 0;
  uint32_t occupant = kNobody;
};

/// All of [0, capacity), as adjoining extents by offset.
class Arena {
public:
  explicit Arena(int64_t capacityBytes) : capacity(capacityBytes), pieces{{0, capacityBytes, kNobody}} {}

  int64_t capacityBytes() const { return capacity; }
  /// Highest address ever taken.
  int64_t peakBytes() const { return peak; }
  const std::vector<Extent> &extents() const { return pieces; }
  /// The extent that holds the address.
  size_t find(int64_t offset) const;

  /// Gives [offset, end) to a residency. `displaced` gets who was there.
  void occupy(int64_t offset, int64_t end, uint32_t occupant, std::vector<uint32_t> &displaced);

private:
  int64_t capacity, peak = 0;
  std::vector<Extent> pieces;
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_ARENA_H
