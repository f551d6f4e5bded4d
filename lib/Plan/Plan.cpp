//===- Plan.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Plan/Plan.h"

#include <algorithm>
#include <utility>

#include "sluice/Support/Units.h"

namespace sluice {

/// Sums the bytes of the copies for which `counts(source, destination)`.
template <typename Predicate>
static int64_t sumCopies(const Graph &graph, const Plan &plan, Predicate counts) {
  int64_t total = 0;
  for (const Command &command : plan.commands) {
    if (command.kind != CommandKind::Copy)
      continue;
    const Residency &source = plan.residencies[command.reads[0].index()];
    const Residency &destination = plan.residencies[command.writes[0].index()];
    if (counts(source.memory, destination.memory))
      total = saturatingAdd(total, graph.tensor(source.tensor).bytes);
  }
  return total;
}

int64_t Plan::bytesCopied(const Graph &graph) const {
  return sumCopies(graph, *this, [](MemoryId, MemoryId) { return true; });
}

int64_t Plan::bytesSwappedIn(const Graph &graph) const {
  return sumCopies(graph, *this, [](MemoryId from, MemoryId) { return from == Machine::hostMemory(); });
}

int64_t Plan::bytesSwappedOut(const Graph &graph) const {
  return sumCopies(graph, *this, [](MemoryId, MemoryId to) { return to == Machine::hostMemory(); });
}

int64_t Plan::bytesRead(const Graph &graph, const Machine &machine) const {
  return sumCopies(graph, *this, [&](MemoryId from, MemoryId) { return machine.isFile(from); });
}

int64_t Plan::bytesWritten(const Graph &graph, const Machine &machine) const {
  return sumCopies(graph, *this, [&](MemoryId, MemoryId to) { return machine.isFile(to); });
}

std::vector<int64_t> Plan::bytesUsed(const Graph &graph, const Machine &machine) const {
  std::vector<int64_t> used = arenaBytes;
  if (!machine.hasFiles())
    return used;
  std::vector<char> isCounted(graph.numTensors(), 0);
  for (const Residency &r : residencies) {
    if (r.segment != Segment::Home || r.memory != Machine::hostMemory())
      continue;
    // A state and its new value have one place.
    const TensorId old = graph.tensor(r.tensor).updates;
    if (!std::exchange(isCounted[(old.valid() ? old : r.tensor).index()], 1))
      used[0] = saturatingAdd(used[0], std::min(r.bytes, graph.tensor(r.tensor).homeBytes()));
  }
  return used;
}

std::vector<OperatorId> Plan::computedAgain() const {
  std::vector<char> launched(placement.size(), 0);
  std::vector<OperatorId> again;
  for (const Command &command : commands)
    if (command.kind == CommandKind::Launch && std::exchange(launched[command.op.index()], 1))
      again.push_back(command.op);
  return again;
}

} // namespace sluice
