//===- TilingPropagation.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/TilingPropagation.h"

namespace sluice {

TilingPropagation::TilingPropagation(const TensorProgram &program, std::function<bool(TensorId)> stays)
    : program(program), stays(std::move(stays)), dims(program.tensors.size()), reached(program.tensors.size()),
      users(program.tensors.size()), producer(program.tensors.size(), static_cast<uint32_t>(program.operators.size())) {
  for (uint32_t i = 0; i < program.operators.size(); ++i) {
    for (TensorId id : program.operators[i].operands)
      users[id.index()].push_back(i);
    for (TensorId id : program.operators[i].results) {
      users[id.index()].push_back(i);
      producer[id.index()] = i;
    }
  }
}

void TilingPropagation::split(TensorId tensor, uint32_t dim) {
  note(tensor, AxisTiling::split(dim));
  while (!open.empty()) {
    const uint32_t op = *open.begin();
    open.erase(open.begin());
    spread(op);
  }
}

void TilingPropagation::note(TensorId tensor, AxisTiling tiling) {
  if (!tiling.isSplit()) {
    reach(tensor);
    return;
  }
  if (tiling.blocks > 1) // The batch is not followed through strided parts.
    return;
  if (dims[tensor.index()] || (stays && stays(tensor)))
    return;
  dims[tensor.index()] = tiling.dim;
  reached[tensor.index()] = true;
  open.insert(users[tensor.index()].begin(), users[tensor.index()].end());
}

void TilingPropagation::reach(TensorId tensor) {
  std::vector<TensorId> list{tensor};
  while (!list.empty()) {
    const TensorId id = list.back();
    list.pop_back();
    if (reached[id.index()])
      continue;
    reached[id.index()] = true;
    if (const uint32_t op = producer[id.index()]; op < program.operators.size())
      list.insert(list.end(), program.operators[op].operands.begin(), program.operators[op].operands.end());
  }
}

void TilingPropagation::spread(uint32_t index) {
  const std::vector<uint32_t> rules = rulesOf(OperatorId(index));
  if (rules.size() != 1)
    return;
  const ProgramOperator &op = program.operators[index];
  const TilingRule &rule = op.rules[rules[0]];
  for (size_t slot = 0; slot < op.operands.size(); ++slot)
    note(op.operands[slot], rule.operands[slot]);
  for (size_t slot = 0; slot < op.results.size(); ++slot)
    note(op.results[slot], rule.results[slot]);
}

std::vector<uint32_t> TilingPropagation::rulesOf(OperatorId id) const {
  const ProgramOperator &op = program.operators[id.index()];
  std::vector<uint32_t> list;
  for (uint32_t r = 0; r < op.rules.size(); ++r) {
    auto keeps = [&](const std::vector<TensorId> &tensors, const std::vector<AxisTiling> &tilings) {
      for (size_t slot = 0; slot < tensors.size(); ++slot)
        if (const std::optional<uint32_t> dim = dimOf(tensors[slot]); dim && tilings[slot] == AxisTiling::split(*dim))
          return true;
      return false;
    };
    if (keeps(op.operands, op.rules[r].operands) || keeps(op.results, op.rules[r].results))
      list.push_back(r);
  }
  return list;
}

Tiling TilingPropagation::tiling(size_t axes) const {
  Tiling result;
  for (const std::optional<uint32_t> &dim : dims)
    result.tensors.emplace_back(axes, dim ? AxisTiling::split(*dim) : AxisTiling());
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const std::vector<uint32_t> rules = rulesOf(OperatorId(i));
    result.rules.emplace_back(axes, rules.size() == 1 ? rules[0] : 0U);
  }
  return result;
}

} // namespace sluice
