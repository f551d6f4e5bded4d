//===- Programs.h - Programs of matrices --------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_TILING_PROGRAMS_H
#define SLUICE_TEST_UNIT_TILING_PROGRAMS_H

#include "sluice/Tiling/Partition.h"

#include <string>

namespace sluice::test {

/// Builds programs of f32 matrices whose operators have the rules of their kind.
class ProgramMaker {
public:
  TensorProgram program;
  bool uneven = false; ///< Whether the rules of the next operators allow uneven parts.
  uint32_t blocks = 1; ///< Above 1: the next operators also have their rules in so many blocks.

  TensorId tensor(const std::string &name, std::vector<int64_t> shape, TensorRole role) {
    program.tensors.push_back({name, std::move(shape), 4, role});
    return TensorId(program.tensors.size() - 1);
  }
  TensorId input(const std::string &name, int64_t rows, int64_t columns) {
    return tensor(name, {rows, columns}, TensorRole::Input);
  }
  /// a b, of operands transposed as said.
  TensorId matmul(const std::string &name, TensorId a, TensorId b, bool transposeA = false, bool transposeB = false) {
    const std::vector<int64_t> l = shape(a), r = shape(b);
    uint32_t m = transposeA, n = !transposeB;
    ProgramOperator op = start(name, {a, b}, {l[m], r[n]});
    op.flops = 2 * l[0] * l[1] * r[n];
    add(op, "rows", {AxisTiling::split(m), AxisTiling()}, AxisTiling::split(0), l[m]);
    add(op, "columns", {AxisTiling(), AxisTiling::split(n)}, AxisTiling::split(1), r[n]);
    add(op, "contraction", {AxisTiling::split(1 - m), AxisTiling::split(1 - n)}, AxisTiling::partial(PartialKind::Sum),
        l[1 - m]);
    return finish(std::move(op));
  }
  /// Operands of one shape.
  TensorId elementwise(const std::string &name, const std::vector<TensorId> &operands) {
    ProgramOperator op = start(name, operands, shape(operands[0]));
    op.flops = program.tensors[operands[0].index()].bytes() / 4;
    for (uint32_t d = 0; d < shape(operands[0]).size(); ++d)
      add(op, d ? "columns" : "rows", std::vector<AxisTiling>(operands.size(), AxisTiling::split(d)),
          AxisTiling::split(d), shape(operands[0])[d]);
    return finish(std::move(op));
  }
  TensorId transpose(const std::string &name, TensorId a) {
    ProgramOperator op = start(name, {a}, {shape(a)[1], shape(a)[0]});
    for (uint32_t d = 0; d < 2; ++d)
      add(op, d ? "columns" : "rows", {AxisTiling::split(d)}, AxisTiling::split(1 - d), shape(a)[d]);
    return finish(std::move(op));
  }
  /// The first or the second half of the columns: whole blocks of `a`, if its columns are two blocks.
  TensorId half(const std::string &name, TensorId a) {
    const int64_t rows = shape(a)[0], columns = shape(a)[1];
    ProgramOperator op = start(name, {a}, {rows, columns / 2});
    add(op, "rows", {AxisTiling::split(0)}, AxisTiling::split(0), rows);
    addRule(op, "columns in 2 blocks", {AxisTiling::split(1, 2)}, AxisTiling::split(1), columns / 2, false);
    return finish(std::move(op));
  }
  /// Made from nothing.
  TensorId create(const std::string &name, int64_t rows, int64_t columns) {
    ProgramOperator op = start(name, {}, {rows, columns});
    for (uint32_t d = 0; d < 2; ++d)
      add(op, d ? "columns" : "rows", {}, AxisTiling::split(d), d ? columns : rows);
    return finish(std::move(op));
  }
  void update(TensorId next, TensorId state) { program.tensors[next.index()].updates = state; }
  const std::vector<int64_t> &shape(TensorId id) const { return program.tensors[id.index()].shape; }

private:
  ProgramOperator start(const std::string &name, std::vector<TensorId> operands, std::vector<int64_t> result) {
    ProgramOperator op;
    op.name = name;
    op.operands = std::move(operands);
    op.results = {tensor(name, std::move(result), TensorRole::Intermediate)};
    op.rules = {replicatedRule(op.operands.size(), 1)};
    return op;
  }
  void add(ProgramOperator &op, const std::string &name, std::vector<AxisTiling> operands, AxisTiling result,
           int64_t divisor) {
    addRule(op, name, operands, result, divisor, uneven);
    if (blocks == 1 || divisor % blocks != 0)
      return;
    for (AxisTiling &operand : operands)
      operand.blocks = operand.isSplit() ? blocks : 1;
    result.blocks = result.isSplit() ? blocks : 1;
    addRule(op, name + " in blocks", std::move(operands), result, divisor / blocks, false);
  }
  void addRule(ProgramOperator &op, const std::string &name, std::vector<AxisTiling> operands, AxisTiling result,
               int64_t divisor, bool isUneven) {
    TilingRule rule;
    rule.name = name;
    rule.operands = std::move(operands);
    rule.results = {result};
    rule.divisor = divisor;
    rule.uneven = isUneven;
    op.rules.push_back(std::move(rule));
  }
  TensorId finish(ProgramOperator op) {
    TensorId result = op.results[0];
    op.bytesMoved = program.tensors[result.index()].bytes();
    for (TensorId id : op.operands)
      op.bytesMoved += program.tensors[id.index()].bytes();
    program.operators.push_back(std::move(op));
    return result;
  }
};

/// n devices as axes of 2, links alike.
inline PartitionMachine binaryMachine(int axes) {
  PartitionMachine machine;
  for (int i = 0; i < axes; ++i)
    machine.mesh.axes.push_back({"axis" + std::to_string(i), 2});
  return machine;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_TILING_PROGRAMS_H
