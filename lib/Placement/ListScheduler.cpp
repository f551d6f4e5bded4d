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

Settler::Settler(const PlacementProblem &problem)
    : problem(problem), all(problem), use(problem), devices(problem.machine->computeDevices()) {
  for (size_t unit = 0; unit < all.device.size(); ++unit)
    if (all.device[unit].valid())
      for (OperatorId member : all.members[unit])
        use.add(member, all.device[unit]);
}

void Settler::settle(OperatorId op, DeviceId device) {
  const uint32_t unit = all.unitOf[op.index()];
  all.device[unit] = device;
  for (OperatorId member : all.members[unit])
    use.add(member, device);
}

tl::unexpected<Error> Settler::noRoom(OperatorId op) const {
  const std::vector<OperatorId> &unit = all.members[all.unitOf[op.index()]];
  DeviceId nearest = devices.front();
  for (DeviceId device : devices)
    if (use.excessWith(unit, device) < use.excessWith(unit, nearest))
      nearest = device;
  tl::unexpected<Error> error = makeError(
      ErrorCode::Infeasible, "operator '", problem.graph->op(op).name, "' does not fit, memory '",
      problem.machine->memory(problem.machine->device(nearest).memory).name, "' lacks ", use.excessWith(unit, nearest),
      " bytes in addition to the tensors that are placed there already, raise the capacity of this memory or use "
      "solver 'best'");
  error.value().operators = {op.value};
  return error;
}

ListScheduler::ListScheduler(const SolverInput &input, bool insertion, bool communication)
    : problem(input.problem), routes(input.routes), insertion(insertion), communication(communication),
      idle(problem.machine->devices.size()) {
  solution.placement.resize(problem.graph->numOperators());
  solution.intervals.resize(problem.graph->numOperators());
}

int64_t ListScheduler::readyNs(OperatorId op, DeviceId device) const {
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
  return ready;
}

Interval ListScheduler::fit(OperatorId op, DeviceId device, int64_t ready) const {
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

Status ListScheduler::placeWhereFirst(OperatorId op, Settler &settler) {
  if (!settler.deviceOf(op).valid()) {
    SLUICE_RETURN_IF_ERROR(settler.choose(op, [&](DeviceId device) { return tryPlace(op, device).endNs; }));
  }
  place(op, settler.deviceOf(op));
  return {};
}

ListSchedule ListScheduler::finish() && {
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
  return std::move(solution);
}

OperatorId writerAfter(const Graph &graph, OperatorId reader, TensorId input) {
  TensorId next = graph.tensor(input).updatedBy;
  OperatorId writer = next.valid() ? graph.tensor(next).producer : OperatorId();
  return writer.valid() && writer != reader ? writer : OperatorId();
}

double meanTimeNs(const SolverInput &input, OperatorId op) {
  double sum = 0;
  for (DeviceId device : input.index.devices)
    sum += static_cast<double>(input.index.timeNs(op, device));
  return sum / static_cast<double>(input.index.devices.size());
}

std::vector<double> upwardRanks(const SolverInput &input, bool communication) {
  const Graph &graph = *input.problem.graph;
  std::vector<double> ranks(graph.numOperators());
  for (size_t i = input.topological.size(); i-- > 0;) {
    OperatorId op = input.topological[i];
    double after = 0;
    for (TensorId output : graph.op(op).outputs) {
      const Tensor &tensor = graph.tensor(output);
      double move = communication ? input.routes.meanNs(tensor.bytes) : 0;
      for (OperatorId reader : tensor.consumers)
        after = std::max(after, move + ranks[reader.index()]);
      if (tensor.isOutput && communication)
        after = std::max(after, input.routes.meanHostNs(tensor.bytes));
    }
    for (TensorId read : graph.op(op).inputs)
      if (OperatorId writer = writerAfter(graph, op, read); writer.valid())
        after = std::max(after, ranks[writer.index()]);
    ranks[op.index()] = meanTimeNs(input, op) + after;
  }
  return ranks;
}

std::vector<OperatorId> byDescendingRank(std::span<const OperatorId> topological, std::span<const double> ranks) {
  std::vector<OperatorId> order(topological.begin(), topological.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](OperatorId a, OperatorId b) { return ranks[a.index()] > ranks[b.index()]; });
  return order;
}

ListSchedule scheduleAsHeft(const SolverInput &input, std::span<const DeviceId> placement) {
  ListScheduler scheduler(input, /*insertion=*/true);
  for (OperatorId op : byDescendingRank(input.topological, upwardRanks(input, /*communication=*/true)))
    scheduler.place(op, placement[op.index()]);
  return std::move(scheduler).finish();
}

ListSchedule scheduleUnits(const SolverInput &input, const Units &units) {
  std::vector<DeviceId> placement(units.unitOf.size());
  for (size_t i = 0; i < placement.size(); ++i)
    placement[i] = units.device[units.unitOf[i]];
  return scheduleAsHeft(input, placement);
}

} // namespace sluice
