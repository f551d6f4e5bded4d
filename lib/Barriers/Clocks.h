//===- Clocks.h - Workers by the steps that they have done ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_BARRIERS_CLOCKS_H
#define SLUICE_LIB_BARRIERS_CLOCKS_H

#include "sluice/Support/Rng.h"

#include <cstdint>
#include <vector>

namespace sluice {

/// Workers sorted by their clocks. Workers with the same clock form a block. If the clock of a worker grows by one, the
/// worker moves to the end of its block, and the border of the block moves over it. This takes O(1).
class Clocks {
public:
  explicit Clocks(uint32_t workers);

  int64_t clock(uint32_t worker) const { return clocks[worker]; }
  /// Number of workers whose clock is `clock` or more.
  int64_t atLeast(int64_t clock) const {
    return clock <= 0                                   ? static_cast<int64_t>(order.size())
           : clock < static_cast<int64_t>(first.size()) ? static_cast<int64_t>(order.size()) - first[clock]
                                                        : 0;
  }
  /// The sum over all workers of the number of steps that a worker is below `clock`. O(log clock).
  int64_t lacking(int64_t clock) const;
  void advance(uint32_t worker);
  /// Appends `count` workers, drawn at random without replacement from the others whose clock is `clock` or more.
  void sampleOthers(uint32_t worker, int64_t clock, int64_t count, Rng &rng, std::vector<uint32_t> &sample);

private:
  int64_t arrived(int64_t clock) const;

  std::vector<int64_t> clocks;     ///< By worker.
  std::vector<uint32_t> order;     ///< Workers by ascending clock.
  std::vector<uint32_t> positions; ///< In `order`, by worker.
  std::vector<uint32_t> first;     ///< Per clock: the number of workers below it.
  /// A Fenwick tree over clocks from 1 on, of the number of workers that have reached each clock.
  std::vector<int64_t> sums;
  std::vector<uint32_t> stamps; ///< By position: the last sample that has drawn it.
  uint32_t stamp = 0;
};

} // namespace sluice

#endif // SLUICE_LIB_BARRIERS_CLOCKS_H
