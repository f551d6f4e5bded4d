//===- StepWalk.h - What a placement and an order do ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One walk over an order yields the copies and launches of planOfPlacement. The
// plan's builder takes them down; a timer only adds up when each would end,
// which is a hundred times faster than building and simulating a plan.
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
  std::vector<DeviceId> devices;       ///< That compute.
  std::vector<uint32_t> memoryOf;      ///< Per device.
  std::vector<LinkId> links;           ///< [from * numMemories + to]; invalid: none.
  std::vector<DeviceId> firstDeviceOf; ///< Per memory: the first that computes; or invalid.
  /// A timer's times are only lower bounds: two copies may share a link, or streams
  /// wait for each other's events.
  bool timesAreBounds = false;

  LinkId link(uint32_t from, uint32_t to) const { return links[from * numMemories + to]; }
  int64_t copyNs(LinkId id, uint32_t tensor) const {
    if (!copyTimes.empty())
      return copyTimes[tensor * machine.links.size() + id.index()];
    return transferTimeNs(machine.link(id), graph.tensor(TensorId(tensor)).bytes);
  }
  /// From memory to memory by the way that the walk takes, links unshared.
  int64_t moveNs(uint32_t from, uint32_t to, uint32_t tensor) const {
    if (from == to)
      return 0;
    if (LinkId direct = link(from, to); direct.valid())
      return copyNs(direct, tensor);
    return copyNs(link(from, 0), tensor) + copyNs(link(0, to), tensor);
  }
  int64_t timeNs(OperatorId op, DeviceId device) const { return problem.costs->timeNs(op, device); }

  using Range = std::span<const uint32_t>;
  /// Inputs that move: neither parameters nor states.
  Range inputs(OperatorId op) const { return rows(op.index(), inputStart, inputList); }
  Range predecessors(OperatorId op) const { return rows(op.index(), predecessorStart, predecessorList); }
  Range successors(OperatorId op) const { return rows(op.index(), successorStart, successorList); }
  /// Outputs that must be elsewhere too when the step ends: the step's outputs
  /// and new values of states.
  Range leaving(OperatorId op) const { return rows(op.index(), leavingStart, leavingList); }

private:
  static Range rows(size_t i, const std::vector<uint32_t> &start, const std::vector<uint32_t> &list) {
    return {list.data() + start[i], start[i + 1] - start[i]};
  }
  std::vector<uint32_t> inputStart, inputList, predecessorStart, predecessorList, successorStart, successorList,
      leavingStart, leavingList;
  std::vector<int64_t> copyTimes; ///< [tensor * links + link]; empty: too many.
};

/// Copies a tensor into a memory where `device` wants it, unless it is there. A
/// Sink says where tensors are and takes copies and launches down.
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

/// The walk's step. Predecessors come before.
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

/// When each command of the walk ends, links unshared and without event
/// latencies: exact unless StepIndex::timesAreBounds. Copies are cheap to make for small graphs.
class StepTimer {
public:
  explicit StepTimer(const StepIndex &index);
  void reset();
  /// Returns when the operator ends.
  int64_t append(OperatorId op, DeviceId device) {
    walkOperator(*index, op, device, *this);
    return endNs[op.index()];
  }
  /// Of a whole placement and order, or as far as it takes to pass `limitNs`.
  int64_t time(std::span<const DeviceId> placement, std::span<const OperatorId> order, int64_t limitNs);

  int64_t makespanNs() const { return lastNs; }
  int64_t operatorEndNs(OperatorId op) const { return endNs[op.index()]; }
  int64_t clockNs(DeviceId device, StreamKind kind) const { return clocks[device.index() * 3 + size_t(kind)]; }
  /// Negative: not there, nor on its way.
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
  std::vector<int64_t> endNs;    ///< Per operator.
  std::vector<DeviceId> placed;  ///< Per operator.
  int64_t lastNs = 0;
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_STEPWALK_H
