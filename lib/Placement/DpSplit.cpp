//===- DpSplit.cpp - Contiguous runs, one a device ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The solver follows the dynamic program of Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph
// Operators", NeurIPS 2020, section 5. The paper's program is over all ideals of the graph. This one is over the
// prefixes of one topological order.
//
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include <algorithm>
#include <limits>

namespace sluice {

/// Places to cut a long order at; the program takes their square.
static constexpr size_t kMostCuts = 1000;

Expected<ListSchedule> placeDpSplit(const SolverInput &input) {
  const Graph &graph = *input.problem.graph;
  const size_t numOps = input.topological.size();
  const size_t cuts = std::min(numOps, kMostCuts);
  auto cutAt = [&](size_t cut) { return cut * numOps / std::max<size_t>(cuts, 1); };

  // What crosses a cut moves once, in the mean.
  std::vector<size_t> position(numOps);
  for (size_t i = 0; i < numOps; ++i)
    position[input.topological[i].index()] = i;
  std::vector<double> crossing(numOps + 1);
  for (const Tensor &tensor : graph.tensors()) {
    if (!tensor.producer.valid() || tensor.consumers.empty())
      continue;
    size_t last = 0;
    for (OperatorId reader : tensor.consumers)
      last = std::max(last, position[reader.index()]);
    const double move = input.routes.meanNs(tensor.bytes);
    // A difference array: at cuts after the producer, up to the last reader.
    crossing[position[tensor.producer.index()] + 1] += move;
    if (last + 1 <= numOps)
      crossing[last + 1] -= move;
  }
  for (size_t i = 1; i <= numOps; ++i)
    crossing[i] += crossing[i - 1];
  crossing[0] = crossing[numOps] = 0;

  std::vector<DeviceId> devices = input.index.devices;
  std::vector<int64_t> total(input.problem.machine->devices.size());
  for (DeviceId device : devices)
    for (OperatorId op : input.topological)
      total[device.index()] += input.index.timeNs(op, device);
  std::stable_sort(devices.begin(), devices.end(),
                   [&](DeviceId a, DeviceId b) { return total[a.index()] < total[b.index()]; });

  // best[cut]: least largest load of all before the cut on the devices so far.
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> best(cuts + 1, kNone);
  best[0] = 0;
  std::vector<std::vector<uint32_t>> from; ///< Per device and cut: where its run begins.
  for (DeviceId device : devices) {
    std::vector<double> work(numOps + 1);
    for (size_t i = 0; i < numOps; ++i)
      work[i + 1] = work[i] + static_cast<double>(input.index.timeNs(input.topological[i], device));
    std::vector<double> next = best;
    std::vector<uint32_t> &begin = from.emplace_back(cuts + 1);
    for (uint32_t end = 0; end <= cuts; ++end) {
      begin[end] = end;
      for (uint32_t start = end; start-- > 0;) {
        const double run = work[cutAt(end)] - work[cutAt(start)];
        if (run >= next[end])
          break; // Longer runs only take longer.
        const double load = std::max(best[start], run + crossing[cutAt(start)] + crossing[cutAt(end)]);
        if (load < next[end]) {
          next[end] = load;
          begin[end] = start;
        }
      }
    }
    best = std::move(next);
  }

  std::vector<DeviceId> wanted(numOps);
  size_t end = cuts;
  for (size_t d = devices.size(); d-- > 0;) {
    for (size_t i = cutAt(from[d][end]); i < cutAt(end); ++i)
      wanted[input.topological[i].index()] = devices[d];
    end = from[d][end];
  }
  // Colours and capacities may keep an operator from its run.
  Settler settler(input.problem);
  for (OperatorId op : input.topological) {
    if (settler.deviceOf(op).valid())
      continue;
    SLUICE_RETURN_IF_ERROR(settler.choose(op, [&](DeviceId device) { return device != wanted[op.index()]; }));
  }
  return scheduleUnits(input, settler.units());
}

} // namespace sluice
