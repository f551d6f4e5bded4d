//===- StepWalk.h - What a placement and an order do ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One walk over an order determines the copies and launches of planOfPlacement. The
// builder of plans records them. A timer only computes their ends, which is a hundred
// times faster than building and simulating a plan.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_STEPWALK_H
#define SLUICE_LIB_PLACEMENT_STEPWALK_H

#include "sluice/Placement/Placement.h"

#include <algorithm>

namespace sluice {

/// A problem in flat arrays. The problem outlives it.
struct StepIndex {
  explicit StepIndex(const PlacementProblem &problem);

  const PlacementProblem &problem;
  const Graph &graph;
  const Machine &machine;
  size_t numMemories = 0;
  std::vector<DeviceId> devices;       ///< The devices that compute.
  std::vector<uint32_t> memoryOf;      ///< For each device.
  std::vector<LinkId> links;           ///< [from * numMemories + to]. Invalid if there is no link.
  std::vector<DeviceId> firstDeviceOf; ///< For each memory: the first device that computes, or invalid.
  /// The times of a timer are only lower bounds, because two copies may share a link, or
  /// because streams wait for events of each other with a latency.
  bool timesAreBounds = false;

  LinkId link(uint32_t from, uint32_t to) const { return links[from * numMemories + to]; }
  int64_t copyNs(LinkId id, uint32_t tensor) const {
    if (!copyTimes.empty())
      return copyTimes[tensor * machine.links.size() + id.index()];
    return transferTimeNs(machine.link(id), graph.tensor(TensorId(tensor)).bytes);
  }
  /// The time from memory to memory on the route of the walk, with unshared links.
  int64_t moveNs(uint32_t from, uint32_t to, uint32_t tensor) const {
    if (from == to)
      return 0;
    if (LinkId direct = link(from, to); direct.valid())
      return copyNs(direct, tensor);
    return copyNs(link(from, 0), tensor) + copyNs(link(0, to), tensor);
  }
  int64_t timeNs(OperatorId op, DeviceId device) const { return problem.costs->timeNs(op, device); }

  using Range = std::span<const uint32_t>;
  /// The inputs that move, which are neither parameters nor states.
  Range inputs(OperatorId op) const { return rows(op.index(), inputStart, inputList); }
  Range predecessors(OperatorId op) const { return rows(op.index(), predecessorStart, predecessorList); }
  Range successors(OperatorId op) const { return rows(op.index(), successorStart, successorList); }
  /// Results that must also be elsewhere when the step ends: outputs of the step and new
  /// values of states.
  Range leaving(OperatorId op) const { return rows(op.index(), leavingStart, leavingList); }

private:
  static Range rows(size_t i, const std::vector<uint32_t> &start, const std::vector<uint32_t> &list) {
    return {list.data() + start[i], start[i + 1] - start[i]};
  }
  std::vector<uint32_t> inputStart, inputList, predecessorStart, predecessorList, successorStart, successorList,
      leavingStart, leavingList;
  std::vector<int64_t> copyTimes; ///< [tensor * links + link]. Empty if there are too many.
};

/// Copies a tensor into a memory in which `device` needs it, unless it is there. A Sink
/// knows the places of tensors and receives copies and launches.
template <typename Sink>
void bringTensor(const StepIndex &index, uint32_t tensor, uint32_t memory, DeviceId device, Sink &sink) {
  if (sink.resident(tensor, memory))
    return;
  const OperatorId producer = index.graph.tensor(TensorId(tensor)).producer;
  const DeviceId maker = producer.valid() ? sink.deviceOf(producer) : DeviceId();
  const uint32_t from = maker.valid() ? index.memoryOf[maker.index()] : 0;
  if (memory == 0) {
    sink.copy(tensor, from, 0, maker, StreamKind::SwapOut);
  } else if (from != 0 && index.link(from, memory).valid()) {
    sink.copy(tensor, from, memory, device, StreamKind::SwapIn);
  } else {
    bringTensor(index, tensor, 0, device, sink);
    sink.copy(tensor, 0, memory, device, StreamKind::SwapIn);
  }
}

/// One operator of the walk. Its predecessors come before it.
template <typename Sink>
void walkOperator(const StepIndex &index, OperatorId op, DeviceId device, Sink &sink) {
  const uint32_t memory = index.memoryOf[device.index()];
  for (uint32_t tensor : index.inputs(op))
    bringTensor(index, tensor, memory, device, sink);
  sink.launch(op, device);
  for (uint32_t tensor : index.leaving(op)) {
    const Tensor &value = index.graph.tensor(TensorId(tensor));
    if (value.isOutput)
      bringTensor(index, tensor, 0, device, sink);
    if (value.updates.valid())
      for (OperatorId reader : index.graph.tensor(value.updates).consumers)
        if (reader != op)
          bringTensor(index, tensor, index.memoryOf[sink.deviceOf(reader).index()], sink.deviceOf(reader), sink);
  }
}

/// Computes the end of each command of the walk, with unshared links and without event
/// latencies. The times are exact unless StepIndex::timesAreBounds. Copying a timer is cheap
/// for small graphs.
class StepTimer {
public:
  explicit StepTimer(const StepIndex &index);
  void reset();
  /// Returns the end of the operator.
  int64_t append(OperatorId op, DeviceId device) {
    walkOperator(*index, op, device, *this);
    return endNs[op.index()];
  }
  /// The makespan of a placement and order. Stops as soon as it exceeds `limitNs`.
  int64_t time(std::span<const DeviceId> placement, std::span<const OperatorId> order, int64_t limitNs);

  int64_t makespanNs() const { return lastNs; }
  int64_t operatorEndNs(OperatorId op) const { return endNs[op.index()]; }
  int64_t clockNs(DeviceId device, StreamKind kind) const { return clocks[device.index() * 3 + size_t(kind)]; }
  /// Negative if the tensor is neither in the memory nor on the way to it.
  int64_t arrivalNs(uint32_t tensor, uint32_t memory) const { return arrivals[tensor * index->numMemories + memory]; }

  // For the walk:
  bool resident(uint32_t tensor, uint32_t memory) const { return arrivalNs(tensor, memory) >= 0; }
  DeviceId deviceOf(OperatorId op) const { return placed[op.index()]; }
  void copy(uint32_t tensor, uint32_t from, uint32_t to, DeviceId device, StreamKind kind) {
    int64_t &clock = clocks[device.index() * 3 + size_t(kind)];
    clock = std::max(clock, arrivalNs(tensor, from)) + index->copyNs(index->link(from, to), tensor);
    arrivals[tensor * index->numMemories + to] = clock;
    lastNs = std::max(lastNs, clock);
  }
  void launch(OperatorId op, DeviceId device);

private:
  const StepIndex *index;
  std::vector<int64_t> clocks;   ///< [device * 3 + kind]
  std::vector<int64_t> arrivals; ///< [tensor * memories + memory]
  std::vector<int64_t> endNs;    ///< For each operator.
  std::vector<DeviceId> placed;  ///< For each operator.
  int64_t lastNs = 0;
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_STEPWALK_H
