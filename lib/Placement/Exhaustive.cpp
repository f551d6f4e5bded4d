//===- Exhaustive.cpp - An optimal placement of a few operators -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include <algorithm>

namespace sluice {
namespace {

constexpr size_t kMaxOperators = 10;
constexpr int64_t kMaxSteps = 2'000'000;

/// Appends every ready operator to every allowed device in turn, starts never
/// descending. Some optimal schedule is among these: append any optimum's
/// operators by start, none starts later than it did; repeat until none moves.
class BranchAndBound {
public:
  BranchAndBound(const PlacementProblem &problem, const Routes &routes, std::span<const OperatorId> topological,
                 PlacementSolution incumbent)
      : problem(problem), graph(*problem.graph), routes(routes), units(problem),
        devices(problem.machine->computeDevices()), best(std::move(incumbent)), missing(graph.numOperators()),
        tail(graph.numOperators()) {
    for (size_t i = topological.size(); i-- > 0;) {
      OperatorId op = topological[i];
      missing[op.index()] = graph.predecessors(op).size();
      for (OperatorId successor : graph.successors(op))
        tail[op.index()] = std::max(tail[op.index()], fastestNs(successor) + tail[successor.index()]);
    }
  }

  /// False where it gave up.
  bool solve() {
    int64_t work = 0;
    for (uint32_t i = 0; i < graph.numOperators(); ++i)
      work += fastestNs(OperatorId(i));
    extend(ListScheduler(problem, routes, /*insertion=*/false), 0, 0, 0, work);
    return steps < kMaxSteps;
  }
  PlacementSolution &solution() { return best; }

private:
  int64_t fastestNs(OperatorId op) const {
    int64_t least = problem.costs->timeNs(op, devices.front());
    for (DeviceId device : devices)
      least = std::min(least, problem.costs->timeNs(op, device));
    return least;
  }

  /// Nothing to come starts before `startNs`, and it takes `workNs` at least.
  int64_t boundNs(const ListScheduler &partial, int64_t startNs, int64_t workNs) const {
    for (DeviceId device : devices)
      workNs += std::max(startNs, partial.freeNs(device));
    return workNs / static_cast<int64_t>(devices.size());
  }

  void extend(const ListScheduler &partial, size_t count, uint32_t done, int64_t startNs, int64_t workNs) {
    if (++steps >= kMaxSteps || boundNs(partial, startNs, workNs) >= best.makespanNs)
      return;
    if (count == graph.numOperators()) {
      PlacementSolution solution = ListScheduler(partial).finish("exhaustive");
      if (solution.makespanNs < best.makespanNs)
        best = std::move(solution);
      return;
    }
    for (uint32_t i = 0; i < graph.numOperators(); ++i) {
      OperatorId op(i);
      if ((done >> i & 1) || missing[i] != 0)
        continue;
      DeviceId &settled = units.device[units.unitOf[i]];
      const DeviceId before = settled;
      for (DeviceId device : devices) {
        if (before.valid() && device != before)
          continue;
        Interval when = partial.tryPlace(op, device);
        if (when.startNs < startNs || when.endNs + tail[i] >= best.makespanNs)
          continue;
        ListScheduler next = partial;
        next.place(op, device);
        settled = device;
        for (OperatorId successor : graph.successors(op))
          --missing[successor.index()];
        extend(next, count + 1, done | uint32_t(1) << i, when.startNs, workNs - fastestNs(op));
        for (OperatorId successor : graph.successors(op))
          ++missing[successor.index()];
        settled = before;
      }
    }
  }

  const PlacementProblem &problem;
  const Graph &graph;
  const Routes &routes;
  Units units;
  std::vector<DeviceId> devices;
  PlacementSolution best;
  int64_t steps = 0;
  std::vector<size_t> missing; ///< Predecessors not placed, per operator.
  std::vector<int64_t> tail;   ///< Least time from an operator's end to the step's.
};

} // namespace

Expected<PlacementSolution> placeExhaustively(const PlacementProblem &problem, const Routes &routes,
                                              std::span<const OperatorId> topological) {
  if (topological.size() > kMaxOperators)
    return makeError(ErrorCode::Unsupported, "placement solver 'exhaustive' takes at most ", kMaxOperators, ", graph '",
                     problem.graph->name, "' has ", topological.size(), " operators, use 'best'");
  Expected<PlacementSolution> incumbent = placeHeft(problem, routes, topological);
  if (!incumbent)
    return incumbent;
  incumbent->solver = "exhaustive";
  BranchAndBound search(problem, routes, topological, std::move(*incumbent));
  if (!search.solve())
    return makeError(ErrorCode::Unsupported, "placement solver 'exhaustive' gave up after ", kMaxSteps,
                     " steps, graph '", problem.graph->name, "' is too large for it, use 'best'");
  return std::move(search.solution());
}

} // namespace sluice
