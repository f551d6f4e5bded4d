//===- CostModel.h - How long things take -----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COST_COSTMODEL_H
#define SLUICE_COST_COSTMODEL_H

#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"

#include <memory>
#include <string>
#include <vector>

namespace sluice {

/// What an operator's time depends on, its name left out. Bytes as stored.
struct OperatorShape {
  std::string kind; ///< Operator::kind; empty: not known.
  int64_t flops = 0;
  int64_t bytesMoved = 0; ///< Of one execution, where the operator does not say: all read and written.
  int64_t inputBytes = 0; ///< Read, parameters and states apart.
  int64_t parameterBytes = 0;
  int64_t outputBytes = 0;
  int64_t workspaceBytes = 0;
};
OperatorShape shapeOf(const Graph &graph, OperatorId op);

/// max(flops / (rate x efficiency), bytes / bandwidth) / speed + launch overhead
/// (Williams, Waterman and Patterson 2009; speed is an emulated device's).
int64_t rooflineTimeNs(const OperatorShape &shape, const Device &device);

/// Injectable: solvers only ever see the table below.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Nanoseconds, at least 1.
  virtual int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const = 0;
};

/// rooflineTimeNs of every operator.
class RooflineCostModel final : public CostModel {
public:
  int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const override;
};

/// Times of every operator on every device, and of moving bytes over a link
/// alone (uncontended): what solvers and the simulator read.
struct CostTable {
  size_t numDevices = 0;
  std::vector<int64_t> operatorNs; ///< [operator * numDevices + device]

  int64_t timeNs(OperatorId op, DeviceId device) const { return operatorNs[op.index() * numDevices + device.index()]; }
};

CostTable makeCostTable(const Graph &graph, const Machine &machine, const CostModel &model);

/// ceil(bytes / bytesPerSec) in nanoseconds, at most 2^62. A part below 1e-6 ns
/// is rounding and does not count as one more.
int64_t movingTimeNs(double bytes, double bytesPerSec);

/// Latency + bytes / bytesPerSec, rounded up; one direction busy alone.
int64_t transferTimeNs(const Link &link, MemoryId from, int64_t bytes);
/// Of the faster direction.
int64_t transferTimeNs(const Link &link, int64_t bytes);

} // namespace sluice

#endif // SLUICE_COST_COSTMODEL_H
