//===- PartitionReport.cpp - What a tiling amounts to ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionModel.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <queue>
#include <set>

namespace sluice {

int64_t operatorNs(const ProgramOperator &op, const std::vector<uint32_t> &rules, const PartitionMachine &machine) {
  double share = 1;
  for (size_t axis = 0; axis < rules.size(); ++axis)
    if (op.rules[rules[axis]].dividesWork)
      share /= static_cast<double>(machine.mesh.axes[axis].size);
  if (op.bytesMoved == 0)
    return 0;
  // The step takes as long as the largest part.
  for (uint32_t rule = 0; rule < op.rules.size(); ++rule) {
    int64_t parts = 1;
    for (size_t axis = 0; axis < rules.size(); ++axis)
      if (rules[axis] == rule)
        parts *= machine.mesh.axes[axis].size;
    if (const TilingRule &used = op.rules[rule]; parts > 1 && used.dividesWork && !used.dividesEvenly(parts))
      share *= static_cast<double>(largestPart(used.divisor, parts) * parts) / static_cast<double>(used.divisor);
  }
  const double flopsPerSec = machine.flopsPerSec * efficiencyOf(machine.efficiency, op.kind);
  double seconds = share * std::max(static_cast<double>(op.flops) / flopsPerSec,
                                    static_cast<double>(op.bytesMoved) / machine.memoryBytesPerSec);
  double ns = seconds * 1e9 + static_cast<double>(machine.launchOverheadNs);
  return ns < 1e18 ? static_cast<int64_t>(ns) : int64_t(1) << 60;
}

int64_t conversionCost(PartitionCost cost, const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                       const std::vector<AxisTiling> &to, const Mesh &mesh) {
  if (from == to)
    return 0;
  if (cost == PartitionCost::Paper)
    return paperBytes(tensor.shape, tensor.elementBytes, from, to, mesh);
  if (cost == PartitionCost::Ghost)
    return ghostBytes(tensor.shape, tensor.elementBytes, from, to, mesh);
  return stepsCost(cost, planConversion(tensor.shape, tensor.elementBytes, from, to, mesh), mesh);
}

int64_t stepsCost(PartitionCost cost, const std::vector<CollectiveStep> &steps, const Mesh &mesh) {
  int64_t sum = 0;
  for (const CollectiveStep &step : steps)
    sum = saturatingAdd(sum, cost == PartitionCost::Time ? collectiveNs(step, mesh) : step.bytes);
  return sum;
}

std::vector<int64_t> shapeWithin(const ProgramTensor &tensor, const std::vector<AxisTiling> &from,
                                 const std::vector<AxisTiling> &to, size_t axis, const Mesh &mesh) {
  std::vector<AxisTiling> earlier(mesh.axes.size());
  for (size_t i = 0; i < axis; ++i)
    earlier[i] = from[i].isPartial() ? AxisTiling() : to[i];
  return partShape(tensor.shape, earlier, mesh);
}

namespace {
/// Calls fn(tensor, op, isResult, from, to, halos) for each conversion, each copy once, in the operators' order.
template <typename Fn>
void forEachConversion(const TensorProgram &program, const Mesh &mesh, const Tiling &tiling, Fn fn) {
  std::set<std::tuple<uint32_t, TilingCode, std::vector<int64_t>>> seen;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const ProgramOperator &op = program.operators[i];
    for (size_t slot = 0; slot < op.operands.size(); ++slot) {
      TensorId id = op.operands[slot];
      std::vector<AxisTiling> to = tiling.operandTilings(program, OperatorId(i), slot);
      std::vector<CollectiveStep> halos = planHalos(op, slot, program.tensors[id.index()], tiling.rules[i], mesh);
      if (to == tiling.tensors[id.index()] && halos.empty())
        continue;
      std::vector<int64_t> haloKey;
      for (const CollectiveStep &step : halos)
        haloKey.insert(haloKey.end(), {step.dim, step.halo.low, step.halo.high, static_cast<int64_t>(step.halo.fill)});
      if (seen.insert({id.value, codeOf(to), std::move(haloKey)}).second)
        fn(id, OperatorId(i), false, tiling.tensors[id.index()], to, halos);
    }
    for (size_t slot = 0; slot < op.results.size(); ++slot) {
      TensorId id = op.results[slot];
      std::vector<AxisTiling> from = tiling.resultTilings(program, OperatorId(i), slot);
      if (from != tiling.tensors[id.index()])
        fn(id, OperatorId(i), true, from, tiling.tensors[id.index()], std::vector<CollectiveStep>());
    }
  }
}

int64_t haloBytes(const std::vector<CollectiveStep> &halos) {
  int64_t sum = 0;
  for (const CollectiveStep &step : halos)
    sum = saturatingAdd(sum, step.bytes);
  return sum;
}

/// One axis at a time, each within the parts that operators have of the axes before.
int64_t recursiveGhost(const TensorProgram &program, const Mesh &mesh, const Tiling &tiling) {
  int64_t total = 0, groups = 1;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    Mesh single{{mesh.axes[axis]}};
    int64_t delta = 0;
    forEachConversion(program, mesh, tiling,
                      [&](TensorId id, OperatorId, bool, const std::vector<AxisTiling> &from,
                          const std::vector<AxisTiling> &to, const std::vector<CollectiveStep> &) {
                        const ProgramTensor &tensor = program.tensors[id.index()];
                        delta = saturatingAdd(delta, ghostBytes(shapeWithin(tensor, from, to, axis, mesh),
                                                                tensor.elementBytes, {from[axis]}, {to[axis]}, single));
                      });
    total = saturatingAdd(total, saturatingMul(groups, delta));
    groups *= mesh.axes[axis].size;
  }
  return total;
}

/// Two streams, which take what is ready in the program's order.
class Overlap {
public:
  enum Stream { Compute, Communicate };
  size_t add(Stream stream, int64_t ns, int64_t order, const std::vector<size_t> &after) {
    size_t id = tasks.size();
    tasks.push_back({stream, ns, order, 0, {}});
    for (size_t dependency : after) {
      tasks[dependency].next.push_back(id);
      ++tasks[id].waiting;
    }
    return id;
  }

  int64_t makespan() {
    using Ready = std::pair<int64_t, size_t>; // Order, task.
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready[2];
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> running; // End, task.
    bool busy[2] = {};
    int64_t now = 0;
    for (size_t i = 0; i < tasks.size(); ++i)
      if (tasks[i].waiting == 0)
        ready[tasks[i].stream].push({tasks[i].order, i});
    for (;;) {
      for (int stream : {0, 1})
        if (!busy[stream] && !ready[stream].empty()) {
          size_t task = ready[stream].top().second;
          ready[stream].pop();
          busy[stream] = true;
          running.push({saturatingAdd(now, tasks[task].ns), task});
        }
      if (running.empty())
        return now;
      auto [end, done] = running.top();
      running.pop();
      now = end;
      busy[tasks[done].stream] = false;
      for (size_t next : tasks[done].next)
        if (--tasks[next].waiting == 0)
          ready[tasks[next].stream].push({tasks[next].order, next});
    }
  }

private:
  struct Task {
    Stream stream;
    int64_t ns, order;
    size_t waiting;
    std::vector<size_t> next;
  };
  std::vector<Task> tasks;
};

int64_t simulate(const TensorProgram &program, const PartitionMachine &machine, const Tiling &tiling,
                 const std::vector<PlannedConversion> &conversions) {
  Overlap overlap;
  constexpr size_t kNone = ~size_t(0);
  std::vector<size_t> held(program.tensors.size(), kNone); ///< The task a tensor waits for.
  std::map<std::pair<uint32_t, TilingCode>, size_t> copies;
  size_t next = 0;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const ProgramOperator &op = program.operators[i];
    auto order = static_cast<int64_t>(i);
    for (; next < conversions.size() && conversions[next].op.index() == i && !conversions[next].isResult; ++next) {
      const PlannedConversion &conversion = conversions[next];
      std::vector<size_t> after;
      if (size_t task = held[conversion.tensor.index()]; task != kNone)
        after.push_back(task);
      copies[{conversion.tensor.value, codeOf(conversion.to)}] = overlap.add(
          Overlap::Communicate, stepsCost(PartitionCost::Time, conversion.steps, machine.mesh), order, after);
    }
    std::set<size_t> after;
    for (size_t slot = 0; slot < op.operands.size(); ++slot) {
      TensorId id = op.operands[slot];
      if (size_t task = held[id.index()]; task != kNone)
        after.insert(task);
      auto copy = copies.find({id.value, codeOf(tiling.operandTilings(program, OperatorId(i), slot))});
      if (copy != copies.end())
        after.insert(copy->second);
    }
    size_t run = overlap.add(Overlap::Compute, operatorNs(op, tiling.rules[i], machine), order,
                             std::vector<size_t>(after.begin(), after.end()));
    for (TensorId id : op.results)
      held[id.index()] = run;
    for (; next < conversions.size() && conversions[next].op.index() == i; ++next)
      held[conversions[next].tensor.index()] = overlap.add(
          Overlap::Communicate, stepsCost(PartitionCost::Time, conversions[next].steps, machine.mesh), order, {run});
  }
  return overlap.makespan();
}
} // namespace

std::vector<LiveRange> liveRanges(const TensorProgram &program) {
  auto end = static_cast<int64_t>(program.operators.size());
  std::vector<LiveRange> ranges(program.tensors.size());
  for (size_t t = 0; t < program.tensors.size(); ++t) {
    TensorRole role = program.tensors[t].role;
    // Inputs, parameters and states are there throughout.
    if (role != TensorRole::Intermediate && role != TensorRole::Output)
      ranges[t] = {0, end};
  }
  for (size_t i = 0; i < program.operators.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    for (TensorId id : program.operators[i].results)
      // A state's next value takes the state's place.
      ranges[id.index()] = {at, program.tensors[id.index()].updates.valid()              ? at
                                : program.tensors[id.index()].role == TensorRole::Output ? end
                                                                                         : at + 1};
    for (TensorId id : program.operators[i].operands)
      if (ranges[id.index()].begin < ranges[id.index()].end)
        ranges[id.index()].end = std::max(ranges[id.index()].end, at + 1);
  }
  return ranges;
}

static int64_t peakOf(const TensorProgram &program, const Mesh &mesh, const Tiling &tiling,
                      const std::vector<PlannedConversion> &conversions) {
  std::vector<int64_t> change(program.operators.size() + 2);
  auto add = [&](int64_t begin, int64_t end, int64_t bytes) {
    change[begin] = saturatingAdd(change[begin], bytes);
    change[end] = saturatingAdd(change[end], -bytes);
  };
  std::vector<LiveRange> ranges = liveRanges(program);
  for (size_t t = 0; t < ranges.size(); ++t)
    add(ranges[t].begin, ranges[t].end, partBytes(program.tensors[t], tiling.tensors[t], mesh));
  // A copy lives from the first operator that wants it to the last.
  std::map<std::pair<uint32_t, TilingCode>, int64_t> last;
  for (size_t i = 0; i < program.operators.size(); ++i)
    for (size_t slot = 0; slot < program.operators[i].operands.size(); ++slot)
      last[{program.operators[i].operands[slot].value, codeOf(tiling.operandTilings(program, OperatorId(i), slot))}] =
          static_cast<int64_t>(i) + 1;
  for (const PlannedConversion &conversion : conversions) {
    auto at = static_cast<int64_t>(conversion.op.index());
    const ProgramTensor &tensor = program.tensors[conversion.tensor.index()];
    if (conversion.isResult)
      add(at, at + 1, partBytes(tensor, conversion.from, mesh));
    else
      add(at, last.at({conversion.tensor.value, codeOf(conversion.to)}), partBytes(tensor, conversion.to, mesh));
  }
  int64_t now = 0, peak = 0;
  for (int64_t c : change)
    peak = std::max(peak, now = saturatingAdd(now, c));
  return peak;
}

int64_t partBytes(const ProgramTensor &tensor, const std::vector<AxisTiling> &tilings, const Mesh &mesh) {
  ProgramTensor part = tensor;
  part.shape = partShape(tensor.shape, tilings, mesh);
  return part.bytes();
}

int64_t sharedCost(PartitionCost cost, const TensorProgram &program, const PartitionMachine &machine,
                   const Tiling &tiling) {
  const Mesh &mesh = machine.mesh;
  int64_t sum = 0;
  forEachConversion(program, mesh, tiling,
                    [&](TensorId id, OperatorId, bool, const std::vector<AxisTiling> &from,
                        const std::vector<AxisTiling> &to, const std::vector<CollectiveStep> &halos) {
                      sum = saturatingAdd(sum, conversionCost(cost, program.tensors[id.index()], from, to, mesh));
                      sum = saturatingAdd(sum, stepsCost(cost, halos, mesh));
                    });
  for (size_t i = 0; cost == PartitionCost::Time && i < program.operators.size(); ++i)
    sum = saturatingAdd(sum, operatorNs(program.operators[i], tiling.rules[i], machine));
  return sum;
}

PartitionReport measurePartition(const TensorProgram &program, const PartitionMachine &machine, const Tiling &tiling) {
  const Mesh &mesh = machine.mesh;
  PartitionReport report;
  /// Bytes of a conversion by the two counts of areas: layers that are equal have equal ones.
  std::map<std::tuple<std::vector<int64_t>, int64_t, TilingCode, TilingCode>, std::array<int64_t, 2>> areas;
  forEachConversion(
      program, mesh, tiling,
      [&](TensorId id, OperatorId op, bool isResult, const std::vector<AxisTiling> &from,
          const std::vector<AxisTiling> &to, const std::vector<CollectiveStep> &halos) {
        const ProgramTensor &tensor = program.tensors[id.index()];
        PlannedConversion conversion{id, op, isResult, from, to, {}};
        conversion.steps = planConversion(tensor.shape, tensor.elementBytes, from, to, mesh);
        conversion.steps.insert(conversion.steps.end(), halos.begin(), halos.end());
        auto [known, isNew] = areas.try_emplace({tensor.shape, tensor.elementBytes, codeOf(from), codeOf(to)});
        if (isNew)
          known->second = {conversionCost(PartitionCost::Paper, tensor, from, to, mesh),
                           conversionCost(PartitionCost::Ghost, tensor, from, to, mesh)};
        auto [paper, ghost] = known->second;
        report.paperBytes = saturatingAdd(report.paperBytes, saturatingAdd(paper, haloBytes(halos)));
        report.ghostBytes = saturatingAdd(report.ghostBytes, saturatingAdd(ghost, haloBytes(halos)));
        for (const CollectiveStep &step : conversion.steps) {
          int64_t &kind = report.bytesByCollective[static_cast<size_t>(step.kind)];
          kind = saturatingAdd(kind, step.bytes);
          report.bytes = saturatingAdd(report.bytes, step.bytes);
          report.communicationNs = saturatingAdd(report.communicationNs, collectiveNs(step, mesh));
        }
        report.conversions.push_back(std::move(conversion));
      });
  for (size_t i = 0; i < program.operators.size(); ++i)
    report.computeNs = saturatingAdd(report.computeNs, operatorNs(program.operators[i], tiling.rules[i], machine));
  report.recursiveGhostBytes = recursiveGhost(program, mesh, tiling);
  report.makespanNs = simulate(program, machine, tiling, report.conversions);
  report.peakBytes = peakOf(program, mesh, tiling, report.conversions);
  return report;
}

} // namespace sluice
