//===- ValidatePlacement.cpp - Is it a placement --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/Placement.h"

#include <algorithm>
#include <map>

namespace sluice {

/// Least time from one memory to another: over the link between, or the two to
/// the host.
static int64_t moveNs(const Machine &machine, MemoryId from, MemoryId to, int64_t bytes) {
  if (from == to)
    return 0;
  if (LinkId direct = machine.findLink(from, to); direct.valid())
    return transferTimeNs(machine.link(direct), bytes);
  return moveNs(machine, from, Machine::hostMemory(), bytes) + moveNs(machine, Machine::hostMemory(), to, bytes);
}

Status validatePlacement(const PlacementProblem &problem, const PlacementSolution &solution) {
  const Graph &graph = *problem.graph;
  const Machine &machine = *problem.machine;
  const size_t numOps = graph.numOperators();
  auto fail = [](const auto &...parts) -> Status { return makeError(ErrorCode::Internal, parts...); };
  if (solution.placement.size() != numOps || solution.intervals.size() != numOps)
    return fail("placement has ", solution.placement.size(), " devices and ", solution.intervals.size(),
                " intervals, graph '", graph.name, "' has ", numOps, " operators");
  if (!graph.isTopological(solution.order))
    return fail("placement's order is not topological in graph '", graph.name, "'");

  std::map<int32_t, DeviceId> deviceOfColour;
  std::vector<std::vector<OperatorId>> onDevice(machine.devices.size());
  int64_t end = 0;
  for (uint32_t i = 0; i < numOps; ++i) {
    const Operator &op = graph.op(OperatorId(i));
    const DeviceId device = solution.placement[i];
    const Interval when = solution.intervals[i];
    if (device.index() >= machine.devices.size() || !machine.device(device).computes)
      return fail("operator '", op.name, "' is placed on a device that does not compute");
    if (!problem.pinned.empty() && problem.pinned[i].valid() && problem.pinned[i] != device)
      return fail("operator '", op.name, "' is placed on '", machine.device(device).name, "' and pinned to '",
                  machine.device(problem.pinned[i]).name, "'");
    if (op.colocation >= 0 && deviceOfColour.emplace(op.colocation, device).first->second != device)
      return fail("operator '", op.name, "' is not on the device of the other operators of colocation ", op.colocation);
    if (when.startNs < 0 || when.endNs - when.startNs != problem.costs->timeNs(OperatorId(i), device))
      return fail("operator '", op.name, "' runs in [", when.startNs, ", ", when.endNs, ") and must run for ",
                  problem.costs->timeNs(OperatorId(i), device), " ns");
    const MemoryId memory = machine.device(device).memory;
    for (TensorId input : op.inputs) {
      const Tensor &tensor = graph.tensor(input);
      int64_t arrival = 0;
      if (tensor.producer.valid())
        arrival =
            solution.intervals[tensor.producer.index()].endNs +
            moveNs(machine, machine.device(solution.placement[tensor.producer.index()]).memory, memory, tensor.bytes);
      else if (tensor.kind == TensorKind::Input)
        arrival = moveNs(machine, Machine::hostMemory(), memory, tensor.bytes);
      if (when.startNs < arrival)
        return fail("operator '", op.name, "' starts at ", when.startNs, " ns, and its input '", tensor.name,
                    "' arrives only at ", arrival);
    }
    for (TensorId output : op.outputs)
      if (TensorId state = graph.tensor(output).updates; state.valid())
        for (OperatorId reader : graph.tensor(state).consumers)
          if (reader != OperatorId(i) && when.startNs < solution.intervals[reader.index()].endNs)
            return fail("operator '", op.name, "' starts at ", when.startNs, " ns to update state '",
                        graph.tensor(state).name, "', which operator '", graph.op(reader).name, "' reads until ",
                        solution.intervals[reader.index()].endNs);
    end = std::max(end, when.endNs);
    for (TensorId output : op.outputs)
      if (graph.tensor(output).isOutput)
        end = std::max(end, when.endNs + moveNs(machine, memory, Machine::hostMemory(), graph.tensor(output).bytes));
    onDevice[device.index()].push_back(OperatorId(i));
  }
  for (std::vector<OperatorId> &ops : onDevice) {
    auto start = [&](OperatorId op) { return solution.intervals[op.index()].startNs; };
    std::sort(ops.begin(), ops.end(), [&](OperatorId a, OperatorId b) { return start(a) < start(b); });
    for (size_t i = 1; i < ops.size(); ++i)
      if (start(ops[i]) < solution.intervals[ops[i - 1].index()].endNs)
        return fail("operators '", graph.op(ops[i - 1]).name, "' and '", graph.op(ops[i]).name, "' overlap on '",
                    machine.device(solution.placement[ops[i].index()]).name, "'");
  }
  if (solution.makespanNs < end)
    return fail("the solution states a makespan of ", solution.makespanNs, " ns, the last operator or output ends at ",
                end, " ns at the earliest");

  if (!problem.capacityBytes.empty()) {
    const std::vector<int64_t> bytes = placementBytes(problem, solution.placement);
    for (size_t m = 0; m < bytes.size(); ++m)
      if (bytes[m] > problem.capacityBytes[m])
        return fail("the placement uses ", bytes[m], " bytes of memory '", machine.memories[m].name,
                    "', its capacity is ", problem.capacityBytes[m], " bytes");
  }
  const Plan plan = planOfPlacement(problem, solution.placement, solution.order);
  const Timeline timeline = simulate(graph, machine, *problem.costs, plan);
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    if (plan.commands[i].kind != CommandKind::Launch)
      continue;
    const Interval claimed = solution.intervals[plan.commands[i].op.index()], is = timeline.commands[i];
    if (claimed.startNs != is.startNs || claimed.endNs != is.endNs)
      return fail("operator '", graph.op(plan.commands[i].op).name, "' runs in [", is.startNs, ", ", is.endNs,
                  ") when simulated, the solution states [", claimed.startNs, ", ", claimed.endNs, ")");
  }
  if (solution.makespanNs != timeline.makespanNs)
    return fail("the solution states a makespan of ", solution.makespanNs, " ns, the simulated makespan is ",
                timeline.makespanNs, " ns");
  return {};
}

} // namespace sluice
