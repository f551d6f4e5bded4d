//===- Windows.h - Memory that ranks share one-sidedly ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Each rank owns a window of counters and doubles. Any rank may read a window and add to it while the owner computes,
// as with the windows of MPI's one-sided communication. No rank has to answer requests of other ranks, so no
// coordinator is needed.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_WINDOWS_H
#define SLUICE_BARRIERS_WINDOWS_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice {

/// A count of something that a rank has done; it only grows.
enum class RankCounter : uint8_t {
  Met,    ///< Meetings that the rank has reached. At a meeting, each rank waits until all ranks have reached it.
  Pushed, ///< Steps of this rank whose gradients all ranks can read. Barriers compare these counters of the ranks.
  Summed, ///< Steps under a bulk barrier (BSP) whose gradients the rank has added up in its window.
};
inline constexpr size_t kNumRankCounters = 3;

/// One rank's access to all windows, for one thread at a time. `first` is the index, in the owner's window, of the
/// first double that is accessed; all accessed doubles must be within the window. After a failure, the windows must not
/// be used any more.
class Windows {
public:
  virtual ~Windows() = default;
  virtual int64_t rank() const = 0;
  virtual int64_t numRanks() const = 0;
  /// Replaces doubles, each atomically.
  virtual Status write(int64_t owner, int64_t first, std::span<const double> values) = 0;
  /// Adds to doubles, each atomically.
  virtual Status add(int64_t owner, int64_t first, std::span<const double> values) = 0;
  /// Reads doubles, each atomically.
  virtual Status read(int64_t owner, int64_t first, std::span<double> values) = 0;
  /// Adds one to this rank's own counter. A rank that sees the new count also sees all that this rank has written and
  /// added before.
  virtual Status advance(RankCounter counter) = 0;
  /// Reads a counter of rank `owner`. Fails if a rank has left, so a rank that waits for a count does not wait forever.
  virtual Expected<int64_t> count(int64_t owner, RankCounter counter) = 0;
};

/// The windows of ranks that are threads of one process, in memory that they share.
class LocalWindows {
public:
  /// Windows of `doubles` zeros each. Fails if the memory cannot be allocated.
  static Expected<std::unique_ptr<LocalWindows>> create(int64_t numRanks, int64_t doubles);
  virtual ~LocalWindows() = default;
  /// Valid as long as this object.
  virtual Windows &member(int64_t rank) = 0;
  /// From now on count() fails for all ranks, with the reason of the first rank that left. Any thread may call it.
  virtual void leave(int64_t rank, const std::string &reason) = 0;
};

} // namespace sluice

#endif // SLUICE_BARRIERS_WINDOWS_H
