//===- Solvers.cpp - HEFT, its variants, CPOP and baselines ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>

namespace sluice {

Expected<ListSchedule> placeHeft(const SolverInput &input) {
  Settler settler(input.problem);
  ListScheduler scheduler(input, /*insertion=*/true);
  for (OperatorId op : byDescendingRank(input.topological, upwardRanks(input, /*communication=*/true)))
    SLUICE_RETURN_IF_ERROR(scheduler.placeWhereFirst(op, settler));
  return std::move(scheduler).finish();
}

Expected<ListSchedule> placeHeftNoComm(const SolverInput &input) {
  Settler settler(input.problem);
  ListScheduler blind(input, /*insertion=*/false, /*communication=*/false);
  std::vector<OperatorId> order = byDescendingRank(input.topological, upwardRanks(input, /*communication=*/false));
  for (OperatorId op : order)
    SLUICE_RETURN_IF_ERROR(blind.placeWhereFirst(op, settler));
  ListScheduler timed(input, /*insertion=*/false);
  for (OperatorId op : order)
    timed.place(op, settler.deviceOf(op));
  return std::move(timed).finish();
}

/// The lookahead weighs at most this many readers, those of the highest ranks.
static constexpr size_t kMostReaders = 16;

namespace {

/// HEFT's lookahead: an operator goes where its readers would end first.
class Lookahead {
public:
  Lookahead(const SolverInput &input, const ListScheduler &scheduler, const Settler &settler)
      : input(input), scheduler(scheduler), settler(settler), isPlaced(input.problem.graph->numOperators()) {}

  /// Readers of `op` of the highest ranks; `ranks` are per operator.
  void setReaders(OperatorId op, const std::vector<double> &ranks) {
    readers.clear();
    for (uint32_t reader : input.index.successors(op))
      readers.push_back(OperatorId(reader));
    std::stable_sort(readers.begin(), readers.end(),
                     [&](OperatorId a, OperatorId b) { return ranks[a.index()] > ranks[b.index()]; });
    if (readers.size() > kMostReaders)
      readers.resize(kMostReaders);
  }
  void setPlaced(OperatorId op) { isPlaced[op.index()] = 1; }

  /// When the last of the readers would end if `op` ended at `endNs` on `device`:
  /// each reader goes where it ends first, one after the other, and knows those of
  /// its operands only whose producers are placed.
  int64_t readersEndNs(OperatorId op, DeviceId device, int64_t endNs) const {
    std::vector<Reservation> taken;
    int64_t last = endNs;
    for (OperatorId reader : readers) {
      Reservation best{DeviceId(), {0, std::numeric_limits<int64_t>::max()}};
      for (DeviceId target : input.index.devices) {
        if (DeviceId settled = settler.deviceOf(reader); settled.valid() && settled != target)
          continue;
        const int64_t duration = input.index.timeNs(reader, target);
        const int64_t start = earliestStart(target, readyNs(reader, target, {op, device, endNs}), duration, taken);
        if (start + duration < best.second.endNs)
          best = {target, {start, start + duration}};
      }
      taken.push_back(best);
      last = std::max(last, best.second.endNs);
    }
    return last;
  }

private:
  using Reservation = std::pair<DeviceId, Interval>;
  /// The operator whose device is being weighed.
  struct Trial {
    OperatorId op;
    DeviceId device;
    int64_t endNs;
  };

  /// When a reader's operands have arrived at `target`.
  int64_t readyNs(OperatorId reader, DeviceId target, const Trial &trial) const {
    const Machine &machine = *input.problem.machine;
    int64_t ready = trial.endNs;
    for (uint32_t t : input.index.inputs(reader)) {
      const Tensor &tensor = input.problem.graph->tensor(TensorId(t));
      int64_t from = 0;
      MemoryId memory = Machine::hostMemory();
      if (tensor.producer == trial.op) {
        from = trial.endNs;
        memory = machine.device(trial.device).memory;
      } else if (tensor.producer.valid()) {
        if (!isPlaced[tensor.producer.index()])
          continue;
        from = scheduler.endNs(tensor.producer);
        memory = machine.device(scheduler.deviceOf(tensor.producer)).memory;
      }
      ready = std::max(ready, from + input.routes.timeNs(memory, machine.device(target).memory, tensor.bytes));
    }
    return ready;
  }

  /// The earliest start in the device's idle slots beside the readers that took theirs already.
  int64_t earliestStart(DeviceId target, int64_t readyNs, int64_t durationNs,
                        const std::vector<Reservation> &taken) const {
    int64_t start = scheduler.idleSlots(target).earliestStart(readyNs, durationNs);
    for (bool moved = true; moved;) {
      moved = false;
      for (const auto &[other, when] : taken)
        if (other == target && start < when.endNs && when.startNs < start + durationNs) {
          start = scheduler.idleSlots(target).earliestStart(when.endNs, durationNs);
          moved = true;
        }
    }
    return start;
  }

  const SolverInput &input;
  const ListScheduler &scheduler;
  const Settler &settler;
  std::vector<OperatorId> readers;
  std::vector<uint8_t> isPlaced; ///< Per operator.
};

} // namespace

Expected<ListSchedule> placeLookahead(const SolverInput &input) {
  Settler settler(input.problem);
  ListScheduler scheduler(input, /*insertion=*/true);
  const std::vector<double> ranks = upwardRanks(input, /*communication=*/true);
  Lookahead lookahead(input, scheduler, settler);
  for (OperatorId op : byDescendingRank(input.topological, ranks)) {
    if (!settler.deviceOf(op).valid()) {
      lookahead.setReaders(op, ranks);
      SLUICE_RETURN_IF_ERROR(settler.choose(op, [&](DeviceId device) {
        const int64_t end = scheduler.tryPlace(op, device).endNs;
        return std::pair(lookahead.readersEndNs(op, device, end), end);
      }));
    }
    scheduler.place(op, settler.deviceOf(op));
    lookahead.setPlaced(op);
  }
  return std::move(scheduler).finish();
}

/// Longest mean path from an entry to the start of each operator.
static std::vector<double> downwardRanks(const SolverInput &input) {
  const Graph &graph = *input.problem.graph;
  std::vector<double> ranks(graph.numOperators());
  for (OperatorId op : input.topological) {
    for (TensorId read : graph.op(op).inputs)
      if (graph.tensor(read).kind == TensorKind::Input)
        ranks[op.index()] = std::max(ranks[op.index()], input.routes.meanHostNs(graph.tensor(read).bytes));
    const double end = ranks[op.index()] + meanTimeNs(input, op);
    for (TensorId output : graph.op(op).outputs) {
      double arrival = end + input.routes.meanNs(graph.tensor(output).bytes);
      for (OperatorId reader : graph.tensor(output).consumers)
        ranks[reader.index()] = std::max(ranks[reader.index()], arrival);
    }
    for (TensorId read : graph.op(op).inputs)
      if (OperatorId writer = writerAfter(graph, op, read); writer.valid())
        ranks[writer.index()] = std::max(ranks[writer.index()], end);
  }
  return ranks;
}

/// Calls `visit` with each operator once its predecessors were visited, the
/// ready one of highest priority first.
template <typename Visit>
static Status visitByPriority(const SolverInput &input, std::span<const double> priority, Visit visit) {
  auto less = [&](OperatorId a, OperatorId b) {
    return std::pair(priority[a.index()], b) < std::pair(priority[b.index()], a);
  };
  std::priority_queue<OperatorId, std::vector<OperatorId>, decltype(less)> ready(less);
  std::vector<size_t> missing(priority.size());
  for (OperatorId op : input.topological) {
    missing[op.index()] = input.index.predecessors(op).size();
    if (missing[op.index()] == 0)
      ready.push(op);
  }
  while (!ready.empty()) {
    OperatorId op = ready.top();
    ready.pop();
    SLUICE_RETURN_IF_ERROR(visit(op));
    for (uint32_t successor : input.index.successors(op))
      if (--missing[successor] == 0)
        ready.push(OperatorId(successor));
  }
  return {};
}

Expected<ListSchedule> placeCpop(const SolverInput &input) {
  std::vector<double> priority = upwardRanks(input, /*communication=*/true);
  std::vector<double> down = downwardRanks(input);
  for (size_t i = 0; i < priority.size(); ++i)
    priority[i] += down[i];

  // One critical path: from the entry of highest priority, always on to the
  // successor of highest priority.
  OperatorId head;
  for (OperatorId op : input.topological)
    if (input.index.predecessors(op).empty() && (!head.valid() || priority[op.index()] > priority[head.index()]))
      head = op;
  std::vector<OperatorId> path;
  for (OperatorId op = head; op.valid();) {
    path.push_back(op);
    OperatorId next;
    for (uint32_t successor : input.index.successors(op))
      if (!next.valid() || priority[successor] > priority[next.index()])
        next = OperatorId(successor);
    op = next;
  }
  DeviceId pathDevice;
  int64_t pathTime = 0;
  for (DeviceId device : input.index.devices) {
    int64_t time = 0;
    for (OperatorId op : path)
      time += input.index.timeNs(op, device);
    if (!pathDevice.valid() || time < pathTime) {
      pathDevice = device;
      pathTime = time;
    }
  }
  Settler settler(input.problem);
  for (OperatorId op : path)
    if (!settler.deviceOf(op).valid() && settler.fits(op, pathDevice))
      settler.settle(op, pathDevice);

  ListScheduler scheduler(input, /*insertion=*/true);
  Status status =
      visitByPriority(input, priority, [&](OperatorId op) { return scheduler.placeWhereFirst(op, settler); });
  if (!status)
    return propagate(status);
  return std::move(scheduler).finish();
}

Expected<ListSchedule> placePeft(const SolverInput &input) {
  // The optimistic cost table: the least time from an operator's end on a device
  // to the step's, every path alone.
  const Graph &graph = *input.problem.graph;
  const std::vector<DeviceId> &devices = input.index.devices;
  std::vector<double> table(graph.numOperators() * devices.size());
  std::vector<double> rank(graph.numOperators());
  for (size_t i = input.topological.size(); i-- > 0;) {
    const OperatorId op = input.topological[i];
    auto offer = [&](OperatorId next, double move) {
      double least = std::numeric_limits<double>::infinity(), second = least;
      size_t leastAt = 0;
      // Where the next one stays on the device nothing moves.
      for (size_t d = 0; d < devices.size(); ++d) {
        double way =
            table[next.index() * devices.size() + d] + static_cast<double>(input.index.timeNs(next, devices[d]));
        if (way < least) {
          second = least;
          least = way;
          leastAt = d;
        } else {
          second = std::min(second, way);
        }
      }
      for (size_t d = 0; d < devices.size(); ++d) {
        double here =
            table[next.index() * devices.size() + d] + static_cast<double>(input.index.timeNs(next, devices[d]));
        double way = std::min(here, (d == leastAt ? second : least) + move);
        double &entry = table[op.index() * devices.size() + d];
        entry = std::max(entry, way);
      }
    };
    for (TensorId output : graph.op(op).outputs)
      for (OperatorId reader : graph.tensor(output).consumers)
        offer(reader, input.routes.meanNs(graph.tensor(output).bytes));
    for (TensorId read : graph.op(op).inputs)
      if (OperatorId writer = writerAfter(graph, op, read); writer.valid())
        offer(writer, 0);
    for (size_t d = 0; d < devices.size(); ++d)
      rank[op.index()] += table[op.index() * devices.size() + d] / static_cast<double>(devices.size());
  }
  Settler settler(input.problem);
  ListScheduler scheduler(input, /*insertion=*/true);
  std::vector<size_t> column(input.problem.machine->devices.size());
  for (size_t d = 0; d < devices.size(); ++d)
    column[devices[d].index()] = d;
  Status status = visitByPriority(input, rank, [&](OperatorId op) -> Status {
    if (!settler.deviceOf(op).valid()) {
      SLUICE_RETURN_IF_ERROR(settler.choose(op, [&](DeviceId device) {
        return static_cast<double>(scheduler.tryPlace(op, device).endNs) +
               table[op.index() * devices.size() + column[device.index()]];
      }));
    }
    scheduler.place(op, settler.deviceOf(op));
    return {};
  });
  if (!status)
    return propagate(status);
  return std::move(scheduler).finish();
}

/// Total time of some operators on a device.
static int64_t sumNs(const SolverInput &input, std::span<const OperatorId> ops, DeviceId device) {
  int64_t total = 0;
  for (OperatorId op : ops)
    total += input.index.timeNs(op, device);
  return total;
}

Expected<ListSchedule> placeSingleDevice(const SolverInput &input) {
  std::vector<DeviceId> byTime = input.index.devices;
  std::stable_sort(byTime.begin(), byTime.end(), [&](DeviceId a, DeviceId b) {
    return sumNs(input, input.topological, a) < sumNs(input, input.topological, b);
  });
  std::optional<Error> first;
  for (DeviceId only : byTime) {
    Settler settler(input.problem);
    Status status;
    for (OperatorId op : input.topological)
      if (!settler.deviceOf(op).valid() && status) {
        if (settler.fits(op, only))
          settler.settle(op, only);
        else
          status = settler.noRoom(op);
      }
    if (status)
      return scheduleUnits(input, settler.units());
    if (!first)
      first = std::move(status.error());
  }
  return tl::unexpected<Error>(std::move(*first));
}

Expected<ListSchedule> placeFastestNode(const SolverInput &input) {
  Settler settler(input.problem);
  const Units &units = settler.units();
  for (size_t unit = 0; unit < units.members.size(); ++unit) {
    if (units.device[unit].valid())
      continue;
    const std::vector<OperatorId> &members = units.members[unit];
    SLUICE_RETURN_IF_ERROR(
        settler.choose(members.front(), [&](DeviceId device) { return sumNs(input, members, device); }));
  }
  return scheduleUnits(input, units);
}

Expected<ListSchedule> placeRoundRobin(const SolverInput &input) {
  Settler settler(input.problem);
  const std::vector<DeviceId> &devices = input.index.devices;
  std::vector<size_t> column(input.problem.machine->devices.size());
  for (size_t d = 0; d < devices.size(); ++d)
    column[devices[d].index()] = d;
  size_t turn = 0;
  for (OperatorId op : input.topological) {
    if (settler.deviceOf(op).valid())
      continue;
    // Whose turn it is, or the next that has room.
    SLUICE_ASSIGN_OR_RETURN(DeviceId chosen, settler.choose(op, [&](DeviceId device) {
      return (column[device.index()] + devices.size() - turn) % devices.size();
    }));
    turn = (column[chosen.index()] + 1) % devices.size();
  }
  return scheduleUnits(input, settler.units());
}

} // namespace sluice
