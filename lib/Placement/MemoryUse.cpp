//===- MemoryUse.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MemoryUse.h"

#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice {

MemoryUse::MemoryUse(const PlacementProblem &problem)
    : problem(&problem), residentBytes(problem.machine->memories.size()), workingBytes(problem.machine->devices.size()),
      residentIds(problem.machine->memories.size()) {}

/// Parameters and states take room beside the arenas in the host's memory.
bool MemoryUse::stays(TensorId input, MemoryId memory) const {
  const TensorKind kind = problem->graph->tensor(input).kind;
  return memory != Machine::hostMemory() && (kind == TensorKind::Parameter || kind == TensorKind::State);
}

int64_t MemoryUse::workingSet(OperatorId id) const {
  const Operator &op = problem->graph->op(id);
  int64_t bytes = alignUp(op.workspaceBytes);
  for (const std::vector<TensorId> *list : {&op.inputs, &op.outputs})
    for (TensorId t : *list)
      if (const Tensor &tensor = problem->graph->tensor(t);
          tensor.kind != TensorKind::Parameter && tensor.kind != TensorKind::State && !tensor.updates.valid())
        bytes = saturatingAdd(bytes, alignUp(tensor.bytes));
  return bytes;
}

void MemoryUse::add(OperatorId op, DeviceId device) {
  if (!limited())
    return;
  const MemoryId memory = problem->machine->device(device).memory;
  for (TensorId input : problem->graph->op(op).inputs)
    if (stays(input, memory) && residentIds[memory.index()].insert(input.value).second)
      residentBytes[memory.index()] =
          saturatingAdd(residentBytes[memory.index()], alignUp(problem->graph->tensor(input).bytes));
  workingBytes[device.index()] = std::max(workingBytes[device.index()], workingSet(op));
}

int64_t MemoryUse::excessWith(std::span<const OperatorId> ops, DeviceId device) const {
  if (!limited())
    return 0;
  const MemoryId memory = problem->machine->device(device).memory;
  int64_t resident = residentBytes[memory.index()], working = workingBytes[device.index()];
  std::unordered_set<uint32_t> added;
  for (OperatorId op : ops) {
    for (TensorId input : problem->graph->op(op).inputs)
      if (stays(input, memory) && !residentIds[memory.index()].contains(input.value) &&
          added.insert(input.value).second)
        resident = saturatingAdd(resident, alignUp(problem->graph->tensor(input).bytes));
    working = std::max(working, workingSet(op));
  }
  for (size_t d = 0; d < workingBytes.size(); ++d)
    if (problem->machine->devices[d].memory == memory)
      resident = saturatingAdd(resident, d == device.index() ? working : workingBytes[d]);
  return resident - problem->capacityBytes[memory.index()];
}

std::vector<int64_t> placementBytes(const PlacementProblem &problem, std::span<const DeviceId> placement) {
  const Graph &graph = *problem.graph;
  const Machine &machine = *problem.machine;
  std::vector<int64_t> bytes(machine.memories.size()), working(machine.devices.size());
  for (const Tensor &tensor : graph.tensors()) {
    if (tensor.kind != TensorKind::Parameter && tensor.kind != TensorKind::State)
      continue;
    std::vector<uint8_t> counted(bytes.size());
    for (OperatorId reader : tensor.consumers) {
      const size_t m = machine.device(placement[reader.index()]).memory.index();
      if (m != 0 && !counted[m])
        bytes[m] = saturatingAdd(bytes[m], alignUp(tensor.bytes));
      counted[m] = 1;
    }
  }
  for (uint32_t i = 0; i < graph.numOperators(); ++i) {
    const Operator &op = graph.op(OperatorId(i));
    int64_t set = alignUp(op.workspaceBytes);
    for (TensorId input : op.inputs)
      if (const Tensor &tensor = graph.tensor(input);
          tensor.kind == TensorKind::Activation || tensor.kind == TensorKind::Input)
        if (!tensor.updates.valid())
          set = saturatingAdd(set, alignUp(tensor.bytes));
    for (TensorId output : op.outputs)
      if (!graph.tensor(output).updates.valid())
        set = saturatingAdd(set, alignUp(graph.tensor(output).bytes));
    int64_t &largest = working[placement[i].index()];
    largest = std::max(largest, set);
  }
  for (size_t d = 0; d < working.size(); ++d) {
    int64_t &total = bytes[machine.devices[d].memory.index()];
    total = saturatingAdd(total, working[d]);
  }
  return bytes;
}

} // namespace sluice
