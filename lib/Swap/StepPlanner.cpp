//===- StepPlanner.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The planner walks over the order once and keeps three invariants after each operator. Every tensor that a later
// operator or the caller needs is in at least one memory. Every address of an arena belongs to at most one live
// residency. Every command waits for the commands that must come before it: for the writer of what it reads, and for
// all users of the addresses that it overwrites. Streams run in order, so it is enough to remember the last user on
// each stream.
//
// Times in this walk are estimates, because copies do not share links here. They guide the placers. The simulator has
// the final times.
//
//===----------------------------------------------------------------------===//

#include "StepPlanner.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <iterator>
#include <utility>

using namespace sluice;
using namespace sluice::swap;

StepPlanner::StepPlanner(const ProblemIndex &index, const StepOptions &options) : index(index), options(options) {
  const SwapProblem &problem = index.problem;
  plan.placement = problem.placement;
  for (int64_t capacity : problem.capacityBytes)
    arenas.emplace_back(std::max<int64_t>(capacity - (arenas.empty() ? options.hostHomeBytes : 0), 0) /
                        kArenaAlignment * kArenaAlignment);
  liveCopies.assign(index.numMemories, 0);
  streamIds.assign(problem.machine.devices.size() * kNumStreamKinds, StreamId());
  auto addStream = [&](DeviceId device, StreamKind kind) {
    StreamId &id = streamIds[device.index() * kNumStreamKinds + size_t(kind)];
    if (id.valid())
      return;
    id = StreamId(plan.streams.size());
    plan.streams.push_back({device, kind});
  };
  std::vector<uint8_t> used(problem.machine.devices.size(), 0);
  for (DeviceId device : problem.placement)
    used[device.index()] = 1;
  for (DeviceId device : idsBelow<DeviceId>(used.size()))
    if (used[device.index()]) {
      addStream(device, StreamKind::Compute);
      if (problem.machine.device(device).memory != Machine::hostMemory()) {
        addStream(device, StreamKind::SwapIn);
        addStream(device, StreamKind::SwapOut);
        if (index.hasFiles()) {
          addStream(device, StreamKind::FileIn);
          addStream(device, StreamKind::FileOut);
        }
      }
    }
  for (OperatorId op : idsBelow<OperatorId>(problem.placement.size()))
    if (problem.graph.op(op).communicates)
      addStream(problem.placement[op.index()], StreamKind::Communicate);
  // Most operators take two commands or three. Memory that is reserved and not used costs nothing.
  const size_t likely = 3 * index.numPositions;
  commands.reserve(likely);
  endNs.reserve(likely);
  plan.residencies.reserve(2 * likely);
  info.reserve(2 * likely);
  touchPool.reserve(2 * likely);
  resident.assign(index.numSpots(), ResidencyId());
  cursor.assign(index.numSpots(), 0);
  remaining = index.totalUses;
  clockNs.assign(plan.streams.size(), 0);
  waited.assign(plan.streams.size() * plan.streams.size(), CommandId());
  waitFor.assign(plan.streams.size(), CommandId());
  wasEvicted.assign(index.bytes.size(), 0);
  fetchesLeft = options.fetches;
  std::span<const Tensor> tensors = problem.graph.tensors();
  if (std::any_of(tensors.begin(), tensors.end(), [](const Tensor &tensor) { return tensor.updates.valid(); }))
    order.emplace(plan.streams.size());
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

Position StepPlanner::nextUse(TensorId t, MemoryId memory) const {
  const SpotId spot = index.spot(t, memory);
  std::span<const Position> uses = index.uses(spot);
  if (cursor[spot.index()] < uses.size())
    return uses[cursor[spot.index()]];
  if (options.cyclicNextUse && !uses.empty() && index.isParameter(t))
    return Position(index.numPositions + uses.front().index());
  return kNever;
}

bool StepPlanner::residesElsewhere(TensorId t, MemoryId memory) const {
  for (MemoryId other : index.acceleratorMemories())
    if (other != memory && residentIn(t, other).valid())
      return true;
  return false;
}

int64_t StepPlanner::computeClockNs(Position position) const { return clockNs[streamOf(index.opAt(position)).index()]; }

int64_t StepPlanner::swapInClockNs(TensorId t, MemoryId memory) const {
  const StreamKind kind = tierOf(t) == Machine::hostMemory() ? StreamKind::SwapIn : StreamKind::FileIn;
  return clockNs[streamOf(index.swapDevice[memory.index()], kind).index()];
}

//===----------------------------------------------------------------------===//
// Commands and what they wait for
//===----------------------------------------------------------------------===//

ResidencyId StepPlanner::addResidency(Residency residency) {
  const ResidencyId id(plan.residencies.size());
  if (residency.tensor.valid())
    resident[index.spot(residency.tensor, residency.memory).index()] = id;
  plan.residencies.push_back(residency);
  Info &i = info.emplace_back();
  i.live = true;
  if (residency.tensor.valid() && index.isAccelerator(residency.memory)) {
    // A state that rests here between steps is in no other memory when the step begins.
    i.written =
        index.producers[residency.tensor.index()].valid() || (residency.initial && index.isResting(residency.tensor));
    i.nextUse = nextUse(residency.tensor, residency.memory);
    i.copyNs = copyInNs(residency.tensor, residency.memory);
    bound.arrives(index.spot(residency.tensor, residency.memory), residency.memory, i.copyNs);
  }
  return id;
}

void StepPlanner::touch(ResidencyId id, CommandId command) {
  Info &i = info[id.index()];
  i.lastTouchNs = std::max(i.lastTouchNs, endNs[command.index()]);
  const StreamId stream = commands.stream(command);
  for (TouchId at = i.touches; at.valid(); at = touchPool[at.index()].next)
    if (commands.stream(touchPool[at.index()].command) == stream) {
      touchPool[at.index()].command = command;
      return;
    }
  touchPool.push_back({command, i.touches});
  i.touches = TouchId(touchPool.size() - 1);
}

void StepPlanner::waitForCommand(CommandId command) {
  CommandId &latest = waitFor[commands.stream(command).index()];
  if (!latest.valid() || latest < command)
    latest = command;
}

void StepPlanner::waitForWriter(ResidencyId id) {
  if (info[id.index()].writer.valid())
    waitForCommand(info[id.index()].writer);
}

void StepPlanner::waitForTouches(ResidencyId id) {
  for (TouchId at = info[id.index()].touches; at.valid(); at = touchPool[at.index()].next)
    waitForCommand(touchPool[at.index()].command);
}

void StepPlanner::occupy(ResidencyId id, ExtentId hint) {
  const Residency &r = residency(id);
  displaced.clear();
  Info &i = info[id.index()];
  i.extent = arenas[r.memory.index()].occupy(r.offset, r.offset + r.bytes, id, displaced, hint);
  note(id);
  for (ResidencyId former : displaced)
    waitForTouches(former);
}

bool StepPlanner::isInCalendar(ResidencyId id) const {
  const Residency &r = residency(id);
  return r.tensor.valid() && index.isAccelerator(r.memory) && info[id.index()].extent.valid() &&
         r.offset >= calendarBases[r.memory.index()];
}

void StepPlanner::note(ResidencyId id) {
  const Info &i = info[id.index()];
  const size_t memory = residency(id).memory.index();
  if (i.extent.valid())
    liveCopies[memory] += i.copyNs;
  if (isInCalendar(id))
    calendars[memory].insert(i.extent, slotOf(i.nextUse));
}

void StepPlanner::forget(ResidencyId id) {
  const Info &i = info[id.index()];
  const size_t memory = residency(id).memory.index();
  if (i.extent.valid())
    liveCopies[memory] -= i.copyNs;
  if (isInCalendar(id))
    calendars[memory].erase(i.extent, slotOf(i.nextUse));
}

void StepPlanner::waitForFormerReaders(StreamId stream) {
  order->begin(stream);
  for (CommandId earlier : waitFor)
    if (earlier.valid())
      order->follow(earlier);
  for (ResidencyId id : writes) {
    const Residency &written = residency(id);
    const TensorId old =
        written.segment == Segment::Home ? index.problem.graph.tensor(written.tensor).updates : TensorId();
    const ResidencyId home = old.valid() ? residentIn(old, written.memory) : ResidencyId();
    if (!home.valid())
      continue;
    for (TouchId at = info[home.index()].touches; at.valid(); at = touchPool[at.index()].next) {
      const CommandId reader = touchPool[at.index()].command;
      if (order->follows(reader, commands.stream(reader)))
        continue;
      waitForCommand(reader);
      order->follow(reader);
    }
  }
}

CommandId StepPlanner::emit(StreamId own, OperatorId op, LinkId link, int64_t durationNs) {
  const CommandId id(commands.size());
  if (order) {
    waitForFormerReaders(own);
    order->end(id);
  }
  int64_t startNs = clockNs[own.index()];
  for (StreamId other : idsBelow<StreamId>(waitFor.size())) {
    const CommandId earlier = std::exchange(waitFor[other.index()], CommandId());
    if (!earlier.valid() || other == own)
      continue;
    startNs = std::max(startNs, endNs[earlier.index()]);
    // Streams run in order: the commands that an earlier command of this stream waited for are done.
    CommandId &known = waited[own.index() * waitFor.size() + other.index()];
    if (known.valid() && known >= earlier)
      continue;
    known = earlier;
    toWait.push_back(earlier);
  }
  commands.add(own, op, link, reads, writes, toWait);
  toWait.clear();
  clockNs[own.index()] = startNs + durationNs;
  if (op.valid())
    bound.meet(own, durationNs);
  endNs.push_back(clockNs[own.index()]);
  makespan = std::max(makespan, clockNs[own.index()]);
  for (ResidencyId r : reads)
    touch(r, id);
  for (ResidencyId r : writes) {
    info[r.index()].writer = id;
    touch(r, id);
  }
  return id;
}

void StepPlanner::emitCopy(ResidencyId from, ResidencyId to, LinkId link, StreamId stream) {
  const int64_t bytes = index.dataBytes[residency(from).tensor.index()];
  copiedBytes += bytes;
  const int64_t ns = transferTimeNs(index.problem.machine.link(link), residency(from).memory, bytes);
  reads.assign(1, from);
  writes.assign(1, to);
  emit(stream, OperatorId(), link, ns);
}

//===----------------------------------------------------------------------===//
// Coming and going
//===----------------------------------------------------------------------===//

void StepPlanner::release(ResidencyId id) {
  const Residency &r = residency(id);
  Info &i = info[id.index()];
  forget(id);
  if (i.extent.valid())
    arenas[r.memory.index()].vacate(i.extent);
  i.extent = ExtentId();
  i.live = false;
  if (!r.tensor.valid())
    return;
  const SpotId spot = index.spot(r.tensor, r.memory);
  resident[spot.index()] = ResidencyId();
  bound.leaves(spot, r.memory, i.copyNs, cursor[spot.index()] < index.uses(spot).size(), r.initial);
}

void StepPlanner::releaseIfDone(TensorId t, MemoryId memory) {
  const SpotId spot = index.spot(t, memory);
  const ResidencyId id = resident[spot.index()];
  if (!id.valid() || index.isParameter(t) || residency(id).segment == Segment::Home)
    return;
  const bool isReadHere = cursor[spot.index()] < index.uses(spot).size();
  const bool isDone = !index.isAccelerator(memory) ? remaining[t.index()] == 0 : !isReadHere && !mustSave(id);
  if (isDone)
    release(id);
}

Status StepPlanner::copyOut(ResidencyId from, Position position) {
  const Residency source = residency(from);
  const StreamId out = streamOf(index.swapDevice[source.memory.index()], StreamKind::SwapOut);
  waitForWriter(from);
  if (options.copyOutAfterLastUse)
    waitForTouches(from);
  int64_t readyNs = clockNs[out.index()];
  if (const CommandId writer = info[from.index()].writer; writer.valid())
    readyNs = std::max(readyNs, endNs[writer.index()]);
  if (const MemoryId tier = tierOf(source.tensor); tier != Machine::hostMemory())
    return copyToFile(from, tier, position);
  Expected<ResidencyId> to = makeHostResidency(source.tensor, position, readyNs);
  if (!to && index.mayBeInFile(source.tensor) && !index.hasHome[source.tensor.index()])
    return copyToFile(from, *index.files().begin(), position);
  if (!to)
    return propagate(to);
  emitCopy(from, *to, index.link(source.memory, Machine::hostMemory()), out);
  return {};
}

Status StepPlanner::evict(ResidencyId id, Position position) {
  const TensorId t = residency(id).tensor;
  if (info[id.index()].written && remaining[t.index()] > 0)
    wasEvicted[t.index()] = 1;
  if (mustSave(id))
    SLUICE_RETURN_IF_ERROR(copyOut(id, position));
  release(id);
  return {};
}

Status StepPlanner::evictRange(MemoryId memory, const Allocation &range, Position position) {
  const int64_t end = range.offset + range.reservedBytes;
  if (range.offset == end)
    return {};
  const AddressMap &arena = arenas[memory.index()];
  for (ExtentId id = arena.find(range.offset, range.extent); id.valid() && arena[id].offset < end; id = arena.next(id))
    if (live(arena[id].occupant))
      SLUICE_RETURN_IF_ERROR(evict(arena[id].occupant, position));
  return {};
}

Status StepPlanner::fetch(const Allocation &allocation, MemoryId memory, Position position, DeviceId device) {
  const TensorId t = allocation.tensor;
  ResidencyId source;
  for (MemoryId other : index.acceleratorMemories())
    if (!source.valid() && other != memory && index.link(other, memory).valid())
      source = residentIn(t, other);
  if (!source.valid())
    source = backingCopy(t);
  if (!source.valid()) {
    // Only a memory without a link to this one has the tensor: it goes by way of the host.
    for (MemoryId other : index.acceleratorMemories())
      if (!source.valid() && other != memory)
        source = residentIn(t, other);
    if (!source.valid())
      return makeError(ErrorCode::Internal, "tensor '", index.problem.graph.tensor(t).name,
                       "' is in no memory, this is a bug of Sluice, please report it");
    SLUICE_RETURN_IF_ERROR(copyOut(source, position));
    source = backingCopy(t);
  }
  const bool isInFile = index.problem.machine.isFile(residency(source).memory);
  if (isInFile) {
    SLUICE_ASSIGN_OR_RETURN(source, stageFromFile(source, memory, position, device));
  }
  const MemoryId from = residency(source).memory;
  waitForWriter(source);
  const ResidencyId to = addResidency({t, memory, Segment::Arena, allocation.offset, allocation.reservedBytes, false});
  occupy(to, allocation.extent);
  const bool isDirect = index.problem.machine.isFile(from);
  emitCopy(source, to, index.link(from, memory), streamOf(device, isDirect ? StreamKind::FileIn : StreamKind::SwapIn));
  const bool isLastFetch = !fetchesLeft.empty() && fetchesLeft[t.index()] > 0 && --fetchesLeft[t.index()] == 0;
  // What passed through the host's arena leaves it, and so does what is not evicted again.
  if ((isInFile && !isDirect) ||
      (isLastFetch && from == Machine::hostMemory() && residency(source).segment == Segment::Arena && live(source)))
    release(source);
  if (index.isAccelerator(from))
    releaseIfDone(t, from);
  return {};
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

void StepPlanner::finish(Position position, ResidencyId workspace) {
  const Operator &op = index.operatorAt(position);
  const MemoryId memory = index.memoryOf(position);
  if (workspace.valid())
    release(workspace);
  for (TensorId t : op.inputs) {
    ++cursor[index.spot(t, memory).index()];
    --remaining[t.index()];
    if (ResidencyId at = residentIn(t, memory); memory != Machine::hostMemory() && at.valid()) {
      Info &i = info[at.index()];
      forget(at);
      i.nextUse = nextUse(t, memory);
      note(at);
    }
  }
  for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs})
    for (TensorId t : *list) {
      if (remaining[t.index()] > 0) {
        releaseIfDone(t, memory);
        continue;
      }
      for (MemoryId other : index.memories())
        releaseIfDone(t, other);
    }
}

Status StepPlanner::runOnHost(Position position) {
  const Operator &op = index.operatorAt(position);
  const OperatorId id = index.opAt(position);
  const StreamId stream = streamOf(id);
  reads.clear();
  writes.clear();
  for (TensorId t : op.inputs) {
    const ResidencyId source = hostCopy(t);
    if (!source.valid())
      return makeError(ErrorCode::Internal, "tensor '", index.problem.graph.tensor(t).name,
                       "' is not on the host, this is a bug of Sluice, please report it");
    waitForWriter(source);
    reads.push_back(source);
  }
  for (TensorId t : op.outputs) {
    SLUICE_ASSIGN_OR_RETURN(ResidencyId made, makeHostResidency(t, position, clockNs[stream.index()]));
    writes.push_back(made);
  }
  ResidencyId workspace;
  if (op.workspaceBytes > 0) {
    SLUICE_ASSIGN_OR_RETURN(ResidencyId made, makeHostResidency(TensorId(), position, clockNs[stream.index()]));
    workspace = made;
    writes.push_back(workspace);
  }
  emit(stream, id, LinkId(), index.problem.costs.timeNs(id, index.problem.placement[id.index()]));
  finish(position, workspace);
  return {};
}

void StepPlanner::chooseInPlace(Position position) {
  const MemoryId memory = index.memoryOf(position);
  auto mayLose = [&](TensorId operand) {
    // An output that is still to be saved may not be lost.
    return !residesElsewhere(operand, memory) && !(options.lazyOutputs && index.hasHome[operand.index()]);
  };
  index.matchInPlace(position, mayLose, inPlaceOf);
}

void StepPlanner::makeRequest(Position position, bool worksInPlace) {
  const Operator &op = index.operatorAt(position);
  const MemoryId memory = index.memoryOf(position);
  request.position = position;
  request.memory = memory;
  request.allocations.clear();
  request.pinned.clear();
  request.evictions.clear();
  for (TensorId t : op.inputs)
    if (const ResidencyId at = residentIn(t, memory); at.valid())
      request.pinned.push_back(at);
    else
      request.allocations.push_back({t, index.bytes[t.index()], true, 0, 0});
  inPlaceOf.assign(op.outputs.size(), TensorId());
  if (worksInPlace || index.workingSets[position.index()] > arenas[memory.index()].capacityBytes())
    chooseInPlace(position);
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (index.isNewOfKept(op.outputs[i]))
      inPlaceOf[i] = index.problem.graph.tensor(op.outputs[i]).updates;
  for (size_t i = 0; i < op.outputs.size(); ++i)
    if (!inPlaceOf[i].valid())
      request.allocations.push_back({op.outputs[i], index.bytes[op.outputs[i].index()], false, 0, 0});
  if (op.workspaceBytes > 0)
    request.allocations.push_back({TensorId(), alignUp(op.workspaceBytes), false, 0, 0});
}

Status StepPlanner::makeRoom() {
  const Position position = request.position;
  const MemoryId memory = request.memory;
  // All evictions come first: an operand that moves is saved before another tensor takes its place.
  for (ResidencyId victim : request.evictions)
    if (live(victim))
      SLUICE_RETURN_IF_ERROR(evict(victim, position));
  for (const Allocation &allocation : request.allocations)
    SLUICE_RETURN_IF_ERROR(evictRange(memory, allocation, position));
  for (const Allocation &allocation : request.allocations) {
    if (!allocation.fetch)
      continue;
    if (const ResidencyId moved = residentIn(allocation.tensor, memory); moved.valid())
      SLUICE_RETURN_IF_ERROR(evict(moved, position));
  }
  const DeviceId device = index.problem.placement[index.opAt(position).index()];
  for (const Allocation &allocation : request.allocations)
    if (allocation.fetch)
      SLUICE_RETURN_IF_ERROR(fetch(allocation, memory, position, device));
  return {};
}

Status StepPlanner::launchOnAccelerator() {
  const Operator &op = index.operatorAt(request.position);
  const OperatorId id = index.opAt(request.position);
  const MemoryId memory = request.memory;
  reads.clear();
  writes.clear();
  ResidencyId workspace;
  for (const Allocation &allocation : request.allocations) {
    if (allocation.fetch)
      continue;
    const ResidencyId made =
        addResidency({allocation.tensor, memory, Segment::Arena, allocation.offset, allocation.reservedBytes, false});
    occupy(made, allocation.extent);
    writes.push_back(made);
    if (!allocation.tensor.valid())
      workspace = made;
  }
  for (TensorId t : op.inputs) {
    const ResidencyId at = residentIn(t, memory);
    waitForWriter(at);
    reads.push_back(at);
  }
  for (size_t i = 0; i < op.outputs.size(); ++i) {
    if (!inPlaceOf[i].valid())
      continue;
    const ResidencyId operand = residentIn(inPlaceOf[i], memory);
    const int64_t offset = residency(operand).offset;
    const ExtentId extent = info[operand.index()].extent;
    release(operand);
    // The bound takes the operator at hand for a later reader of the operand.
    bound.arrives(index.spot(inPlaceOf[i], memory), memory, info[operand.index()].copyNs);
    const TensorId made = op.outputs[i];
    const ResidencyId output = addResidency({made, memory, Segment::Arena, offset, index.bytes[made.index()], false});
    occupy(output, extent);
    writes.push_back(output);
  }
  // Placers may reorder allocations; the launch's contract is the operator's order.
  for (size_t i = 0; i < op.outputs.size(); ++i)
    writes[i] = residentIn(op.outputs[i], memory);
  if (workspace.valid())
    writes.back() = workspace;
  emit(streamOf(id), id, LinkId(), index.problem.costs.timeNs(id, index.problem.placement[id.index()]));

  for (TensorId t : op.outputs)
    if (leavesAtOnce(t)) {
      SLUICE_RETURN_IF_ERROR(copyOut(residentIn(t, memory), request.position));
      bound.meet(streamOf(index.swapDevice[memory.index()], StreamKind::SwapOut), copyOutNs(t, memory));
    }
  finish(request.position, workspace);
  return {};
}

bool StepPlanner::leavesAtOnce(TensorId t) const {
  if (index.pushToHost[t.index()] || (index.hasHome[t.index()] && !options.lazyOutputs))
    return true;
  return !options.saveEarly.empty() && options.saveEarly[t.index()] && index.totalUses[t.index()] > 0;
}

Status StepPlanner::runOnAccelerator(Position position, Placer &placer) {
  makeRequest(position, placer.worksInPlace());
  if (!request.allocations.empty() || placer.isAlwaysAsked())
    SLUICE_RETURN_IF_ERROR(placer.place(*this, request));
  SLUICE_RETURN_IF_ERROR(makeRoom());
  return launchOnAccelerator();
}

//===----------------------------------------------------------------------===//
// The step
//===----------------------------------------------------------------------===//

void StepPlanner::expectCommands(const std::vector<ResidentParameter> &initial) {
  const Graph &graph = index.problem.graph;
  bound = WalkBound(plan.streams.size(), index.numSpots(), index.numMemories);
  for (OperatorId op : idsBelow<OperatorId>(graph.numOperators()))
    bound.expect(streamOf(op), index.problem.costs.timeNs(op, index.problem.placement[op.index()]));
  // Where tensors come from files and go there, a copy may be two, on other streams.
  if (index.problem.machine.hasFiles())
    return;
  for (TensorId t : index.tensors()) {
    const Position produced = index.producedAt(t);
    const MemoryId memory = produced.valid() ? index.memoryOf(produced) : Machine::hostMemory();
    if (memory == Machine::hostMemory() || !leavesAtOnce(t))
      continue;
    const bool isForeseen = !index.pushToHost[t.index()] && !index.hasHome[t.index()];
    bound.expect(streamOf(index.swapDevice[memory.index()], StreamKind::SwapOut), copyOutNs(t, memory), isForeseen);
  }
  for (const ResidentParameter &parameter : initial)
    bound.startsWith(index.spot(parameter.tensor, parameter.memory));
  for (MemoryId memory : index.acceleratorMemories()) {
    size_t devices = 0;
    for (const Stream &stream : plan.streams)
      devices += stream.kind == StreamKind::SwapIn && index.problem.machine.device(stream.device).memory == memory;
    bool isLinked = false;
    for (MemoryId other : index.acceleratorMemories())
      isLinked |= index.link(other, memory).valid();
    if (devices != 1 || isLinked)
      continue;
    bound.fillBy(memory, streamOf(index.swapDevice[memory.index()], StreamKind::SwapIn));
    for (TensorId t : index.tensors())
      if (const SpotId spot = index.spot(t, memory);
          !index.producers[t.index()].valid() && !bound.startedWith(spot) && !index.uses(spot).empty())
        bound.startsWithout(spot, memory, copyInNs(t, memory));
  }
}

Status StepPlanner::run(const std::vector<ResidentParameter> &wanted, std::span<Placer *const> placers,
                        const WalkLimits &limits) {
  // The first step copies what is there in the beginning from its home, over one link.
  std::vector<ResidentParameter> initial;
  std::copy_if(wanted.begin(), wanted.end(), std::back_inserter(initial), [&](const ResidentParameter &parameter) {
    return index.link(tierOf(parameter.tensor), parameter.memory).valid();
  });
  expectCommands(initial);
  for (MemoryId memory : index.memories()) {
    const Placer *placer = index.isAccelerator(memory) ? placers[memory.index()] : nullptr;
    calendarBases.push_back(placer ? placer->calendarBase() : std::numeric_limits<int64_t>::max());
    const bool isRead = calendarBases.back() <= arenas[memory.index()].capacityBytes();
    calendars.emplace_back(isRead ? 2 * index.numPositions + 1 : 0);
  }
  initialParameters = initial;
  for (const ResidentParameter &parameter : initial) {
    const ResidencyId id = addResidency(
        {parameter.tensor, parameter.memory, Segment::Arena, parameter.offset, parameter.reservedBytes, true});
    occupy(id);
    initialResidencies.push_back(id);
  }
  for (ResidencyId id : initialResidencies) {
    const TensorId t = residency(id).tensor;
    if (index.isResting(t) && !options.saveEarly.empty() && options.saveEarly[t.index()])
      SLUICE_RETURN_IF_ERROR(copyOut(id, Position(0u)));
  }
  for (Position p : index.positions()) {
    const MemoryId memory = index.memoryOf(p);
    Status status = memory == Machine::hostMemory() ? runOnHost(p) : runOnAccelerator(p, *placers[memory.index()]);
    if (!status)
      return status;
    if (bound.exceeds(limits, clockNs, copiedBytes)) {
      isStopped = true;
      return {};
    }
  }
  SLUICE_RETURN_IF_ERROR(saveOutputs());
  SLUICE_RETURN_IF_ERROR(restore(initial));
  plan.arenaBytes.clear();
  for (const AddressMap &arena : arenas)
    plan.arenaBytes.push_back(arena.peakBytes());
  return {};
}

Status StepPlanner::saveOutputs() {
  if (!options.lazyOutputs)
    return {};
  for (TensorId t : index.tensors())
    for (MemoryId memory : index.acceleratorMemories()) {
      const ResidencyId at = residentIn(t, memory);
      if (!at.valid() || !mustSave(at))
        continue;
      SLUICE_RETURN_IF_ERROR(copyOut(at, index.lastPosition()));
      break;
    }
  return {};
}

Status StepPlanner::restore(const std::vector<ResidentParameter> &initial) {
  const Position end = index.lastPosition();
  for (const ResidentParameter &parameter : initial) {
    const MemoryId memory = parameter.memory;
    if (index.isKept(parameter.tensor) || index.isResting(parameter.tensor))
      continue;
    if (const ResidencyId at = residentIn(parameter.tensor, memory); at.valid()) {
      if (residency(at).offset == parameter.offset)
        continue;
      release(at);
    }
    // All but parameters are dead by now, and parameters are never saved.
    const Allocation allocation{parameter.tensor, index.bytes[parameter.tensor.index()], true, parameter.offset,
                                parameter.reservedBytes};
    SLUICE_RETURN_IF_ERROR(evictRange(memory, allocation, end));
    SLUICE_RETURN_IF_ERROR(fetch(allocation, memory, end, index.swapDevice[memory.index()]));
  }
  return {};
}

std::vector<ResidentParameter> StepPlanner::residentAtEnd() const {
  std::vector<ResidentParameter> parameters;
  for (const ResidentParameter &initial : initialParameters)
    if (index.isKept(initial.tensor))
      parameters.push_back(initial);
  for (ResidencyId id : idsBelow<ResidencyId>(plan.residencies.size())) {
    const Residency &r = residency(id);
    if (live(id) && r.segment == Segment::Arena && r.tensor.valid() && index.isParameter(r.tensor))
      parameters.push_back({r.tensor, r.memory, r.offset, r.bytes});
  }
  return parameters;
}

std::vector<ResidentParameter> StepPlanner::survivors() const {
  std::vector<ResidentParameter> parameters;
  for (size_t i = 0; i < initialParameters.size(); ++i)
    if (live(initialResidencies[i]) || index.isKept(initialParameters[i].tensor))
      parameters.push_back(initialParameters[i]);
  return parameters;
}
