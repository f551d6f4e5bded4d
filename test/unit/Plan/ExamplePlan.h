//===- ExamplePlan.h - A small plan with every feature --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// x -> a(x, w) -> t;  t -> b in place -> u;  s' = c(u, s);  y = d(t2, s') where
// t2 = t swapped out and in again. One accelerator; w is kept there, its place
// lent to workspace and refilled; s is kept there and updated in place.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_PLAN_EXAMPLEPLAN_H
#define SLUICE_TEST_UNIT_PLAN_EXAMPLEPLAN_H

#include "sluice/Plan/Plan.h"

namespace sluice {

struct Example {
  Graph graph;
  Machine machine;
  Plan plan;

  // Tensors, 64 bytes each.
  TensorId x, w, s, t, u, next, y;
  OperatorId a, b, c, d;
  StreamId compute{0u}, in{1u}, out{2u};
  LinkId link{0u};
  // Residencies.
  ResidencyId xHome, wHome, wKept, sKept, xIn, tAcc, tHost, uAcc, workspace, wAgain, nextAcc, tAgain, yAcc, yHome;
  // Commands.
  CommandId copyX, runA, outT, runB, runC, inW, inT, runD, outY;

  TensorId tensor(std::string name, TensorKind kind) {
    Tensor tensor;
    tensor.name = std::move(name);
    tensor.kind = kind;
    tensor.bytes = 64;
    return graph.addTensor(tensor);
  }
  OperatorId op(std::string name, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    Operator op;
    op.name = std::move(name);
    op.kind = "k";
    op.inputs = std::move(inputs);
    op.outputs = std::move(outputs);
    return graph.addOperator(op);
  }
  ResidencyId residency(TensorId tensor, uint32_t memory, int64_t offset, bool initial = false) {
    plan.residencies.push_back({tensor, MemoryId(memory), Segment::Arena, offset, 64, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  ResidencyId home(TensorId tensor, bool initial) {
    plan.residencies.push_back({tensor, MemoryId(0u), Segment::Home, 0, 64, initial});
    return ResidencyId(plan.residencies.size() - 1);
  }
  CommandId launch(OperatorId op, std::vector<ResidencyId> reads, std::vector<ResidencyId> writes,
                   std::vector<CommandId> waits) {
    plan.commands.push_back({CommandKind::Launch, compute, op, {}, reads, writes, waits});
    return CommandId(plan.commands.size() - 1);
  }
  CommandId copy(StreamId stream, ResidencyId from, ResidencyId to, std::vector<CommandId> waits) {
    plan.commands.push_back({CommandKind::Copy, stream, {}, link, {from}, {to}, waits});
    return CommandId(plan.commands.size() - 1);
  }
  Command &command(CommandId id) { return plan.commands[id.index()]; }
  Residency &at(ResidencyId id) { return plan.residencies[id.index()]; }

  Example() {
    machine = *machinePreset("v100-16gb");
    x = tensor("x", TensorKind::Input);
    w = tensor("w", TensorKind::Parameter);
    s = tensor("s", TensorKind::State);
    t = tensor("t", TensorKind::Activation);
    u = tensor("u", TensorKind::Activation);
    next = tensor("s'", TensorKind::State);
    y = tensor("y", TensorKind::Activation);
    graph.setUpdates(next, s);
    graph.mutableTensor(y).isOutput = true;
    a = op("a", {x, w}, {t});
    b = op("b", {t}, {u});
    c = op("c", {u, s}, {next});
    d = op("d", {t, next}, {y});
    graph.mutableOp(b).inPlace = {{0, 0}};
    graph.mutableOp(c).inPlace = {{1, 0}};
    graph.mutableOp(c).workspaceBytes = 64;

    plan.placement.assign(4, DeviceId(1));
    plan.streams = {
        {DeviceId(1), StreamKind::Compute}, {DeviceId(1), StreamKind::SwapIn}, {DeviceId(1), StreamKind::SwapOut}};
    plan.arenaBytes = {64, 256};
    plan.solver = "by hand";
    plan.seed = ~uint64_t(0);
    plan.evaluations = 3;

    xHome = home(x, true);
    wHome = home(w, true);
    wKept = residency(w, 1, 0, true);
    sKept = residency(s, 1, 64, true);
    xIn = residency(x, 1, 128);
    tAcc = residency(t, 1, 192);
    tHost = residency(t, 0, 0);
    uAcc = residency(u, 1, 192);
    workspace = residency(TensorId(), 1, 0);
    nextAcc = residency(next, 1, 64);
    wAgain = residency(w, 1, 0);
    tAgain = residency(t, 1, 128);
    yAcc = residency(y, 1, 192);
    yHome = home(y, false);

    copyX = copy(in, xHome, xIn, {});
    runA = launch(a, {xIn, wKept}, {tAcc}, {copyX});
    outT = copy(out, tAcc, tHost, {runA});
    runB = launch(b, {tAcc}, {uAcc}, {outT}); // Overwrites what outT reads.
    runC = launch(c, {uAcc, sKept}, {nextAcc, workspace}, {});
    inW = copy(in, wHome, wAgain, {runC});
    inT = copy(in, tHost, tAgain, {outT, runA});
    runD = launch(d, {tAgain, nextAcc}, {yAcc}, {inT});
    outY = copy(out, yAcc, yHome, {runD});
  }
};

} // namespace sluice

#endif // SLUICE_TEST_UNIT_PLAN_EXAMPLEPLAN_H
