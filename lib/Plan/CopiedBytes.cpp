//===- CopiedBytes.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Plan/CopiedBytes.h"

#include "sluice/Support/Units.h"

namespace sluice {

static int levelOf(const Machine &machine, MemoryId memory) {
  if (machine.isFile(memory))
    return 0;
  return memory == Machine::hostMemory() ? 1 : 2;
}

CopyDirection copyDirection(const Machine &machine, MemoryId from, MemoryId to) {
  const int source = levelOf(machine, from), target = levelOf(machine, to);
  if (source == target)
    return CopyDirection::Between;
  return source < target ? CopyDirection::In : CopyDirection::Out;
}

CopyDirection copyDirection(const Machine &machine, const Plan &plan, const Command &copy) {
  return copyDirection(machine, plan.residencies[copy.reads[0].index()].memory,
                       plan.residencies[copy.writes[0].index()].memory);
}

CopiedBytes copiedBytes(const Graph &graph, const Machine &machine, const Plan &plan) {
  CopiedBytes result;
  for (const Command &command : plan.commands) {
    if (command.kind != CommandKind::Copy)
      continue;
    const Residency &from = plan.residencies[command.reads[0].index()];
    const Residency &to = plan.residencies[command.writes[0].index()];
    const bool isRead = machine.isFile(from.memory), isWritten = machine.isFile(to.memory);
    const CopyDirection direction = copyDirection(machine, from.memory, to.memory);
    int64_t &bytes = direction == CopyDirection::Between ? result.between
                     : isRead                            ? result.read
                     : isWritten                         ? result.written
                     : direction == CopyDirection::In    ? result.in
                                                         : result.out;
    bytes = saturatingAdd(bytes, graph.tensor(from.tensor).bytes);
  }
  return result;
}

} // namespace sluice
