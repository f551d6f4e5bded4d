//===- Example.h - A plan that swaps ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_COMPILER_EXAMPLE_H
#define SLUICE_TEST_UNIT_COMPILER_EXAMPLE_H

#include "sluice/Search/PlanFile.h"

#include <filesystem>
#include <string>
#include <unistd.h>

namespace sluice::test {

inline Tensor makeTensor(const std::string &name, TensorKind kind, int64_t bytes) {
  Tensor tensor;
  tensor.name = name;
  tensor.kind = kind;
  tensor.bytes = bytes;
  return tensor;
}

/// A file of this process's own, removed at the end.
struct ScratchFile {
  std::string path = (std::filesystem::temp_directory_path() / concat("sluice-plan-", getpid(), ".json")).string();
  ~ScratchFile() { std::filesystem::remove(path); }
};

/// x -> op0 -> ... -> op(n-1) -> out on an emulated accelerator that cannot hold
/// all parameters; every operator also reads a parameter of 640 bytes.
inline PlanFile chainPlan(size_t operators, const std::string &prefix = "op", int64_t capacityBytes = 2048) {
  Graph graph;
  graph.name = "chain " + prefix;
  TensorId value = graph.addTensor(makeTensor(prefix + "x", TensorKind::Input, 64));
  for (size_t i = 0; i < operators; ++i) {
    TensorId weight = graph.addTensor(makeTensor(concat(prefix, "w", i), TensorKind::Parameter, 640));
    Tensor result = makeTensor(concat(prefix, "t", i), TensorKind::Activation, 128);
    result.isOutput = i + 1 == operators;
    TensorId next = graph.addTensor(result);
    Operator op;
    op.name = concat(prefix, i);
    op.kind = "matmul";
    op.inputs = {value, weight};
    op.outputs = {next};
    graph.addOperator(op);
    value = next;
  }
  Machine machine = *machinePreset("emulated");
  CostTable costs = makeCostTable(graph, machine, RooflineCostModel());
  SearchProblem problem{&graph, &machine, &costs, {}, {}};
  for (const Memory &memory : machine.memories)
    problem.capacityBytes.push_back(memory.capacityBytes);
  problem.capacityBytes[1] = capacityBytes;
  SearchParams params;
  params.timeNs = 0;
  params.evaluations = 40;
  return makePlanFile(problem, *solveSearch(problem, params));
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_COMPILER_EXAMPLE_H
