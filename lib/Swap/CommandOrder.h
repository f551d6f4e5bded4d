//===- CommandOrder.h - What a plan's next command follows ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The happens-before relation by vector clocks, while a plan is made command by command.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_COMMANDORDER_H
#define SLUICE_LIB_SWAP_COMMANDORDER_H

#include "sluice/Plan/Plan.h"

#include <algorithm>
#include <vector>

namespace sluice::swap {

class CommandOrder {
public:
  explicit CommandOrder(size_t numStreams) : last(numStreams), clock(numStreams, 0) {}

  /// Begins the next command of the plan. It follows the earlier commands of its stream.
  void begin(StreamId stream) {
    own = stream;
    std::fill(clock.begin(), clock.end(), 0);
    if (last[own.index()].valid())
      follow(last[own.index()]);
  }
  /// The present command follows `earlier` and all commands that `earlier` follows.
  void follow(CommandId earlier) {
    const uint32_t *theirs = clocks.data() + earlier.index() * clock.size();
    for (size_t s = 0; s < clock.size(); ++s)
      clock[s] = std::max(clock[s], theirs[s]);
  }
  bool follows(CommandId earlier, StreamId stream) const { return clock[stream.index()] > earlier.index(); }
  /// Ends the present command, whose id is one more than that of the previous command.
  void end(CommandId id) {
    clock[own.index()] = id.value + 1;
    clocks.insert(clocks.end(), clock.begin(), clock.end());
    last[own.index()] = id;
  }

private:
  StreamId own;
  std::vector<CommandId> last; ///< For each stream.
  /// For each stream: one more than the id of the last command there that the present command follows.
  std::vector<uint32_t> clock;
  std::vector<uint32_t> clocks; ///< [command * streams + stream]
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_COMMANDORDER_H
