//===- CostModelTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Cost/CostModel.h"
#include "sluice/Machine/FileTier.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace sluice;

/// One operator of 1e9 flops reading 1 MB and writing 2 MB.
static Graph oneOperator() {
  Graph graph;
  Tensor in, out;
  in.name = "in";
  in.kind = TensorKind::Input;
  in.bytes = 1'000'000;
  out.name = "out";
  out.bytes = 2'000'000;
  Operator op;
  op.name = "op";
  op.kind = "conv";
  op.inputs = {graph.addTensor(in)};
  op.outputs = {graph.addTensor(out)};
  op.flops = 1'000'000'000;
  graph.addOperator(op);
  return graph;
}

static Device device(double flopsPerSec, double bytesPerSec) {
  Device device;
  device.flopsPerSec = flopsPerSec;
  device.memoryBytesPerSec = bytesPerSec;
  device.launchOverheadNs = 10;
  return device;
}

TEST_CASE("the roofline takes the slower of computing and moving", "[cost]") {
  Graph graph = oneOperator();
  RooflineCostModel model;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), device(1e12, 1e12)) == 1'000'000 + 10);
  CHECK(model.operatorTimeNs(graph, OperatorId(0), device(1e15, 1e12)) == 3'000 + 10);
  graph.mutableOp(OperatorId(0)).bytesMoved = 9'000'000;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), device(1e15, 1e12)) == 9'000 + 10);
}

TEST_CASE("efficiency is the kind's, speed an emulated device's", "[cost]") {
  Graph graph = oneOperator();
  RooflineCostModel model;
  Device half = device(1e12, 1e15);
  half.efficiency["conv"] = 0.5;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), half) == 2'000'000 + 10);
  graph.mutableOp(OperatorId(0)).kind = "conv.pointwise";
  CHECK(model.operatorTimeNs(graph, OperatorId(0), half) == 2'000'000 + 10);
  half.efficiency["conv.pointwise"] = 0.25;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), half) == 4'000'000 + 10);
  half.efficiency = {{"matmul", 0.5}};
  CHECK(model.operatorTimeNs(graph, OperatorId(0), half) == 1'000'000 + 10);
  half.speed = 0.25;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), half) == 1'000'000 + 10);
  half.kind = DeviceKind::Emulated;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), half) == 4'000'000 + 10);
}

TEST_CASE("times are at least one and never overflow", "[cost]") {
  Graph graph = oneOperator();
  graph.mutableOp(OperatorId(0)).flops = 0;
  graph.mutableTensor(TensorId(0)).bytes = 0;
  graph.mutableTensor(TensorId(1)).bytes = 0;
  Device free = device(1e12, 1e12);
  free.launchOverheadNs = 0;
  RooflineCostModel model;
  CHECK(model.operatorTimeNs(graph, OperatorId(0), free) == 1);
  graph.mutableOp(OperatorId(0)).flops = std::numeric_limits<int64_t>::max();
  CHECK(model.operatorTimeNs(graph, OperatorId(0), device(1e-9, 1e12)) >= int64_t(1) << 62);
}

TEST_CASE("the table is by operator and device", "[cost]") {
  Graph graph = oneOperator();
  Machine machine;
  machine.memories.push_back({"host"});
  machine.devices = {device(1e12, 1e12), device(1e13, 1e12)};
  CostTable table = makeCostTable(graph, machine, RooflineCostModel());
  CHECK(table.timeNs(OperatorId(0), DeviceId(0)) == 1'000'010);
  CHECK(table.timeNs(OperatorId(0), DeviceId(1)) == 100'010);
}

TEST_CASE("what an operator reads from the file on demand, it waits for", "[cost]") {
  Graph graph = oneOperator();
  Machine machine;
  machine.memories = {{"host", 1'000'000'000}};
  machine.devices = {device(1e9, 1e9)};
  machine.devices[0].memory = Machine::hostMemory();
  const int64_t computing = makeCostTable(graph, machine, RooflineCostModel()).operatorNs[0];
  graph.mutableOp(OperatorId(0)).demandBytes = 5'000'000;
  // Without a file nothing is read.
  CHECK(makeCostTable(graph, machine, RooflineCostModel()).operatorNs[0] == computing);
  attachDisk(machine, {1e9, 2e9, 3000});
  CHECK(makeCostTable(graph, machine, RooflineCostModel()).operatorNs[0] == computing + 3000 + 5'000'000);
}

TEST_CASE("transfers round up after their latency", "[cost]") {
  Link link;
  link.bytesPerSec = 1e9;
  link.latencyNs = 100;
  CHECK(transferTimeNs(link, 0) == 100);
  CHECK(transferTimeNs(link, 1) == 101);
  CHECK(transferTimeNs(link, 1000) == 1100);
  link.bytesPerSec = 3e9;
  CHECK(transferTimeNs(link, 1000) == 434);
  link.bytesPerSec = 1.2e10;
  CHECK(transferTimeNs(link, 12'000'000'000) == 1'000'000'100); // No nanosecond from rounding.
  link.bytesPerSec = 1e-300;
  CHECK(transferTimeNs(link, std::numeric_limits<int64_t>::max()) >= int64_t(1) << 62);
}
