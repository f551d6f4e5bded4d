//===- TopcuogluTest.cpp - The worked example of the HEFT paper -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"
#include "sluice/Placement/Placement.h"

#include <catch2/catch.hpp>

using namespace sluice;

namespace {

/// Three tasks' times average to whole numbers in thirds: 3 us a unit.
constexpr int64_t kUnit = 3000;

/// Figure 2 of Topcuoglu, Hariri and Wu, "Performance-Effective and
/// Low-Complexity Task Scheduling for Heterogeneous Computing", IEEE TPDS 2002.
struct Example {
  Graph graph;
  Machine machine;
  CostTable costs;

  Example() {
    static constexpr int kTimes[10][3] = {{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17},  {12, 13, 10},
                                          {13, 16, 9}, {7, 15, 11},  {5, 11, 14},  {18, 12, 20}, {21, 7, 16}};
    static constexpr int kEdges[15][3] = {{1, 2, 18}, {1, 3, 12}, {1, 4, 9},   {1, 5, 11},  {1, 6, 14},
                                          {2, 8, 19}, {2, 9, 16}, {3, 7, 23},  {4, 8, 27},  {4, 9, 23},
                                          {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}};
    graph.name = "topcuoglu";
    std::vector<std::vector<TensorId>> inputs(11), outputs(11);
    for (const auto &[from, to, time] : kEdges) {
      Tensor tensor;
      tensor.name = concat("t", from, "-", to);
      tensor.bytes = time * kUnit;
      TensorId id = graph.addTensor(tensor);
      outputs[from].push_back(id);
      inputs[to].push_back(id);
    }
    Tensor last;
    last.name = "end";
    outputs[10].push_back(graph.addTensor(last));
    for (int task = 1; task <= 10; ++task) {
      Operator op;
      op.name = concat("T", task);
      op.inputs = inputs[task];
      op.outputs = outputs[task];
      graph.addOperator(op);
    }
    machine.name = "three processors";
    machine.memories.resize(4);
    machine.memories[0].name = "host";
    for (uint32_t i = 1; i <= 3; ++i) {
      machine.memories[i].name = concat("m", i);
      Device device;
      device.name = concat("p", i);
      device.kind = DeviceKind::Emulated;
      device.memory = MemoryId(i);
      machine.devices.push_back(device);
      for (uint32_t j = 0; j < i; ++j) {
        Link link;
        link.a = MemoryId(j);
        link.b = MemoryId(i);
        link.bytesPerSec = link.duplexBytesPerSec = 1e9; // A byte a nanosecond.
        link.latencyNs = 0;
        machine.links.push_back(link);
      }
    }
    costs.numDevices = 3;
    for (const auto &row : kTimes)
      for (int time : row)
        costs.operatorNs.push_back(time * kUnit);
  }
  PlacementProblem problem() const { return {&graph, &machine, &costs, {}}; }
};

/// What a solver sees of the example.
struct Prepared {
  Example example;
  PlacementProblem problem = example.problem();
  Routes routes{example.machine};
  StepIndex index{problem};
  std::vector<OperatorId> topological = *example.graph.topologicalOrder();
  SolverInput input{problem, routes, index, topological, {}, 0, 1};

  /// In the paper's model, where links are never contended.
  int64_t makespan(PlacementSolver solver) const {
    Expected<ListSchedule> schedule = solver(input);
    REQUIRE(schedule);
    CHECK(schedule->makespanNs % kUnit == 0);
    return schedule->makespanNs / kUnit;
  }
};

} // namespace

TEST_CASE("upward ranks of the HEFT paper's example", "[placement]") {
  Prepared prepared;
  std::vector<double> ranks = upwardRanks(prepared.input, true);
  const double expected[] = {108.000, 77.000, 80.000, 80.000, 69.000, 63.333, 42.667, 35.667, 44.333, 14.667};
  for (int i = 0; i < 10; ++i)
    CHECK(ranks[i] / kUnit == Approx(expected[i]).margin(0.001));
}

TEST_CASE("HEFT and CPOP reach the paper's makespans", "[placement]") {
  Prepared prepared;
  CHECK(prepared.makespan(placeHeft) == 80);
  CHECK(prepared.makespan(placeCpop) == 86);
  // Lookahead sees further than HEFT here.
  CHECK(prepared.makespan(placeLookahead) <= 80);
}

TEST_CASE("HEFT places the paper's example as its figure does", "[placement]") {
  Prepared prepared;
  ListSchedule schedule = *placeHeft(prepared.input);
  const uint32_t processor[] = {3, 1, 3, 2, 3, 2, 3, 1, 2, 2};
  const int64_t start[] = {0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
  for (int i = 0; i < 10; ++i) {
    CHECK(schedule.placement[i].index() + 1 == processor[i]);
    CHECK(schedule.intervals[i].startNs == start[i] * kUnit);
  }
}

TEST_CASE("the portfolio and the optimum on the HEFT paper's example", "[placement]") {
  Example example;
  PlacementProblem problem = example.problem();
  PlacementSolution best = *solvePlacement(problem, {"best"});
  PlacementSolution optimum = *solvePlacement(problem, {"exhaustive"});
  CHECK(optimum.optimal);
  CHECK(best.makespanNs == optimum.makespanNs);
  // Copies wait in line here, so HEFT's own 80 is out of reach.
  CHECK(optimum.makespanNs <= solvePlacement(problem, {"heft"})->makespanNs);
  CHECK(optimum.makespanNs >= placementLowerBoundNs(problem));
}
