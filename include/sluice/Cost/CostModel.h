//===- CostModel.h - Times of operators and copies --------------*- C++ -*-===//
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

/// The properties that determine an operator's time. Bytes of tensors are Tensor::bytes: the size in memory, in the
/// layout that the kernels read.
struct OperatorShape {
  std::string kind; ///< Operator::kind; empty if it is unknown.
  int64_t flops = 0;
  int64_t bytesMoved = 0; ///< Bytes moved in one execution; by default all operands and results.
  int64_t inputBytes = 0; ///< Bytes read, without parameters and states.
  int64_t parameterBytes = 0;
  int64_t outputBytes = 0;
  int64_t workspaceBytes = 0;
};
OperatorShape shapeOf(const Graph &graph, OperatorId op);

/// The time of an operator by the roofline model: max(flops / (rate x efficiency), bytes / bandwidth) / speed + launch
/// overhead, where `speed` is Device::speed (Williams, Waterman and Patterson 2009).
int64_t rooflineTimeNs(const OperatorShape &shape, const Device &device);

/// The interface of cost models. Solvers do not call a model: they read the CostTable that makeCostTable() fills.
class CostModel {
public:
  virtual ~CostModel() = default;
  /// Nanoseconds, at least 1.
  virtual int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const = 0;
};

/// A cost model that returns rooflineTimeNs for every operator.
class RooflineCostModel final : public CostModel {
public:
  int64_t operatorTimeNs(const Graph &graph, OperatorId op, const Device &device) const override;
};

/// The time of every operator on every device, which solvers and the simulator read.
struct CostTable {
  size_t numDevices = 0;
  std::vector<int64_t> operatorNs; ///< [operator * numDevices + device]

  int64_t timeNs(OperatorId op, DeviceId device) const { return operatorNs[op.index() * numDevices + device.index()]; }
};

CostTable makeCostTable(const Graph &graph, const Machine &machine, const CostModel &model);

/// The time to move bytes: ceil(bytes / bytesPerSec) in nanoseconds, at most 2^62. A fraction below 1e-6 ns is a
/// rounding error and is not rounded up.
int64_t movingTimeNs(double bytes, double bytesPerSec);

/// The time in nanoseconds of a copy that is alone on the link: latency + bytes / bytesPerSec, rounded up.
int64_t transferTimeNs(const Link &link, MemoryId from, int64_t bytes);
/// The time of a copy that is alone on the link, in the faster direction.
int64_t transferTimeNs(const Link &link, int64_t bytes);

} // namespace sluice

#endif // SLUICE_COST_COSTMODEL_H
