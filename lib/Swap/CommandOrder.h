//===- CommandOrder.h - What a plan's next command follows ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Happens-before by vector clocks while a plan is made, command by command.
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

  /// Begins the plan's next command: it follows those of its stream.
  void begin(StreamId stream) {
    own = stream;
    std::fill(clock.begin(), clock.end(), 0);
    if (last[own.index()].valid())
      follow(last[own.index()]);
  }
  /// The command begun follows `earlier` and all that `earlier` follows.
  void follow(CommandId earlier) {
    const uint32_t *theirs = clocks.data() + earlier.index() * clock.size();
    for (size_t s = 0; s < clock.size(); ++s)
      clock[s] = std::max(clock[s], theirs[s]);
  }
  bool follows(CommandId earlier, StreamId stream) const { return clock[stream.index()] > earlier.index(); }
  /// The command begun has this id, one more than the last that ended.
  void end(CommandId id) {
    clock[own.index()] = id.value + 1;
    clocks.insert(clocks.end(), clock.begin(), clock.end());
    last[own.index()] = id;
  }

private:
  StreamId own;
  std::vector<CommandId> last; ///< Per stream.
  /// Of the command begun, per stream: one more than the id of the last command that it follows there.
  std::vector<uint32_t> clock;
  std::vector<uint32_t> clocks; ///< [command * streams + stream]
};

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_COMMANDORDER_H
