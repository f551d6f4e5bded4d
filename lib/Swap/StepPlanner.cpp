//===- StepPlanner.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "StepPlanner.h"

#include "sluice/Support/Units.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

StepPlanner::StepPlanner(const ProblemIndex &index, const StepOptions &options) : index(index), options(options) {
  const SwapProblem &problem = index.problem;
  plan.placement = problem.placement;
  for (int64_t capacity : problem.capacityBytes)
    arenas.emplace_back(capacity / kArenaAlignment * kArenaAlignment);
  streamIds.assign(problem.machine.devices.size() * kNumStreamKinds, kNobody);
  auto addStream = [&](DeviceId device, StreamKind kind) {
    uint32_t &id = streamIds[device.index() * kNumStreamKinds + size_t(kind)];
    if (id != kNobody)
      return;
    id = static_cast<uint32_t>(plan.streams.size());
    plan.streams.push_back({device, kind});
  };
  std::vector<uint8_t> used(problem.machine.devices.size(), 0);
  for (DeviceId device : problem.placement)
    used[device.index()] = 1;
  for (uint32_t d = 0; d < used.size(); ++d)
    if (used[d]) {
      addStream(DeviceId(d), StreamKind::Compute);
      if (problem.machine.devices[d].memory != Machine::hostMemory()) {
        addStream(DeviceId(d), StreamKind::SwapIn);
        addStream(DeviceId(d), StreamKind::SwapOut);
      }
    }
  for (uint32_t i = 0; i < problem.placement.size(); ++i)
    if (problem.graph.op(OperatorId(i)).communicates)
      addStream(problem.placement[i], StreamKind::Communicate);
  size_t numSpots = index.bytes.size() * index.numMemories;
  resident.assign(numSpots, kNobody);
  cursor.assign(numSpots, 0);
  remaining = index.totalUses;
  clockNs.assign(plan.streams.size(), 0);
  waited.assign(plan.streams.size() * plan.streams.size(), kNobody);
  waitFor.assign(plan.streams.size(), kNobody);
  wasEvicted.assign(index.bytes.size(), 0);
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

uint32_t StepPlanner::nextUse(TensorId t, uint32_t memory) const {
  size_t spot = index.spot(t, memory);
  std::span<const uint32_t> uses = index.uses(spot);
  if (cursor[spot] < uses.size())
    return uses[cursor[spot]];
  if (options.cyclicNextUse && !uses.empty() && index.isParameter(t))
    return static_cast<uint32_t>(index.numPositions) + uses.front();
  return kNever;
}

bool StepPlanner::resideElsewhere(TensorId t, uint32_t memory) const {
  for (uint32_t m = 1; m < index.numMemories; ++m)
    if (m != memory && resident[index.spot(t, m)] != kNobody)
      return true;
  return false;
}

bool StepPlanner::isLastCopy(const Residency &r) const {
  bool needed = remaining[r.tensor.index()] > 0 || (options.lazyOutputs && index.hasHome[r.tensor.index()]);
  return needed && resident[index.spot(r.tensor, 0)] == kNobody && !resideElsewhere(r.tensor, r.memory.value);
}

int64_t StepPlanner::copyNs(LinkId link, int64_t bytes) const {
  return transferTimeNs(index.problem.machine.link(link), bytes);
}

int64_t StepPlanner::availableNs(uint32_t id) const {
  int64_t free = info[id].lastTouchNs;
  if (!info[id].live || !mustSave(id))
    return free;
  const Residency &r = plan.residencies[id];
  uint32_t out = streamOf(index.swapDevice[r.memory.index()], StreamKind::SwapOut);
  return std::max(free, clockNs[out]) + info[id].copyNs;
}

int64_t StepPlanner::computeClockNs(uint32_t position) const { return clockNs[streamOf(index.opAt(position))]; }

int64_t StepPlanner::swapInClockNs(uint32_t memory) const {
  return clockNs[streamOf(index.swapDevice[memory], StreamKind::SwapIn)];
}

//===----------------------------------------------------------------------===//
// Commands and what they wait for
//===----------------------------------------------------------------------===//

uint32_t StepPlanner::addResidency(Residency residency) {
  uint32_t id = static_cast<uint32_t>(plan.residencies.size());
  if (residency.tensor.valid())
    resident[index.spot(residency.tensor, residency.memory.value)] = id;
  plan.residencies.push_back(residency);
  Info &i = info.emplace_back();
  i.live = true;
  if (residency.tensor.valid() && residency.memory != Machine::hostMemory()) {
    i.written = index.problem.graph.tensor(residency.tensor).producer.valid();
    i.nextUse = nextUse(residency.tensor, residency.memory.value);
    i.copyNs = copyInNs(residency.tensor, residency.memory.value);
  }
  return id;
}

void StepPlanner::touch(uint32_t residency, uint32_t command) {
  Info &i = info[residency];
  i.lastTouchNs = std::max(i.lastTouchNs, endNs[command]);
  StreamId stream = plan.commands[command].stream;
  for (uint32_t at = i.touches; at != kNobody; at = touchPool[at].next)
    if (plan.commands[touchPool[at].command].stream == stream) {
      touchPool[at].command = command;
      return;
    }
  touchPool.push_back({command, i.touches});
  i.touches = static_cast<uint32_t>(touchPool.size() - 1);
}

void StepPlanner::waitForWriter(uint32_t residency) {
  uint32_t writer = info[residency].writer;
  if (writer == kNobody)
    return;
  uint32_t &latest = waitFor[plan.commands[writer].stream.index()];
  if (latest == kNobody || latest < writer)
    latest = writer;
}

void StepPlanner::waitForTouches(uint32_t residency) {
  for (uint32_t at = info[residency].touches; at != kNobody; at = touchPool[at].next) {
    uint32_t command = touchPool[at].command;
    uint32_t &latest = waitFor[plan.commands[command].stream.index()];
    if (latest == kNobody || latest < command)
      latest = command;
  }
}

void StepPlanner::occupy(uint32_t id) {
  const Residency &r = plan.residencies[id];
  displaced.clear();
  arenas[r.memory.index()].occupy(r.offset, r.offset + r.bytes, id, displaced);
  for (uint32_t former : displaced)
    waitForTouches(former);
}

uint32_t StepPlanner::emit(Command command, int64_t durationNs) {
  uint32_t id = static_cast<uint32_t>(plan.commands.size());
  uint32_t mine = command.stream.value;
  int64_t startNs = clockNs[mine];
  for (uint32_t other = 0; other < waitFor.size(); ++other) {
    uint32_t earlier = waitFor[other];
    waitFor[other] = kNobody;
    if (earlier == kNobody || other == mine)
      continue;
    startNs = std::max(startNs, endNs[earlier]);
    // Streams run in order: what an earlier command of ours waited for is done.
    uint32_t &known = waited[mine * waitFor.size() + other];
    if (known != kNobody && known >= earlier)
      continue;
    known = earlier;
    command.waits.push_back(CommandId(earlier));
  }
  clockNs[mine] = startNs + durationNs;
  endNs.push_back(clockNs[mine]);
  makespan = std::max(makespan, clockNs[mine]);
  plan.commands.push_back(std::move(command));
  for (ResidencyId r : plan.commands.back().reads)
    touch(r.value, id);
  for (ResidencyId r : plan.commands.back().writes) {
    info[r.index()].writer = id;
    touch(r.value, id);
  }
  return id;
}

void StepPlanner::emitCopy(uint32_t from, uint32_t to, LinkId link, uint32_t stream) {
  int64_t bytes = index.problem.graph.tensor(plan.residencies[from].tensor).bytes;
  copiedBytes += bytes;
  emit({CommandKind::Copy, StreamId(stream), OperatorId(), link, {ResidencyId(from)}, {ResidencyId(to)}, {}},
       copyNs(link, bytes));
}

//===----------------------------------------------------------------------===//
// The host's memory
//===----------------------------------------------------------------------===//

int64_t StepPlanner::hostOffset(TensorId t, uint32_t position, int64_t bytes, int64_t readyNs, bool &found) {
  found = true;
  if (bytes == 0)
    return 0;
  if (!options.hostOffsets.empty())
    return t.valid() ? options.hostOffsets[t.index()] : options.hostWorkspaceOffsets[position];
  // The smallest run of free extents that are free in time; else fresh memory;
  // else what is free soonest.
  const Arena &host = arenas[0];
  int64_t bestRun = 0, bestOffset = -1, soonest = 0, soonestOffset = -1;
  const std::vector<Extent> &extents = host.extents();
  for (size_t i = 0; i < extents.size();) {
    if (live(extents[i].occupant) || extents[i].offset >= host.peakBytes()) {
      ++i;
      continue;
    }
    size_t first = i;
    int64_t start = extents[i].offset, timelyStart = start;
    for (; i < extents.size() && !live(extents[i].occupant); ++i) {
      bool timely = extents[i].occupant == kNobody || info[extents[i].occupant].lastTouchNs <= readyNs;
      if (!timely || extents[i].offset >= host.peakBytes()) {
        timelyStart = extents[i].end;
        continue;
      }
      int64_t run = extents[i].end - timelyStart;
      if (run >= bytes && (bestOffset < 0 || run < bestRun)) {
        bestRun = run;
        bestOffset = timelyStart;
      }
    }
    if (extents[i - 1].end - start >= bytes) {
      int64_t latest = 0;
      for (size_t j = first; j < i && extents[j].offset < start + bytes; ++j)
        if (extents[j].occupant != kNobody)
          latest = std::max(latest, info[extents[j].occupant].lastTouchNs);
      if (soonestOffset < 0 || latest < soonest) {
        soonest = latest;
        soonestOffset = start;
      }
    }
  }
  if (bestOffset >= 0)
    return bestOffset;
  if (host.capacityBytes() - host.peakBytes() >= bytes)
    return host.peakBytes();
  found = soonestOffset >= 0;
  return soonestOffset;
}

Status StepPlanner::makeHostResidency(TensorId t, uint32_t position, int64_t readyNs, uint32_t &id) {
  if (t.valid() && index.hasHome[t.index()]) {
    bool initial = !index.problem.graph.tensor(t).producer.valid();
    id = addResidency({t, Machine::hostMemory(), Segment::Home, 0, index.problem.graph.tensor(t).bytes, initial});
    return {};
  }
  int64_t bytes = t.valid() ? index.bytes[t.index()] : alignUp(index.operatorAt(position).workspaceBytes);
  bool found = true;
  int64_t offset = hostOffset(t, position, bytes, readyNs, found);
  if (!found || offset + bytes > arenas[0].capacityBytes()) {
    int64_t live = 0;
    for (const Extent &extent : arenas[0].extents())
      if (this->live(extent.occupant))
        live += extent.end - extent.offset;
    int64_t capacity = arenas[0].capacityBytes();
    tl::unexpected<Error> error =
        makeError(ErrorCode::Infeasible, "operator '", index.operatorAt(position).name, "' needs ", formatBytes(bytes),
                  " more in memory '", index.problem.machine.memories[0].name, "' beside ", formatBytes(live),
                  " in use, the memory allows ", formatBytes(capacity), ", raise --memory ",
                  index.problem.machine.memories[0].name, " by at least ",
                  std::max<int64_t>(live + bytes - capacity, 1), " bytes");
    error.value().operators = {index.opAt(position).value};
    return error;
  }
  id = addResidency({t, Machine::hostMemory(), Segment::Arena, offset, bytes, false});
  occupy(id);
  return {};
}

uint32_t StepPlanner::hostCopy(TensorId t) {
  uint32_t id = resident[index.spot(t, 0)];
  if (id == kNobody && !index.problem.graph.tensor(t).producer.valid())
    // Homes take no arena: this cannot fail.
    (void)makeHostResidency(t, 0, 0, id);
  return id;
}

//===----------------------------------------------------------------------===//
// Coming and going
//===----------------------------------------------------------------------===//

void StepPlanner::release(uint32_t id) {
  const Residency &r = plan.residencies[id];
  info[id].live = false;
  if (r.tensor.valid())
    resident[index.spot(r.tensor, r.memory.value)] = kNobody;
}

void StepPlanner::releaseIfDone(TensorId t, uint32_t memory) {
  uint32_t id = resident[index.spot(t, memory)];
  if (id == kNobody || index.isParameter(t) || plan.residencies[id].segment == Segment::Home)
    return;
  size_t spot = index.spot(t, memory);
  bool readHere = cursor[spot] < index.uses(spot).size();
  if (memory == 0 ? remaining[t.index()] == 0 : !readHere && !mustSave(id))
    release(id);
}

Status StepPlanner::copyOut(uint32_t from, uint32_t position) {
  const Residency source = plan.residencies[from];
  uint32_t out = streamOf(index.swapDevice[source.memory.index()], StreamKind::SwapOut);
  waitForWriter(from);
  if (options.copyOutAfterLastUse)
    waitForTouches(from);
  int64_t readyNs = clockNs[out];
  if (info[from].writer != kNobody)
    readyNs = std::max(readyNs, endNs[info[from].writer]);
  uint32_t to = kNobody;
  if (Status status = makeHostResidency(source.tensor, position, readyNs, to); !status)
    return status;
  emitCopy(from, to, index.link(source.memory.value, 0), out);
  return {};
}

Status StepPlanner::evict(uint32_t id, uint32_t position) {
  if (info[id].written && remaining[plan.residencies[id].tensor.index()] > 0)
    wasEvicted[plan.residencies[id].tensor.index()] = 1;
  if (mustSave(id))
    if (Status status = copyOut(id, position); !status)
      return status;
  release(id);
  return {};
}

Status StepPlanner::evictRange(uint32_t memory, int64_t offset, int64_t end, uint32_t position) {
  if (offset == end)
    return {};
  const std::vector<Extent> &extents = arenas[memory].extents();
  for (size_t i = arenas[memory].find(offset); i < extents.size() && extents[i].offset < end; ++i)
    if (live(extents[i].occupant))
      if (Status status = evict(extents[i].occupant, position); !status)
        return status;
  return {};
}

Status StepPlanner::fetch(const Want &want, uint32_t memory, uint32_t position, DeviceId device) {
  TensorId t = want.tensor;
  uint32_t source = kNobody;
  for (uint32_t m = 1; m < index.numMemories && source == kNobody; ++m)
    if (m != memory && index.link(m, memory).valid())
      source = resident[index.spot(t, m)];
  if (source == kNobody)
    source = hostCopy(t);
  if (source == kNobody) {
    // Only in a memory without a link to this one: by way of the host.
    for (uint32_t m = 1; m < index.numMemories && source == kNobody; ++m)
      source = m == memory ? kNobody : resident[index.spot(t, m)];
    if (source == kNobody)
      return makeError(ErrorCode::Internal, "tensor '", index.problem.graph.tensor(t).name, "' is lost");
    if (Status status = copyOut(source, position); !status)
      return status;
    source = resident[index.spot(t, 0)];
  }
  uint32_t from = plan.residencies[source].memory.value;
  waitForWriter(source);
  uint32_t to = addResidency({t, MemoryId(memory), Segment::Arena, want.offset, want.takes, false});
  occupy(to);
  emitCopy(source, to, index.link(from, memory), streamOf(device, StreamKind::SwapIn));
  if (from != 0)
    releaseIfDone(t, from);
  return {};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void StepPlanner::finish(uint32_t position, uint32_t workspace) {
  const Operator &op = index.operatorAt(position);
  uint32_t memory = index.memoryAt[position];
  if (workspace != kNobody)
    release(workspace);
  for (TensorId t : op.inputs) {
    ++cursor[index.spot(t, memory)];
    --remaining[t.index()];
    if (uint32_t at = resident[index.spot(t, memory)]; memory != 0 && at != kNobody)
      info[at].nextUse = nextUse(t, memory);
  }
  for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs})
    for (TensorId t : *list) {
      if (remaining[t.index()] > 0) {
        releaseIfDone(t, memory);
        continue;
      }
      for (uint32_t m = 0; m < index.numMemories; ++m)
        releaseIfDone(t, m);
    }
}

Status StepPlanner::runOnHost(uint32_t position) {
  const Operator &op = index.operatorAt(position);
  OperatorId id = index.opAt(position);
  DeviceId device = index.problem.placement[id.index()];
  uint32_t stream = streamOf(id);
  Command launch{CommandKind::Launch, StreamId(stream), id, LinkId(), {}, {}, {}};
  for (TensorId t : op.inputs) {
    uint32_t source = hostCopy(t);
    if (source == kNobody)
      return makeError(ErrorCode::Internal, "tensor '", index.problem.graph.tensor(t).name, "' is not on the host");
    waitForWriter(source);
    launch.reads.push_back(ResidencyId(source));
  }
  uint32_t made = kNobody;
  for (TensorId t : op.outputs) {
    if (Status status = makeHostResidency(t, position, clockNs[stream], made); !status)
      return status;
    launch.writes.push_back(ResidencyId(made));
  }
  uint32_t workspace = kNobody;
  if (op.workspaceBytes > 0) {
    if (Status status = makeHostResidency(TensorId(), position, clockNs[stream], workspace); !status)
      return status;
    launch.writes.push_back(ResidencyId(workspace));
  }
  emit(std::move(launch), index.problem.costs.timeNs(id, device));
  finish(position, workspace);
  return {};
}

void StepPlanner::chooseInPlace(uint32_t position) {
  const uint32_t memory = index.memoryAt[position];
  auto mayLose = [&](TensorId operand) {
    // An output that is still to be saved may not be lost.
    return !resideElsewhere(operand, memory) && !(options.lazyOutputs && index.hasHome[operand.index()]);
  };
  index.matchInPlace(position, mayLose, inPlaceOf);
}

Status StepPlanner::runOnAccelerator(uint32_t position, Placer &placer) {
  const Operator &op = index.operatorAt(position);
  OperatorId id = index.opAt(position);
  DeviceId device = index.problem.placement[id.index()];
  uint32_t memory = index.memoryAt[position];

  request.position = position;
  request.memory = memory;
  request.wants.clear();
  request.pinned.clear();
  request.evictions.clear();
  for (TensorId t : op.inputs) {
    uint32_t at = resident[index.spot(t, memory)];
    if (at == kNobody)
      request.wants.push_back({t, index.bytes[t.index()], true, 0, 0});
    else
      request.pinned.push_back(at);
  }
  inPlaceOf.assign(op.outputs.size(), TensorId());
  if (placer.worksInPlace() || index.problem.graph.workingSetBytes(id) > arenas[memory].capacityBytes())
    chooseInPlace(position);
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (!inPlaceOf[i].valid())
      request.wants.push_back({op.outputs[i], index.bytes[op.outputs[i].index()], false, 0, 0});
  if (op.workspaceBytes > 0)
    request.wants.push_back({TensorId(), alignUp(op.workspaceBytes), false, 0, 0});
  if (!request.wants.empty())
    if (Status status = placer.place(*this, request); !status)
      return status;

  // All that leaves leaves first: a moved operand is saved before its place is
  // taken by another.
  for (uint32_t victim : request.evictions)
    if (live(victim))
      if (Status status = evict(victim, position); !status)
        return status;
  for (const Want &want : request.wants)
    if (Status status = evictRange(memory, want.offset, want.offset + want.takes, position); !status)
      return status;
  for (const Want &want : request.wants) {
    if (!want.fetch)
      continue;
    if (uint32_t moved = resident[index.spot(want.tensor, memory)]; moved != kNobody)
      if (Status status = evict(moved, position); !status)
        return status;
  }
  for (const Want &want : request.wants)
    if (want.fetch)
      if (Status status = fetch(want, memory, position, device); !status)
        return status;

  Command launch{CommandKind::Launch, StreamId(streamOf(id)), id, LinkId(), {}, {}, {}};
  uint32_t workspace = kNobody;
  for (const Want &want : request.wants) {
    if (want.fetch)
      continue;
    uint32_t made = addResidency({want.tensor, MemoryId(memory), Segment::Arena, want.offset, want.takes, false});
    occupy(made);
    launch.writes.push_back(ResidencyId(made));
    if (!want.tensor.valid())
      workspace = made;
  }
  for (TensorId t : op.inputs) {
    uint32_t at = resident[index.spot(t, memory)];
    waitForWriter(at);
    launch.reads.push_back(ResidencyId(at));
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (!inPlaceOf[i].valid())
      continue;
    uint32_t operand = resident[index.spot(inPlaceOf[i], memory)];
    const int64_t offset = plan.residencies[operand].offset;
    release(operand);
    TensorId made = op.outputs[i];
    uint32_t id = addResidency({made, MemoryId(memory), Segment::Arena, offset, index.bytes[made.index()], false});
    occupy(id);
    launch.writes.push_back(ResidencyId(id));
  }
  // Placers may reorder wants; the operator's order is the contract.
  for (size_t i = 0; i < op.outputs.size(); ++i)
    launch.writes[i] = ResidencyId(resident[index.spot(op.outputs[i], memory)]);
  if (workspace != kNobody)
    launch.writes.back() = ResidencyId(workspace);
  emit(std::move(launch), index.problem.costs.timeNs(id, device));

  auto leavesAtOnce = [&](TensorId t) {
    if (index.pushToHost[t.index()] || (index.hasHome[t.index()] && !options.lazyOutputs))
      return true;
    return !options.saveEarly.empty() && options.saveEarly[t.index()] && remaining[t.index()] > 0;
  };
  for (TensorId t : op.outputs)
    if (leavesAtOnce(t))
      if (Status status = copyOut(resident[index.spot(t, memory)], position); !status)
        return status;
  finish(position, workspace);
  return {};
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

Status StepPlanner::run(const std::vector<Kept> &initial, std::span<Placer *const> placers) {
  initialKept = initial;
  for (const Kept &kept : initial) {
    uint32_t id = addResidency({kept.tensor, MemoryId(kept.memory), Segment::Arena, kept.offset, kept.takes, true});
    occupy(id);
    initialResidencies.push_back(id);
  }
  for (uint32_t p = 0; p < index.numPositions; ++p) {
    uint32_t memory = index.memoryAt[p];
    Status status = memory == 0 ? runOnHost(p) : runOnAccelerator(p, *placers[memory]);
    if (!status)
      return status;
  }
  if (Status status = saveOutputs(); !status)
    return status;
  if (Status status = restore(initial); !status)
    return status;
  plan.arenaBytes.clear();
  for (const Arena &arena : arenas)
    plan.arenaBytes.push_back(arena.peakBytes());
  return {};
}

Status StepPlanner::saveOutputs() {
  for (uint32_t i = 0; options.lazyOutputs && i < index.bytes.size(); ++i)
    for (uint32_t m = 1; m < index.numMemories; ++m) {
      uint32_t at = resident[index.spot(TensorId(i), m)];
      if (at == kNobody || !mustSave(at))
        continue;
      if (Status status = copyOut(at, static_cast<uint32_t>(index.numPositions) - 1); !status)
        return status;
      break;
    }
  return {};
}

Status StepPlanner::restore(const std::vector<Kept> &initial) {
  uint32_t end = static_cast<uint32_t>(index.numPositions) - 1;
  auto inPlace = [&](const Kept &kept) {
    uint32_t at = resident[index.spot(kept.tensor, kept.memory)];
    return at != kNobody && plan.residencies[at].offset == kept.offset;
  };
  for (const Kept &kept : initial) {
    if (inPlace(kept))
      continue;
    if (uint32_t moved = resident[index.spot(kept.tensor, kept.memory)]; moved != kNobody)
      release(moved);
    // All but parameters are dead by now, and parameters are never saved.
    if (Status status = evictRange(kept.memory, kept.offset, kept.offset + kept.takes, end); !status)
      return status;
    Want want{kept.tensor, index.bytes[kept.tensor.index()], true, kept.offset, kept.takes};
    if (Status status = fetch(want, kept.memory, end, index.swapDevice[kept.memory]); !status)
      return status;
  }
  return {};
}

Plan StepPlanner::takePlan() { return std::move(plan); }

std::vector<Kept> StepPlanner::residentAtEnd() const {
  std::vector<Kept> kept;
  for (uint32_t id = 0; id < plan.residencies.size(); ++id) {
    const Residency &r = plan.residencies[id];
    if (info[id].live && r.segment == Segment::Arena && r.tensor.valid() && index.isParameter(r.tensor))
      kept.push_back({r.tensor, r.memory.value, r.offset, r.bytes});
  }
  return kept;
}

std::vector<Kept> StepPlanner::survivors() const {
  std::vector<Kept> kept;
  for (size_t i = 0; i < initialKept.size(); ++i)
    if (info[initialResidencies[i]].live)
      kept.push_back(initialKept[i]);
  return kept;
}
