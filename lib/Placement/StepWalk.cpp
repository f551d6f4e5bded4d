//===- StepWalk.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

StepIndex::StepIndex(const PlacementProblem &problem)
    : problem(problem), graph(*problem.graph), machine(*problem.machine), numMemories(machine.memories.size()),
      devices(machine.computeDevices()) {
  for (const Device &device : machine.devices)
    memoryOf.push_back(device.memory.value);
  for (uint32_t a = 0; a < numMemories; ++a)
    for (uint32_t b = 0; b < numMemories; ++b)
      links.push_back(a == b ? LinkId() : machine.findLink(MemoryId(a), MemoryId(b)));
  firstDeviceOf.resize(numMemories);
  for (DeviceId device : devices) {
    DeviceId &first = firstDeviceOf[memoryOf[device.index()]];
    timesAreBounds |= first.valid() && memoryOf[device.index()] != 0;
    if (!first.valid())
      first = device;
  }
  for (const Link &link : machine.links)
    timesAreBounds |= link.duplexBytesPerSec < 2 * link.bytesPerSec || link.eventLatencyNs > 0;

  auto addRow = [](std::vector<uint32_t> &start, std::vector<uint32_t> &list, const auto &ids) {
    if (start.empty())
      start.push_back(0);
    for (const auto &id : ids)
      list.push_back(id.value);
    start.push_back(static_cast<uint32_t>(list.size()));
  };
  std::vector<TensorId> moving, leaves;
  for (uint32_t i = 0; i < graph.numOperators(); ++i) {
    const Operator &op = graph.op(OperatorId(i));
    moving.clear();
    leaves.clear();
    for (TensorId input : op.inputs)
      if (graph.tensor(input).producer.valid() || graph.tensor(input).kind == TensorKind::Input)
        moving.push_back(input);
    for (TensorId output : op.outputs)
      if (graph.tensor(output).isOutput || graph.tensor(output).updates.valid())
        leaves.push_back(output);
    addRow(inputStart, inputList, moving);
    addRow(leavingStart, leavingList, leaves);
    addRow(predecessorStart, predecessorList, graph.predecessors(OperatorId(i)));
    addRow(successorStart, successorList, graph.successors(OperatorId(i)));
  }
  constexpr size_t kMostCopyTimes = size_t(1) << 22;
  if (graph.numTensors() * machine.links.size() <= kMostCopyTimes)
    for (const Tensor &tensor : graph.tensors())
      for (const Link &link : machine.links)
        copyTimes.push_back(transferTimeNs(link, tensor.bytes));
}

StepTimer::StepTimer(const StepIndex &index)
    : index(&index), clocks(index.machine.devices.size() * 3), arrivals(index.graph.numTensors() * index.numMemories),
      endNs(index.graph.numOperators()), placed(index.graph.numOperators()) {
  reset();
}

void StepTimer::reset() {
  std::fill(clocks.begin(), clocks.end(), 0);
  std::fill(arrivals.begin(), arrivals.end(), -1);
  for (uint32_t t = 0; t < index->graph.numTensors(); ++t)
    if (index->graph.tensor(TensorId(t)).kind == TensorKind::Input)
      arrivals[t * index->numMemories] = 0;
  lastNs = 0;
}

int64_t StepTimer::time(std::span<const DeviceId> placement, std::span<const OperatorId> order, int64_t limitNs) {
  reset();
  for (OperatorId op : order) {
    append(op, placement[op.index()]);
    if (lastNs > limitNs)
      break;
  }
  return lastNs;
}

void StepTimer::launch(OperatorId op, DeviceId device) {
  const uint32_t memory = index->memoryOf[device.index()];
  int64_t &clock = clocks[device.index() * 3 + size_t(StreamKind::Compute)];
  int64_t start = clock;
  for (uint32_t tensor : index->inputs(op))
    start = std::max(start, arrivalNs(tensor, memory));
  const Operator &spec = index->graph.op(op);
  for (uint32_t tensor : index->leaving(op))
    if (TensorId state = index->graph.tensor(TensorId(tensor)).updates; state.valid())
      for (OperatorId reader : index->graph.tensor(state).consumers)
        if (reader != op)
          start = std::max(start, endNs[reader.index()]);
  clock = start + index->timeNs(op, device);
  endNs[op.index()] = clock;
  placed[op.index()] = device;
  lastNs = std::max(lastNs, clock);
  for (TensorId output : spec.outputs)
    arrivals[output.index() * index->numMemories + memory] = clock;
}

namespace {

/// Takes the walk down as a plan. Every tensor gets addresses of its own.
class PlanBuilder {
public:
  explicit PlanBuilder(const StepIndex &index)
      : index(index), where(index.graph.numTensors() * index.numMemories),
        writer(index.graph.numTensors() * index.numMemories), launched(index.graph.numOperators()),
        waited(index.machine.devices.size() * 3) {
    plan.placement.resize(index.graph.numOperators());
    plan.arenaBytes.assign(index.numMemories, 0);
    for (uint32_t d = 0; d < index.machine.devices.size(); ++d)
      for (StreamKind kind : {StreamKind::Compute, StreamKind::SwapIn, StreamKind::SwapOut})
        plan.streams.push_back({DeviceId(d), kind});
  }

  Plan take() && { return std::move(plan); }

  bool resident(uint32_t tensor, uint32_t memory) const {
    return where[spot(tensor, memory)].valid() || (memory == 0 && hasHomeNow(tensor));
  }
  DeviceId deviceOf(OperatorId op) const { return plan.placement[op.index()]; }

  void copy(uint32_t tensor, uint32_t from, uint32_t to, DeviceId device, StreamKind kind) {
    Command command{CommandKind::Copy,
                    stream(device, kind),
                    OperatorId(),
                    index.link(from, to),
                    {place(tensor, from)},
                    {create(tensor, to)},
                    {}};
    wait(writer[spot(tensor, from)]);
    emit(std::move(command));
    writer[spot(tensor, to)] = last();
  }

  void launch(OperatorId id, DeviceId device) {
    const Operator &op = index.graph.op(id);
    const uint32_t memory = index.memoryOf[device.index()];
    Command command{CommandKind::Launch, stream(device, StreamKind::Compute), id, LinkId(), {}, {}, {}};
    for (TensorId input : op.inputs) {
      command.reads.push_back(place(input.value, memory));
      wait(writer[spot(input.value, memory)]);
    }
    for (TensorId output : op.outputs) {
      command.writes.push_back(create(output.value, memory));
      if (TensorId state = index.graph.tensor(output).updates; state.valid())
        for (OperatorId reader : index.graph.tensor(state).consumers)
          if (reader != id)
            wait(launched[reader.index()]);
    }
    if (op.workspaceBytes > 0)
      command.writes.push_back(
          add({TensorId(), MemoryId(memory), Segment::Arena, 0, alignUp(op.workspaceBytes), false}));
    emit(std::move(command));
    plan.placement[id.index()] = device;
    launched[id.index()] = last();
    for (TensorId output : op.outputs)
      writer[spot(output.value, memory)] = last();
  }

private:
  size_t spot(uint32_t tensor, uint32_t memory) const { return tensor * index.numMemories + memory; }
  StreamId stream(DeviceId device, StreamKind kind) const { return StreamId(device.index() * 3 + size_t(kind)); }
  CommandId last() const { return CommandId(plan.commands.size() - 1); }
  bool hasHomeNow(uint32_t tensor) const { return !index.graph.tensor(TensorId(tensor)).producer.valid(); }

  ResidencyId add(Residency residency) {
    if (residency.segment == Segment::Arena) {
      int64_t &top = plan.arenaBytes[residency.memory.index()];
      residency.offset = top;
      top = saturatingAdd(top, residency.bytes);
    }
    plan.residencies.push_back(residency);
    return ResidencyId(plan.residencies.size() - 1);
  }

  /// Where a tensor is that is there, or was when the step began.
  ResidencyId place(uint32_t tensor, uint32_t memory) {
    ResidencyId &id = where[spot(tensor, memory)];
    if (!id.valid()) {
      const Segment segment = memory == 0 ? Segment::Home : Segment::Arena;
      const int64_t bytes = index.graph.tensor(TensorId(tensor)).bytes;
      id = add(
          {TensorId(tensor), MemoryId(memory), segment, 0, segment == Segment::Home ? bytes : alignUp(bytes), true});
    }
    return id;
  }

  ResidencyId create(uint32_t id, uint32_t memory) {
    const Tensor &tensor = index.graph.tensor(TensorId(id));
    Residency residency{TensorId(id), MemoryId(memory), Segment::Arena, 0, alignUp(tensor.bytes), false};
    // In place of the old value, wherever that is.
    const ResidencyId old = tensor.updates.valid() ? where[spot(tensor.updates.value, memory)] : ResidencyId();
    ResidencyId &made = where[spot(id, memory)];
    if (memory == 0 && (tensor.isOutput || tensor.updates.valid())) {
      made = add({TensorId(id), MemoryId(memory), Segment::Home, 0, tensor.bytes, false});
    } else if (old.valid()) {
      residency.offset = plan.residencies[old.index()].offset;
      made = ResidencyId(plan.residencies.size());
      plan.residencies.push_back(residency);
    } else {
      made = add(residency);
    }
    return made;
  }

  /// The next command waits for this one, the latest of its stream.
  void wait(CommandId earlier) {
    if (!earlier.valid())
      return;
    CommandId &latest = waited[plan.commands[earlier.index()].stream.index()];
    if (!latest.valid() || latest < earlier)
      latest = earlier;
  }

  void emit(Command command) {
    for (uint32_t s = 0; s < waited.size(); ++s) {
      if (waited[s].valid() && s != command.stream.value)
        command.waits.push_back(waited[s]);
      waited[s] = CommandId();
    }
    plan.commands.push_back(std::move(command));
  }

  const StepIndex &index;
  Plan plan;
  std::vector<ResidencyId> where;  ///< Per tensor and memory.
  std::vector<CommandId> writer;   ///< Per tensor and memory.
  std::vector<CommandId> launched; ///< Per operator.
  std::vector<CommandId> waited;   ///< Per stream, for the command being made.
};

} // namespace

Plan planOfPlacement(const StepIndex &index, std::span<const DeviceId> placement, std::span<const OperatorId> order) {
  PlanBuilder builder(index);
  for (OperatorId op : order)
    walkOperator(index, op, placement[op.index()], builder);
  return std::move(builder).take();
}

Plan planOfPlacement(const PlacementProblem &problem, std::span<const DeviceId> placement,
                     std::span<const OperatorId> order) {
  return planOfPlacement(StepIndex(problem), placement, order);
}

} // namespace sluice
