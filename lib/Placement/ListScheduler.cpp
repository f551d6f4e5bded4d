//===- ListScheduler.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace sluice {

Routes::Routes(const Machine &machine)
    : machine(machine), numMemories(machine.memories.size()), hops(numMemories * numMemories) {
  const MemoryId host = Machine::hostMemory();
  for (uint32_t a = 0; a < numMemories; ++a)
    for (uint32_t b = 0; b < numMemories; ++b) {
      if (a == b)
        continue;
      Hop &hop = hops[a * numMemories + b];
      hop.first = machine.findLink(MemoryId(a), MemoryId(b));
      if (!hop.first.valid())
        hop = {machine.findLink(MemoryId(a), host), machine.findLink(host, MemoryId(b))};
    }

  std::vector<DeviceId> devices = machine.computeDevices();
  auto accumulate = [&](MemoryId from, MemoryId to, double weight, double &latency, double &perByte) {
    for (LinkId id : {hop(from, to).first, hop(from, to).second})
      if (id.valid()) {
        latency += weight * static_cast<double>(machine.link(id).latencyNs);
        perByte += weight * 1e9 / machine.link(id).bytesPerSec;
      }
  };
  const double count = static_cast<double>(devices.size());
  for (DeviceId from : devices) {
    accumulate(machine.device(from).memory, host, 1 / count, meanHostLatencyNs, meanHostNsPerByte);
    for (DeviceId to : devices)
      if (from != to)
        accumulate(machine.device(from).memory, machine.device(to).memory, 1 / (count * (count - 1)), meanLatencyNs,
                   meanNsPerByte);
  }
}

int64_t Routes::timeNs(MemoryId from, MemoryId to, int64_t bytes) const {
  const Hop &route = hop(from, to);
  int64_t total = 0;
  for (LinkId id : {route.first, route.second})
    if (id.valid())
      total += transferTimeNs(machine.link(id), bytes);
  return total;
}

Units::Units(const PlacementProblem &problem) : unitOf(problem.graph->numOperators()) {
  std::map<int32_t, uint32_t> unitOfColour;
  for (uint32_t i = 0; i < unitOf.size(); ++i) {
    int32_t colour = problem.graph->op(OperatorId(i)).colocation;
    uint32_t unit = static_cast<uint32_t>(members.size());
    if (colour >= 0)
      unit = unitOfColour.emplace(colour, unit).first->second;
    if (unit == members.size()) {
      members.emplace_back();
      device.emplace_back();
    }
    unitOf[i] = unit;
    members[unit].push_back(OperatorId(i));
    if (!problem.pinned.empty() && problem.pinned[i].valid())
      device[unit] = problem.pinned[i];
  }
}

ListScheduler::ListScheduler(const PlacementProblem &problem, const Routes &routes, bool insertion, bool communication)
    : problem(problem), routes(routes), insertion(insertion), communication(communication),
      candidates(problem.machine->computeDevices()), idle(problem.machine->devices.size()) {
  solution.placement.resize(problem.graph->numOperators());
  solution.intervals.resize(problem.graph->numOperators());
}

Interval ListScheduler::tryPlace(OperatorId op, DeviceId device) const {
  const Graph &graph = *problem.graph;
  const MemoryId memory = problem.machine->device(device).memory;
  int64_t ready = 0;
  for (TensorId input : graph.op(op).inputs) {
    const Tensor &tensor = graph.tensor(input);
    if (tensor.producer.valid()) {
      int64_t end = solution.intervals[tensor.producer.index()].endNs;
      if (communication) {
        DeviceId from = solution.placement[tensor.producer.index()];
        end += routes.timeNs(problem.machine->device(from).memory, memory, tensor.bytes);
      }
      ready = std::max(ready, end);
    } else if (communication && tensor.kind == TensorKind::Input) {
      ready = std::max(ready, routes.timeNs(Machine::hostMemory(), memory, tensor.bytes));
    }
  }
  // A state is updated in place, once all have read it.
  for (TensorId output : graph.op(op).outputs)
    if (TensorId state = graph.tensor(output).updates; state.valid())
      for (OperatorId reader : graph.tensor(state).consumers)
        if (reader != op)
          ready = std::max(ready, solution.intervals[reader.index()].endNs);
  const IdleSlots &slots = idle[device.index()];
  int64_t duration = problem.costs->timeNs(op, device);
  int64_t start = insertion ? slots.earliestStart(ready, duration) : std::max(ready, slots.lastEnd());
  return {start, start + duration};
}

void ListScheduler::place(OperatorId op, DeviceId device) {
  Interval when = tryPlace(op, device);
  solution.placement[op.index()] = device;
  solution.intervals[op.index()] = when;
  idle[device.index()].occupy(when.startNs, when.endNs - when.startNs);
}

void ListScheduler::placeWhereFirst(OperatorId op, Units &units) {
  DeviceId &settled = units.device[units.unitOf[op.index()]];
  if (!settled.valid()) {
    int64_t bestEnd = 0;
    for (DeviceId device : candidates) {
      int64_t end = tryPlace(op, device).endNs;
      if (!settled.valid() || end < bestEnd) {
        settled = device;
        bestEnd = end;
      }
    }
  }
  place(op, settled);
}

PlacementSolution ListScheduler::finish(std::string solver) && {
  const Graph &graph = *problem.graph;
  for (const Interval &interval : solution.intervals)
    solution.makespanNs = std::max(solution.makespanNs, interval.endNs);
  if (communication)
    for (const Tensor &tensor : graph.tensors())
      if (tensor.isOutput && tensor.producer.valid()) {
        MemoryId from = problem.machine->device(solution.placement[tensor.producer.index()]).memory;
        int64_t home = solution.intervals[tensor.producer.index()].endNs +
                       routes.timeNs(from, Machine::hostMemory(), tensor.bytes);
        solution.makespanNs = std::max(solution.makespanNs, home);
      }
  // Durations are at least 1, so a start precedes those that depend on it.
  solution.order.resize(graph.numOperators());
  for (uint32_t i = 0; i < solution.order.size(); ++i)
    solution.order[i] = OperatorId(i);
  std::stable_sort(solution.order.begin(), solution.order.end(), [&](OperatorId a, OperatorId b) {
    return solution.intervals[a.index()].startNs < solution.intervals[b.index()].startNs;
  });
  solution.solver = std::move(solver);
  return std::move(solution);
}

OperatorId writerAfter(const Graph &graph, OperatorId reader, TensorId input) {
  TensorId next = graph.tensor(input).updatedBy;
  OperatorId writer = next.valid() ? graph.tensor(next).producer : OperatorId();
  return writer.valid() && writer != reader ? writer : OperatorId();
}

std::vector<double> upwardRanks(const PlacementProblem &problem, const Routes &routes,
                                std::span<const OperatorId> topological, bool communication) {
  const Graph &graph = *problem.graph;
  std::vector<DeviceId> devices = problem.machine->computeDevices();
  std::vector<double> ranks(graph.numOperators());
  for (size_t i = topological.size(); i-- > 0;) {
    OperatorId op = topological[i];
    double mean = 0;
    for (DeviceId device : devices)
      mean += static_cast<double>(problem.costs->timeNs(op, device));
    mean /= static_cast<double>(devices.size());
    double after = 0;
    for (TensorId output : graph.op(op).outputs) {
      const Tensor &tensor = graph.tensor(output);
      double move = communication ? routes.meanNs(tensor.bytes) : 0;
      for (OperatorId reader : tensor.consumers)
        after = std::max(after, move + ranks[reader.index()]);
      if (tensor.isOutput && communication)
        after = std::max(after, routes.meanHostNs(tensor.bytes));
    }
    for (TensorId input : graph.op(op).inputs)
      if (OperatorId writer = writerAfter(graph, op, input); writer.valid())
        after = std::max(after, ranks[writer.index()]);
    ranks[op.index()] = mean + after;
  }
  return ranks;
}

std::vector<OperatorId> byDescendingRank(std::span<const OperatorId> topological, std::span<const double> ranks) {
  std::vector<OperatorId> order(topological.begin(), topological.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](OperatorId a, OperatorId b) { return ranks[a.index()] > ranks[b.index()]; });
  return order;
}

} // namespace sluice
