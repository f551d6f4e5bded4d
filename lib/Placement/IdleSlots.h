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

/// The idle intervals of one device, in blocks that know their longest, so that
/// a search for room skips the slots too short for it: HEFT's insertion stays
/// fast at a hundred thousand operators.
class IdleSlots {
public:
  IdleSlots();
  /// The earliest start, at `readyNs` or later, with `durationNs` > 0 idle.
  int64_t earliestStart(int64_t readyNs, int64_t durationNs) const;
  /// Takes [start, start + duration), which must be idle.
  void occupy(int64_t startNs, int64_t durationNs);
  /// End of the last occupied interval.
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
