//===- Solvers.cpp - List heuristics and baselines ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include <algorithm>
#include <queue>

namespace sluice {

Expected<PlacementSolution> placeHeft(const PlacementProblem &problem, const Routes &routes,
                                      std::span<const OperatorId> topological) {
  Units units(problem);
  ListScheduler scheduler(problem, routes, /*insertion=*/true);
  std::vector<double> ranks = upwardRanks(problem, routes, topological, /*communication=*/true);
  for (OperatorId op : byDescendingRank(topological, ranks))
    scheduler.placeWhereFirst(op, units);
  return std::move(scheduler).finish("heft");
}

/// Times a placement as HEFT would order it.
static PlacementSolution scheduleUnits(const PlacementProblem &problem, const Routes &routes,
                                       std::span<const OperatorId> topological, const Units &units,
                                       std::string solver) {
  ListScheduler scheduler(problem, routes, /*insertion=*/true);
  std::vector<double> ranks = upwardRanks(problem, routes, topological, /*communication=*/true);
  for (OperatorId op : byDescendingRank(topological, ranks))
    scheduler.place(op, units.device[units.unitOf[op.index()]]);
  return std::move(scheduler).finish(std::move(solver));
}

Expected<PlacementSolution> placeHeftNoComm(const PlacementProblem &problem, const Routes &routes,
                                            std::span<const OperatorId> topological) {
  Units units(problem);
  ListScheduler blind(problem, routes, /*insertion=*/false, /*communication=*/false);
  std::vector<double> ranks = upwardRanks(problem, routes, topological, /*communication=*/false);
  std::vector<OperatorId> order = byDescendingRank(topological, ranks);
  for (OperatorId op : order)
    blind.placeWhereFirst(op, units);
  ListScheduler timed(problem, routes, /*insertion=*/false);
  for (OperatorId op : order)
    timed.place(op, units.device[units.unitOf[op.index()]]);
  return std::move(timed).finish("heft-no-comm");
}

/// Longest mean path from an entry to the start of each operator.
static std::vector<double> downwardRanks(const PlacementProblem &problem, const Routes &routes,
                                         std::span<const OperatorId> topological) {
  const Graph &graph = *problem.graph;
  std::vector<DeviceId> devices = problem.machine->computeDevices();
  std::vector<double> ranks(graph.numOperators());
  for (OperatorId op : topological) {
    for (TensorId input : graph.op(op).inputs)
      if (graph.tensor(input).kind == TensorKind::Input)
        ranks[op.index()] = std::max(ranks[op.index()], routes.meanHostNs(graph.tensor(input).bytes));
    double mean = 0;
    for (DeviceId device : devices)
      mean += static_cast<double>(problem.costs->timeNs(op, device));
    double end = ranks[op.index()] + mean / static_cast<double>(devices.size());
    for (TensorId output : graph.op(op).outputs) {
      double arrival = end + routes.meanNs(graph.tensor(output).bytes);
      for (OperatorId reader : graph.tensor(output).consumers)
        ranks[reader.index()] = std::max(ranks[reader.index()], arrival);
    }
    for (TensorId input : graph.op(op).inputs)
      if (OperatorId writer = writerAfter(graph, op, input); writer.valid())
        ranks[writer.index()] = std::max(ranks[writer.index()], end);
  }
  return ranks;
}

Expected<PlacementSolution> placeCpop(const PlacementProblem &problem, const Routes &routes,
                                      std::span<const OperatorId> topological) {
  const Graph &graph = *problem.graph;
  std::vector<double> priority = upwardRanks(problem, routes, topological, /*communication=*/true);
  std::vector<double> down = downwardRanks(problem, routes, topological);
  for (size_t i = 0; i < priority.size(); ++i)
    priority[i] += down[i];

  // One critical path: from the entry of highest priority, always on to the
  // successor of highest priority.
  std::vector<uint32_t> missing(graph.numOperators());
  OperatorId head;
  for (OperatorId op : topological) {
    missing[op.index()] = static_cast<uint32_t>(graph.predecessors(op).size());
    if (missing[op.index()] == 0 && (!head.valid() || priority[op.index()] > priority[head.index()]))
      head = op;
  }
  std::vector<OperatorId> path;
  for (OperatorId op = head; op.valid();) {
    path.push_back(op);
    OperatorId next;
    for (OperatorId successor : graph.successors(op))
      if (!next.valid() || priority[successor.index()] > priority[next.index()])
        next = successor;
    op = next;
  }
  DeviceId pathDevice;
  int64_t pathTime = 0;
  for (DeviceId device : problem.machine->computeDevices()) {
    int64_t time = 0;
    for (OperatorId op : path)
      time += problem.costs->timeNs(op, device);
    if (!pathDevice.valid() || time < pathTime) {
      pathDevice = device;
      pathTime = time;
    }
  }
  Units units(problem);
  for (OperatorId op : path) {
    DeviceId &device = units.device[units.unitOf[op.index()]];
    if (!device.valid())
      device = pathDevice;
  }

  ListScheduler scheduler(problem, routes, /*insertion=*/true);
  auto less = [&](OperatorId a, OperatorId b) {
    return std::pair(priority[a.index()], b) < std::pair(priority[b.index()], a);
  };
  std::priority_queue<OperatorId, std::vector<OperatorId>, decltype(less)> ready(less);
  for (OperatorId op : topological)
    if (missing[op.index()] == 0)
      ready.push(op);
  while (!ready.empty()) {
    OperatorId op = ready.top();
    ready.pop();
    scheduler.placeWhereFirst(op, units);
    for (OperatorId successor : graph.successors(op))
      if (--missing[successor.index()] == 0)
        ready.push(successor);
  }
  return std::move(scheduler).finish("cpop");
}

/// Total time of some operators on a device.
static int64_t sumNs(const PlacementProblem &problem, std::span<const OperatorId> ops, DeviceId device) {
  int64_t total = 0;
  for (OperatorId op : ops)
    total += problem.costs->timeNs(op, device);
  return total;
}

/// The device with the least total time of some operators; the first such.
static DeviceId fastestFor(const PlacementProblem &problem, std::span<const OperatorId> ops) {
  std::vector<DeviceId> devices = problem.machine->computeDevices();
  return *std::min_element(devices.begin(), devices.end(),
                           [&](DeviceId a, DeviceId b) { return sumNs(problem, ops, a) < sumNs(problem, ops, b); });
}

Expected<PlacementSolution> placeSingleDevice(const PlacementProblem &problem, const Routes &routes,
                                              std::span<const OperatorId> topological) {
  Units units(problem);
  DeviceId only = fastestFor(problem, topological);
  for (DeviceId &device : units.device)
    if (!device.valid())
      device = only;
  return scheduleUnits(problem, routes, topological, units, "single-device");
}

Expected<PlacementSolution> placeFastestNode(const PlacementProblem &problem, const Routes &routes,
                                             std::span<const OperatorId> topological) {
  Units units(problem);
  for (size_t unit = 0; unit < units.device.size(); ++unit)
    if (!units.device[unit].valid())
      units.device[unit] = fastestFor(problem, units.members[unit]);
  return scheduleUnits(problem, routes, topological, units, "fastest-node");
}

Expected<PlacementSolution> placeRoundRobin(const PlacementProblem &problem, const Routes &routes,
                                            std::span<const OperatorId> topological) {
  Units units(problem);
  std::vector<DeviceId> devices = problem.machine->computeDevices();
  size_t turn = 0;
  for (OperatorId op : topological) {
    DeviceId &device = units.device[units.unitOf[op.index()]];
    if (!device.valid())
      device = devices[turn++ % devices.size()];
  }
  return scheduleUnits(problem, routes, topological, units, "round-robin");
}

} // namespace sluice
