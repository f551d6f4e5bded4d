//===- IdleSlots.h - When a device is free ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_IDLESLOTS_H
#define SLUICE_LIB_PLACEMENT_IDLESLOTS_H

#include "sluice/Simulator/Simulator.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// The idle intervals of one device, in blocks. A block knows its longest interval, so a
/// search skips blocks whose intervals are all too short. The insertion of HEFT therefore
/// stays fast with a hundred thousand operators.
class IdleSlots {
public:
  IdleSlots();
  /// The earliest start at or after `readyNs` of an idle time of `durationNs` > 0.
  int64_t earliestStart(int64_t readyNs, int64_t durationNs) const;
  /// Occupies [start, start + duration), which must be idle.
  void occupy(int64_t startNs, int64_t durationNs);
  /// The end of the last occupied interval.
  int64_t lastEnd() const { return blocks.back().slots.back().startNs; }

private:
  struct Block {
    std::vector<Interval> slots; ///< Ascending, never empty.
    int64_t longestNs = 0;
    void measure();
  };
  size_t blockEndingAfter(int64_t timeNs) const;

  std::vector<Block> blocks;
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_IDLESLOTS_H
