//===- Placement.cpp - The problem, its check and its solvers by name -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/Placement.h"

#include "ListScheduler.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>

namespace sluice {

Status PlacementProblem::check() const {
  if (Status status = graph->check(); !status)
    return status;
  if (Status status = machine->check(); !status)
    return status;
  const size_t numOps = graph->numOperators();
  if (costs->numDevices != machine->devices.size() || costs->operatorNs.size() != numOps * costs->numDevices)
    return makeError(ErrorCode::InvalidInput, "cost table has ", costs->operatorNs.size(), " times, ", numOps,
                     " operators on ", machine->devices.size(), " devices need ", numOps * machine->devices.size());
  if (!pinned.empty() && pinned.size() != numOps)
    return makeError(ErrorCode::InvalidInput, pinned.size(), " pins given, graph '", graph->name, "' has ", numOps,
                     " operators, give one each or none");

  const std::vector<DeviceId> devices = machine->computeDevices();
  std::map<int32_t, uint32_t> firstPinned;
  int64_t total = 0;
  for (uint32_t i = 0; i < numOps; ++i) {
    const Operator &op = graph->op(OperatorId(i));
    int64_t longest = 0;
    for (DeviceId device : devices) {
      int64_t time = costs->timeNs(OperatorId(i), device);
      if (time < 1)
        return makeError(ErrorCode::InvalidInput, "time of operator '", op.name, "' is ", time, " ns on device '",
                         machine->device(device).name, "', times are at least 1 ns");
      longest = std::max(longest, time);
    }
    total = saturatingAdd(total, longest);
    if (pinned.empty() || !pinned[i].valid())
      continue;
    if (pinned[i].index() >= machine->devices.size() || !machine->device(pinned[i]).computes)
      return makeError(ErrorCode::InvalidInput, "operator '", op.name,
                       "' is pinned to a device that is not in the machine or does not compute");
    if (op.colocation < 0)
      continue;
    auto [it, isNew] = firstPinned.emplace(op.colocation, i);
    if (!isNew && pinned[it->second] != pinned[i])
      return makeError(ErrorCode::Infeasible, "operators '", graph->op(OperatorId(it->second)).name, "' and '", op.name,
                       "' must share a device, they are pinned to '", machine->device(pinned[it->second]).name,
                       "' and '", machine->device(pinned[i]).name, "', pin both to one");
  }
  // Schedules add times without further checks: a tensor moves over two links
  // at most, and no start is later than all of this together.
  for (const Tensor &tensor : graph->tensors())
    for (const Link &link : machine->links)
      total = saturatingAdd(total, saturatingMul(2, transferTimeNs(link, tensor.bytes)));
  if (total > (int64_t(1) << 61))
    return makeError(ErrorCode::InvalidInput, "times of graph '", graph->name, "' on machine '", machine->name,
                     "' add up to more than 2^61 ns, correct sizes and rates");
  return {};
}

static constexpr std::pair<const char *, PlacementSolver> kHeuristics[] = {
    {"heft", placeHeft},
    {"heft-no-comm", placeHeftNoComm},
    {"cpop", placeCpop},
    {"single-device", placeSingleDevice},
    {"fastest-node", placeFastestNode},
    {"round-robin", placeRoundRobin},
};

std::vector<std::string> placementSolverNames() {
  std::vector<std::string> names{"best"};
  for (const auto &[name, solver] : kHeuristics)
    names.push_back(name);
  names.push_back("exhaustive");
  return names;
}

static Expected<PlacementSolution> solveBest(const PlacementProblem &problem, const Routes &routes,
                                             std::span<const OperatorId> topological) {
  Expected<PlacementSolution> best = placeHeft(problem, routes, topological);
  for (const auto &[name, solver] : kHeuristics) {
    Expected<PlacementSolution> other = solver(problem, routes, topological);
    if (other && other->makespanNs < best->makespanNs)
      best = std::move(other);
  }
  return best;
}

Expected<PlacementSolution> solvePlacement(const PlacementProblem &problem, const PlacementParams &params) {
  PlacementSolver solver = nullptr;
  if (params.solver == "best")
    solver = solveBest;
  else if (params.solver == "exhaustive")
    solver = placeExhaustively;
  for (const auto &[name, heuristic] : kHeuristics)
    if (params.solver == name)
      solver = heuristic;
  if (!solver) {
    std::string known;
    for (const std::string &name : placementSolverNames())
      known += (known.empty() ? "" : ", ") + name;
    return makeError(ErrorCode::NotFound, "placement solver '", params.solver, "' does not exist, use one of ", known);
  }
  if (Status status = problem.check(); !status)
    return propagate(status);
  Expected<std::vector<OperatorId>> topological = problem.graph->topologicalOrder();
  if (!topological)
    return propagate(topological);
  Expected<PlacementSolution> solution = solver(problem, Routes(*problem.machine), *topological);
  if (solution)
    if (Status status = validatePlacement(problem, *solution); !status)
      return propagate(status);
  return solution;
}

int64_t placementLowerBoundNs(const PlacementProblem &problem) {
  const Graph &graph = *problem.graph;
  Expected<std::vector<OperatorId>> topological = graph.topologicalOrder();
  if (!topological)
    return 0;
  std::vector<DeviceId> devices = problem.machine->computeDevices();
  std::vector<int64_t> end(graph.numOperators());
  int64_t path = 0, work = 0;
  for (OperatorId op : *topological) {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (DeviceId device : devices)
      least = std::min(least, problem.costs->timeNs(op, device));
    if (!problem.pinned.empty() && problem.pinned[op.index()].valid())
      least = problem.costs->timeNs(op, problem.pinned[op.index()]);
    work = saturatingAdd(work, least);
    end[op.index()] = saturatingAdd(end[op.index()], least);
    path = std::max(path, end[op.index()]);
    for (OperatorId successor : graph.successors(op))
      end[successor.index()] = std::max(end[successor.index()], end[op.index()]);
  }
  int64_t count = static_cast<int64_t>(devices.size());
  return std::max(path, work / count + (work % count != 0));
}

} // namespace sluice
