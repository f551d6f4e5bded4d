//===- WalkBound.h - What a walk costs at least -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A lower bound of a walk's makespan while the walk is under way. The commands of a stream run one after the other, so
// a stream ends no sooner than its clock plus the times of the commands that it must still run. These are:
// - every operator that is not launched yet,
// - a copy in of every tensor that is read later and is elsewhere, and of every parameter that was there when the step
//   began and is not now,
// - a copy out of every tensor that leaves as soon as it is written.
//
// The walks after this one start with parameters that this walk never evicts. Therefore the copies that a walk without
// the evicted parameters needs give a bound for the later walks too.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_WALKBOUND_H
#define SLUICE_LIB_SWAP_WALKBOUND_H

#include "ProblemIndex.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace sluice::swap {

/// Makespan in nanoseconds, then bytes copied. Costs are compared in this order.
using WalkCost = std::pair<int64_t, int64_t>;
inline constexpr WalkCost kUnlimitedCost{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};

/// Limits above which a walk is useless, so that it may stop.
struct WalkLimits {
  /// A walk with at least this cost is not taken, and no walk follows it.
  WalkCost best = kUnlimitedCost;
  /// A walk that costs more is not taken. If another walk may follow, the limit applies only if that walk is known to
  /// cost more as well.
  WalkCost rival = kUnlimitedCost;
  bool isLast = false; ///< No walk follows this one.
};

/// Sums per stream and per spot. Fetches are counted for memories that one stream alone fills from the host.
class WalkBound {
public:
  WalkBound() = default;
  WalkBound(size_t numStreams, size_t numSpots, size_t numMemories)
      : dueNs(numStreams, 0), laterNs(numStreams, 0), missing(numSpots, 0), isInitial(numSpots, 0),
        fillingStream(numMemories) {}

  /// The memory's copies in all run on this stream and come from the host.
  void fillBy(MemoryId memory, StreamId stream) { fillingStream[memory.index()] = stream; }
  /// Every walk runs a command of this duration on the stream. `onlyThis`: only the current walk must run it.
  void expect(StreamId stream, int64_t ns, bool onlyThis = false) {
    dueNs[stream.index()] += ns;
    if (!onlyThis)
      laterNs[stream.index()] += ns;
  }
  /// A command that was expected has run.
  void meet(StreamId stream, int64_t ns) { dueNs[stream.index()] -= ns; }

  /// The parameter is in the memory when the step begins.
  void startsWith(SpotId spot) { isInitial[spot.index()] = 1; }
  bool startedWith(SpotId spot) const { return isInitial[spot.index()] != 0; }
  /// The step begins without the tensor in this memory, where an operator reads it.
  void startsWithout(SpotId spot, MemoryId memory, int64_t copyNs) {
    if (!fillingStream[memory.index()].valid())
      return;
    missing[spot.index()] = 1;
    expect(fillingStream[memory.index()], copyNs);
  }
  /// The tensor leaves the memory. `wasInitial`: its residency is the one that was there when the step began.
  void leaves(SpotId spot, MemoryId memory, int64_t copyNs, bool isReadLater, bool wasInitial) {
    const StreamId stream = fillingStream[memory.index()];
    if (!stream.valid() || (!isReadLater && !isInitial[spot.index()]))
      return;
    missing[spot.index()] = 1;
    dueNs[stream.index()] += copyNs;
    if (wasInitial)
      laterNs[stream.index()] += copyNs;
  }
  void arrives(SpotId spot, MemoryId memory, int64_t copyNs) {
    if (std::exchange(missing[spot.index()], 0))
      dueNs[fillingStream[memory.index()].index()] -= copyNs;
  }

  /// Whether the walk is useless, given the times until which its streams are busy and what it has copied.
  bool exceeds(const WalkLimits &limits, std::span<const int64_t> clockNs, int64_t copiedBytes) const {
    int64_t leastNs = 0, leastLaterNs = 0;
    for (size_t stream = 0; stream < dueNs.size(); ++stream) {
      leastNs = std::max(leastNs, clockNs[stream] + dueNs[stream]);
      leastLaterNs = std::max(leastLaterNs, laterNs[stream]);
    }
    const WalkCost least(leastNs, copiedBytes);
    if (least >= limits.best)
      return true;
    return least > limits.rival && (limits.isLast || leastLaterNs > limits.rival.first);
  }

private:
  std::vector<int64_t> dueNs;          ///< Per stream: the time of the commands that it must still run.
  std::vector<int64_t> laterNs;        ///< Per stream: the time of the commands that every later walk must run.
  std::vector<uint8_t> missing;        ///< Per spot: the tensor must be copied there again, which dueNs counts.
  std::vector<uint8_t> isInitial;      ///< Per spot.
  std::vector<StreamId> fillingStream; ///< Per memory; invalid where fetches are not counted.
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_WALKBOUND_H
