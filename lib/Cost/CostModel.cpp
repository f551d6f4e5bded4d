//===- CostModel.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/CostModel.h"

#include "sluice/Machine/FileTier.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>

namespace sluice {

int64_t movingTimeNs(double bytes, double bytesPerSec) {
  constexpr double kLongest = 0x1p62;
  double ns = bytes / (bytesPerSec * 1e-9) - 1e-6;
  if (!(ns > 0))
    return 0;
  return ns >= kLongest ? static_cast<int64_t>(kLongest) : static_cast<int64_t>(std::ceil(ns));
}

int64_t transferTimeNs(const Link &link, MemoryId from, int64_t bytes) {
  return saturatingAdd(link.latencyNs, movingTimeNs(static_cast<double>(bytes), link.rateFrom(from)));
}

int64_t transferTimeNs(const Link &link, int64_t bytes) {
  return saturatingAdd(link.latencyNs,
                       movingTimeNs(static_cast<double>(bytes), std::max(link.bytesPerSec, link.rateFrom(link.b))));
}

OperatorShape shapeOf(const Graph &graph, OperatorId id) {
  const Operator &op = graph.op(id);
  OperatorShape shape;
  shape.kind = op.kind;
  shape.flops = op.flops;
  shape.workspaceBytes = op.workspaceBytes;
  for (TensorId input : op.inputs) {
    const Tensor &tensor = graph.tensor(input);
    const bool moves = tensor.kind == TensorKind::Input || tensor.kind == TensorKind::Activation;
    int64_t &bytes = moves ? shape.inputBytes : shape.parameterBytes;
    bytes = saturatingAdd(bytes, tensor.bytes);
  }
  for (TensorId output : op.outputs)
    shape.outputBytes = saturatingAdd(shape.outputBytes, graph.tensor(output).bytes);
  shape.bytesMoved = op.bytesMoved;
  if (shape.bytesMoved == 0)
    shape.bytesMoved = saturatingAdd(saturatingAdd(shape.inputBytes, shape.parameterBytes), shape.outputBytes);
  return shape;
}

int64_t rooflineTimeNs(const OperatorShape &shape, const Device &device) {
  const double efficiency = efficiencyOf(device.efficiency, shape.kind);
  double speed = device.kind == DeviceKind::Emulated ? device.speed : 1.0;
  int64_t compute = movingTimeNs(static_cast<double>(shape.flops), device.flopsPerSec * efficiency * speed);
  int64_t memory = movingTimeNs(static_cast<double>(shape.bytesMoved), device.memoryBytesPerSec * speed);
  return std::max<int64_t>(1, saturatingAdd(std::max(compute, memory), device.launchOverheadNs));
}

int64_t RooflineCostModel::operatorTimeNs(const Graph &graph, OperatorId id, const Device &device) const {
  return rooflineTimeNs(shapeOf(graph, id), device);
}

CostTable makeCostTable(const Graph &graph, const Machine &machine, const CostModel &model) {
  CostTable table;
  table.numDevices = machine.devices.size();
  table.operatorNs.reserve(graph.numOperators() * table.numDevices);
  const MemoryId file = fileBelowHost(machine);
  const LinkId link = file.valid() ? machine.findLink(file, Machine::hostMemory()) : LinkId();
  for (size_t op = 0; op < graph.numOperators(); ++op) {
    // What the data of a step makes an operator read, it waits for.
    const int64_t demand = graph.op(OperatorId(op)).demandBytes;
    const int64_t readNs = link.valid() && demand > 0 ? transferTimeNs(machine.link(link), file, demand) : 0;
    for (const Device &device : machine.devices)
      table.operatorNs.push_back(
          saturatingAdd(std::max<int64_t>(1, model.operatorTimeNs(graph, OperatorId(op), device)), readNs));
  }
  return table;
}

} // namespace sluice
