//===- CriticalPath.cpp - What the makespan hangs on ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Simulator/Simulator.h"

#include <algorithm>

namespace sluice {

std::vector<CommandId> criticalPath(const Plan &plan, const Timeline &timeline) {
  std::vector<CommandId> before(plan.commands.size()), lastOnStream(plan.streams.size());
  auto endNs = [&](CommandId id) { return timeline.commands[id.index()].endNs; };
  CommandId last;
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const Command &command = plan.commands[i];
    before[i] = std::exchange(lastOnStream[command.stream.index()], CommandId(i));
    for (CommandId wait : command.waits)
      if (!before[i].valid() || endNs(wait) > endNs(before[i]))
        before[i] = wait;
    if (!last.valid() || timeline.commands[i].endNs > endNs(last))
      last = CommandId(i);
  }
  std::vector<CommandId> path;
  for (; last.valid(); last = before[last.index()])
    path.push_back(last);
  std::reverse(path.begin(), path.end());
  return path;
}

} // namespace sluice
