//===- BackingMemory.cpp - The host's memory and files -------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// This part of the step planner decides where tensors have their homes (the host's memory or a file), and where they go
// when an accelerator evicts them.
//
//===----------------------------------------------------------------------===//

#include "StepPlanner.h"

#include "sluice/Support/Units.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

int64_t StepPlanner::copyInOverTiersNs(TensorId t, MemoryId memory) const {
  const Machine &machine = index.problem.machine;
  const int64_t bytes = index.dataBytes[t.index()];
  auto hopNs = [&](MemoryId from, MemoryId to) {
    return transferTimeNs(machine.link(index.link(from, to)), from, bytes);
  };
  const MemoryId from = tierOf(t);
  if (index.link(from, memory).valid())
    return hopNs(from, memory);
  return saturatingAdd(hopNs(from, Machine::hostMemory()), hopNs(Machine::hostMemory(), memory));
}

int64_t StepPlanner::copyOutNs(TensorId t, MemoryId memory) const {
  const Link &link = index.problem.machine.link(index.link(memory, Machine::hostMemory()));
  return transferTimeNs(link, memory, index.dataBytes[t.index()]);
}

std::optional<int64_t> StepPlanner::hostOffset(TensorId t, Position position, int64_t bytes, int64_t readyNs) const {
  if (bytes == 0)
    return 0;
  if (!options.hostOffsets.empty())
    return t.valid() ? options.hostOffsets[t.index()] : options.hostWorkspaceOffsets[position.index()];
  return findRange(Machine::hostMemory(), bytes, readyNs);
}

std::optional<int64_t> StepPlanner::findRange(MemoryId memory, int64_t bytes, int64_t readyNs) const {
  if (bytes == 0)
    return 0;
  // The smallest run of free extents that are free in time; else fresh memory; else the run that is free soonest.
  const AddressMap &arena = arenas[memory.index()];
  const OffsetIndex &vacant = arena.vacant();
  std::optional<int64_t> best, soonest;
  int64_t bestRun = 0, soonestNs = 0;
  auto untilNs = [&](const Extent &extent) { return extent.occupant.valid() ? lastTouchNs(extent.occupant) : 0; };
  for (OffsetIndex::Cursor at = vacant.floor(0); vacant.valid(at) && vacant[at].offset < arena.peakBytes();) {
    const ExtentId first = vacant[at].extent;
    const int64_t start = arena[first].offset;
    int64_t timelyStart = start, end = start;
    for (; vacant.valid(at) && vacant[at].offset == end; at = vacant.next(at)) {
      const Extent &extent = arena[vacant[at].extent];
      end = extent.end;
      const bool isTimely = !extent.occupant.valid() || lastTouchNs(extent.occupant) <= readyNs;
      if (!isTimely || extent.offset >= arena.peakBytes()) {
        timelyStart = end;
        continue;
      }
      const int64_t run = end - timelyStart;
      if (run >= bytes && (!best || run < bestRun)) {
        bestRun = run;
        best = timelyStart;
      }
    }
    if (end - start >= bytes) {
      int64_t latestNs = 0;
      for (ExtentId id = first; id.valid() && arena[id].offset < start + bytes; id = arena.next(id))
        latestNs = std::max(latestNs, untilNs(arena[id]));
      if (!soonest || latestNs < soonestNs) {
        soonestNs = latestNs;
        soonest = start;
      }
    }
  }
  if (best)
    return best;
  if (arena.capacityBytes() - arena.peakBytes() >= bytes)
    return arena.peakBytes();
  return soonest;
}

ResidencyId StepPlanner::makeHome(TensorId t) {
  return addResidency(
      {t, tierOf(t), Segment::Home, 0, index.dataBytes[t.index()], !index.producers[t.index()].valid()});
}

Expected<ResidencyId> StepPlanner::makeHostResidency(TensorId t, Position position, int64_t readyNs) {
  if (t.valid() && index.hasHome[t.index()])
    return makeHome(t);
  return makeArenaResidency(t, Machine::hostMemory(), position, readyNs);
}

Expected<ResidencyId> StepPlanner::makeArenaResidency(TensorId t, MemoryId memory, Position position, int64_t readyNs) {
  const AddressMap &arena = arenas[memory.index()];
  const int64_t bytes = t.valid() ? index.bytes[t.index()] : alignUp(index.operatorAt(position).workspaceBytes);
  const int64_t capacity = arena.capacityBytes();
  const std::optional<int64_t> offset =
      memory == Machine::hostMemory() ? hostOffset(t, position, bytes, readyNs) : findRange(memory, bytes, readyNs);
  if (!offset || *offset + bytes > capacity) {
    int64_t liveBytes = 0;
    for (ExtentId id = arena.front(); id.valid(); id = arena.next(id))
      if (live(arena[id].occupant))
        liveBytes += arena[id].end - arena[id].offset;
    const std::string &name = index.problem.machine.memory(memory).name;
    tl::unexpected<Error> error =
        makeError(ErrorCode::Infeasible, "operator '", index.operatorAt(position).name, "' needs ", formatBytes(bytes),
                  " in memory '", name, "' in addition to ", formatBytes(liveBytes), " in use, and the limit is ",
                  formatBytes(capacity), ", raise --memory ", name, " by at least ",
                  std::max<int64_t>(liveBytes + bytes - capacity, 1), " bytes");
    error.value().operators = {index.opAt(position).value};
    return error;
  }
  const ResidencyId id = addResidency({t, memory, Segment::Arena, *offset, bytes, false});
  occupy(id);
  return id;
}

ResidencyId StepPlanner::hostCopy(TensorId t) {
  const ResidencyId id = residentIn(t, Machine::hostMemory());
  // A tensor that no operator makes has a home.
  return id.valid() || index.producers[t.index()].valid() ? id : makeHome(t);
}

ResidencyId StepPlanner::backingCopy(TensorId t) {
  if (const ResidencyId id = residentIn(t, Machine::hostMemory()); id.valid())
    return id;
  for (MemoryId file : index.files())
    if (const ResidencyId id = residentIn(t, file); id.valid())
      return id;
  return hostCopy(t);
}

Status StepPlanner::copyToFile(ResidencyId from, MemoryId file, Position position) {
  const TensorId t = residency(from).tensor;
  const DeviceId device = index.swapDevice[residency(from).memory.index()];
  const StreamId out = streamOf(device, StreamKind::FileOut);
  LinkId link = index.link(residency(from).memory, file);
  ResidencyId staged;
  if (!link.valid()) {
    const StreamId toHost = streamOf(device, StreamKind::SwapOut);
    SLUICE_ASSIGN_OR_RETURN(staged, makeArenaResidency(t, Machine::hostMemory(), position, clockNs[toHost.index()]));
    emitCopy(from, staged, index.link(residency(from).memory, Machine::hostMemory()), toHost);
    waitForWriter(staged);
    from = staged;
    link = index.link(Machine::hostMemory(), file);
  }
  ResidencyId to;
  if (index.hasHome[t.index()]) {
    to = makeHome(t);
  } else {
    SLUICE_ASSIGN_OR_RETURN(to, makeArenaResidency(t, file, position, clockNs[out.index()]));
  }
  emitCopy(from, to, link, out);
  if (staged.valid())
    release(staged);
  return {};
}

Expected<ResidencyId> StepPlanner::stageFromFile(ResidencyId source, MemoryId memory, Position position,
                                                 DeviceId device) {
  const MemoryId file = residency(source).memory;
  if (index.link(file, memory).valid())
    return source;
  const StreamId in = streamOf(device, StreamKind::FileIn);
  waitForWriter(source);
  SLUICE_ASSIGN_OR_RETURN(ResidencyId staged, makeArenaResidency(residency(source).tensor, Machine::hostMemory(),
                                                                 position, clockNs[in.index()]));
  emitCopy(source, staged, index.link(file, Machine::hostMemory()), in);
  return staged;
}
