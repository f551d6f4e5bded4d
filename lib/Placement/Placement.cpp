//===- Placement.cpp - The problem, its check and its solvers by name -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/Placement.h"

#include "Evaluator.h"
#include "ListScheduler.h"
#include "MemoryUse.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <map>
#include <thread>

namespace sluice {

Status PlacementProblem::check() const {
  SLUICE_RETURN_IF_ERROR(graph->check());
  SLUICE_RETURN_IF_ERROR(machine->check());
  const size_t numOps = graph->numOperators();
  if (costs->numDevices != machine->devices.size() || costs->operatorNs.size() != numOps * costs->numDevices)
    return makeError(ErrorCode::InvalidInput, "the cost table has ", costs->operatorNs.size(), " entries, graph '",
                     graph->name, "' has ", numOps, " operators and machine '", machine->name, "' has ",
                     machine->devices.size(), " devices, give ", numOps * machine->devices.size(), " entries");
  if (!pinned.empty() && pinned.size() != numOps)
    return makeError(ErrorCode::InvalidInput, pinned.size(), " pins are given and graph '", graph->name, "' has ",
                     numOps, " operators, give one pin for each operator or none");
  if (!capacityBytes.empty() && capacityBytes.size() != machine->memories.size())
    return makeError(ErrorCode::InvalidInput, capacityBytes.size(), " capacities are given and machine '",
                     machine->name, "' has ", machine->memories.size(),
                     " memories, give one capacity for each memory or none");
  for (size_t m = 0; m < capacityBytes.size(); ++m)
    if (capacityBytes[m] < 0)
      return makeError(ErrorCode::InvalidInput, "capacity of memory '", machine->memories[m].name, "' is negative, ",
                       capacityBytes[m], " bytes, give at least 0");

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
                         machine->device(device).name, "', give times of 1 ns or more");
      longest = std::max(longest, time);
    }
    total = saturatingAdd(total, longest);
    if (pinned.empty() || !pinned[i].valid())
      continue;
    if (pinned[i].index() >= machine->devices.size() || !machine->device(pinned[i]).computes)
      return makeError(ErrorCode::InvalidInput, "operator '", op.name,
                       "' is pinned to a device that does not exist or does not compute, machine '", machine->name,
                       "', pin the operator to a device that computes");
    if (op.colocation < 0)
      continue;
    auto [it, isNew] = firstPinned.emplace(op.colocation, i);
    if (!isNew && pinned[it->second] != pinned[i])
      return makeError(ErrorCode::Infeasible, "operators '", graph->op(OperatorId(it->second)).name, "' and '", op.name,
                       "' must share a device and are pinned to '", machine->device(pinned[it->second]).name, "' and '",
                       machine->device(pinned[i]).name, "', pin both to one device");
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

std::vector<std::string> placementSolverNames() {
  std::vector<std::string> names{"best"};
  for (const auto &[name, solver] : placementHeuristics())
    names.push_back(name);
  names.insert(names.end(), {"lns", "htf-mpr", "exhaustive"});
  return names;
}

static PlacementSolver findSolver(const std::string &name) {
  if (name == "best")
    return placeBest;
  if (name == "lns")
    return placeByNeighbourhoods;
  if (name == "htf-mpr")
    return placeHtfMpr;
  if (name == "exhaustive")
    return placeExhaustively;
  for (const auto &[known, heuristic] : placementHeuristics())
    if (name == known)
      return heuristic;
  return nullptr;
}

/// Where none is given: about so many operators timed in all, a tenth where every
/// order must be simulated.
static int64_t defaultEvaluations(const StepIndex &index) {
  constexpr int64_t kWork = 4'000'000, kMost = 20'000, kLeast = 20;
  const int64_t slower = index.timesAreBounds ? 10 : 1;
  const int64_t numOps = std::max<int64_t>(static_cast<int64_t>(index.graph.numOperators()), 1);
  return std::clamp(kWork / slower / numOps, kLeast, kMost / slower);
}

Expected<std::vector<OperatorId>> checkedOrder(const PlacementProblem &problem) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  return problem.graph->topologicalOrder();
}

/// What is pinned stays, whatever a solver decides for the rest.
static Status pinsFit(const PlacementProblem &problem) {
  const Units units(problem);
  MemoryUse use(problem);
  for (size_t unit = 0; unit < units.members.size(); ++unit)
    if (units.device[unit].valid())
      for (OperatorId member : units.members[unit])
        use.add(member, units.device[unit]);
  for (DeviceId device : problem.machine->computeDevices())
    if (int64_t excess = use.excessWith({}, device); excess > 0)
      return makeError(ErrorCode::Infeasible, "the tensors of operators pinned to devices of memory '",
                       problem.machine->memory(problem.machine->device(device).memory).name,
                       "' exceed the capacity of this memory by ", excess,
                       " bytes, pin fewer operators or raise the capacity");
  return {};
}

Expected<PlacementSolution> solvePlacement(const PlacementProblem &problem, const PlacementParams &params) {
  PlacementSolver solver = findSolver(params.solver);
  if (!solver) {
    return makeError(ErrorCode::NotFound, "placement solver '", params.solver, "' does not exist, use ",
                     alternatives(placementSolverNames()));
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<OperatorId> topological, checkedOrder(problem));

  SLUICE_RETURN_IF_ERROR(pinsFit(problem));
  const Routes routes(*problem.machine);
  const StepIndex index(problem);
  Budget budget;
  budget.evaluations =
      params.evaluations > 0 ? std::min(params.evaluations, int64_t(1) << 50) : defaultEvaluations(index);
  budget.interrupt = params.interrupt;
  if (params.timeNs > 0)
    budget.deadline =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min(params.timeNs, int64_t(1) << 60));
  const int threads =
      params.threads > 0 ? params.threads : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  SLUICE_ASSIGN_OR_RETURN(ListSchedule found,
                          solver({problem, routes, index, topological, budget, params.seed, threads}));

  PlacementSolution solution;
  solution.placement = std::move(found.placement);
  solution.order = std::move(found.order);
  solution.solver = params.solver;
  if (!found.winner.empty() && params.solver == "best")
    solution.solver += " (" + found.winner + ")";
  solution.evaluations = found.evaluations;
  solution.stoppedByClock = found.stoppedByClock;
  solution.members = std::move(found.members);
  solution.runnersUp = std::move(found.runnersUp);
  solution.foldDistance = found.foldDistance;
  const Plan plan = planOfPlacement(index, solution.placement, solution.order);
  const Timeline timeline = simulate(*problem.graph, *problem.machine, *problem.costs, plan);
  solution.intervals.resize(topological.size());
  for (size_t i = 0; i < plan.commands.size(); ++i)
    if (plan.commands[i].kind == CommandKind::Launch)
      solution.intervals[plan.commands[i].op.index()] = timeline.commands[i];
  solution.makespanNs = timeline.makespanNs;
  solution.optimal = found.optimal || solution.makespanNs == placementLowerBoundNs(problem);
  SLUICE_RETURN_IF_ERROR(validatePlacement(problem, solution));
  return solution;
}

/// Least times between all memories, over any links: tensors may be copied on.
static std::vector<int64_t> leastMoves(const Machine &machine, int64_t bytes) {
  const size_t count = machine.memories.size();
  std::vector<int64_t> least(count * count, std::numeric_limits<int64_t>::max() / 4);
  for (size_t m = 0; m < count; ++m)
    least[m * count + m] = 0;
  for (const Link &link : machine.links)
    for (auto [a, b] : {std::pair(link.a, link.b), std::pair(link.b, link.a)}) {
      int64_t &entry = least[a.index() * count + b.index()];
      entry = std::min(entry, transferTimeNs(link, bytes));
    }
  for (size_t via = 0; via < count; ++via)
    for (size_t a = 0; a < count; ++a)
      for (size_t b = 0; b < count; ++b)
        least[a * count + b] = std::min(least[a * count + b], least[a * count + via] + least[via * count + b]);
  return least;
}

int64_t placementLowerBoundNs(const PlacementProblem &problem) {
  const Graph &graph = *problem.graph;
  const Machine &machine = *problem.machine;
  Expected<std::vector<OperatorId>> topological = graph.topologicalOrder();
  if (!topological)
    return 0;
  const std::vector<DeviceId> devices = machine.computeDevices();
  const size_t numDevices = machine.devices.size(), numMemories = machine.memories.size();
  auto allowed = [&](OperatorId op, DeviceId device) {
    return problem.pinned.empty() || !problem.pinned[op.index()].valid() || problem.pinned[op.index()] == device;
  };
  // Per operator and device: when it can end there, all before it where that is
  // soonest for this path. Holds if operators run more than once, too.
  std::vector<int64_t> end(graph.numOperators() * numDevices);
  // Per tensor of the operator at hand and memory: when it can be there.
  int64_t path = 0, work = 0;
  std::vector<std::vector<int64_t>> arrival(graph.numTensors());
  auto arrive = [&](TensorId t) -> const std::vector<int64_t> & {
    std::vector<int64_t> &at = arrival[t.index()];
    if (!at.empty())
      return at;
    const Tensor &tensor = graph.tensor(t);
    const std::vector<int64_t> moves = leastMoves(machine, tensor.bytes);
    at.assign(numMemories, std::numeric_limits<int64_t>::max());
    for (size_t m = 0; m < numMemories; ++m) {
      if (!tensor.producer.valid())
        at[m] = tensor.kind == TensorKind::Input ? moves[m] : 0;
      else
        for (DeviceId maker : devices)
          if (allowed(tensor.producer, maker))
            at[m] = std::min(at[m], saturatingAdd(end[tensor.producer.index() * numDevices + maker.index()],
                                                  moves[machine.device(maker).memory.index() * numMemories + m]));
    }
    return at;
  };
  for (OperatorId op : *topological) {
    int64_t least = std::numeric_limits<int64_t>::max(), soonest = least;
    for (DeviceId device : devices) {
      if (!allowed(op, device))
        continue;
      int64_t start = 0;
      for (TensorId input : graph.op(op).inputs)
        start = std::max(start, arrive(input)[machine.device(device).memory.index()]);
      for (TensorId output : graph.op(op).outputs)
        if (TensorId state = graph.tensor(output).updates; state.valid())
          for (OperatorId reader : graph.tensor(state).consumers)
            if (reader != op) {
              int64_t readerEnd = std::numeric_limits<int64_t>::max();
              for (DeviceId other : devices)
                if (allowed(reader, other))
                  readerEnd = std::min(readerEnd, end[reader.index() * numDevices + other.index()]);
              start = std::max(start, readerEnd);
            }
      const int64_t time = problem.costs->timeNs(op, device);
      int64_t &ends = end[op.index() * numDevices + device.index()];
      ends = saturatingAdd(start, time);
      least = std::min(least, time);
      soonest = std::min(soonest, ends);
    }
    if (!graph.op(op).communicates)
      work = saturatingAdd(work, least);
    path = std::max(path, soonest);
    for (TensorId output : graph.op(op).outputs)
      if (graph.tensor(output).isOutput)
        path = std::max(path, arrive(output)[0]);
  }
  int64_t count = static_cast<int64_t>(devices.size());
  return std::max(path, work / count + (work % count != 0));
}

} // namespace sluice
