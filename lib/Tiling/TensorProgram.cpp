//===- TensorProgram.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Tiling/TensorProgram.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <set>

namespace sluice {

int64_t ProgramTensor::bytes() const {
  int64_t product = elementBytes;
  // An empty tensor is empty whatever its other extents.
  if (std::find(shape.begin(), shape.end(), 0) != shape.end())
    return 0;
  for (int64_t extent : shape)
    product = saturatingMul(product, extent);
  return product;
}

bool ProgramTensor::canSplit(size_t dim, int64_t parts, uint32_t blocks) const {
  const bool isState = role == TensorRole::State || updates.valid();
  if (blocks > 1)
    return parts <= 1 || (shape[dim] > 0 && shape[dim] % blocks == 0 && shape[dim] / blocks % parts == 0);
  return parts <= 1 || (shape[dim] > 0 && (isState ? shape[dim] % parts == 0 : shape[dim] >= parts));
}

namespace {
/// Whether a rule says of each of `tensors` something that suits it.
Status checkSlots(const TensorProgram &program, const TilingRule &rule, const std::vector<TensorId> &tensors,
                  const std::vector<AxisTiling> &tilings, bool areResults) {
  if (tilings.size() != tensors.size())
    return makeError(ErrorCode::InvalidInput, "rule '", rule.name, "' has ", tilings.size(), " tilings for ",
                     tensors.size(), areResults ? " results" : " operands");
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ProgramTensor &tensor = program.tensors[tensors[i].index()];
    if (tilings[i].isPartial() && !areResults)
      return makeError(ErrorCode::InvalidInput, "rule '", rule.name,
                       "' has a tiling with partial results for operand '", tensor.name,
                       "', and only results can be partial");
    if (!tilings[i].isSplit())
      continue;
    if (tilings[i].dim >= tensor.shape.size())
      return makeError(ErrorCode::InvalidInput, "rule '", rule.name, "' splits dimension ", tilings[i].dim, " of '",
                       tensor.name, "', which has rank ", tensor.shape.size());
    const uint32_t blocks = tilings[i].blocks;
    if (blocks < 1 || blocks > kMostBlocks || tensor.shape[tilings[i].dim] % blocks != 0 || (blocks > 1 && rule.uneven))
      return makeError(ErrorCode::InvalidInput, "rule '", rule.name, "' cannot split dimension ", tilings[i].dim,
                       " of '", tensor.name, "', whose extent is ", tensor.shape[tilings[i].dim], ", in ", blocks,
                       rule.uneven ? " blocks of uneven parts" : " blocks");
    if (rule.divisor < 1 || tensor.shape[tilings[i].dim] / blocks % rule.divisor != 0)
      return makeError(ErrorCode::InvalidInput, "rule '", rule.name, "' splits dimension ", tilings[i].dim, " of '",
                       tensor.name, "', whose extent ", tensor.shape[tilings[i].dim], " is not a multiple of ",
                       rule.divisor);
    if (rule.uneven && tensor.shape[tilings[i].dim] != rule.divisor)
      return makeError(ErrorCode::InvalidInput, "rule '", rule.name, "' has uneven parts of dimension ", tilings[i].dim,
                       " of '", tensor.name, "', whose extent ", tensor.shape[tilings[i].dim], " is not ",
                       rule.divisor);
  }
  return {};
}

Status checkRules(const TensorProgram &program, const ProgramOperator &op) {
  if (op.rules.empty() ||
      std::any_of(op.rules[0].operands.begin(), op.rules[0].operands.end(),
                  [](AxisTiling t) { return !t.isReplicated(); }) ||
      std::any_of(op.rules[0].results.begin(), op.rules[0].results.end(),
                  [](AxisTiling t) { return !t.isReplicated(); }))
    return makeError(ErrorCode::InvalidInput,
                     "the first rule does not replicate everything, put the rule 'replicated' first");
  std::set<std::string> names;
  for (const TilingRule &rule : op.rules) {
    if (!names.insert(rule.name).second)
      return makeError(ErrorCode::InvalidInput, "two rules are named '", rule.name, "', give each a name of its own");
    SLUICE_RETURN_IF_ERROR(checkSlots(program, rule, op.operands, rule.operands, false));
    SLUICE_RETURN_IF_ERROR(checkSlots(program, rule, op.results, rule.results, true));
    if (rule.divisor < 0 || rule.mostParts < 1 || (!rule.halos.empty() && rule.halos.size() != op.operands.size()))
      return makeError(
          ErrorCode::InvalidInput, "rule '", rule.name, "' has the divisor ", rule.divisor, ", at most ",
          rule.mostParts, " parts and ", rule.halos.size(), " halos for ", op.operands.size(),
          " operands, give a divisor of at least 0, at least 1 part, and either no halos or one for each operand");
    for (size_t i = 0; i < rule.halos.size(); ++i)
      if (rule.halos[i].low < 0 || rule.halos[i].high < 0 || (!rule.halos[i].empty() && !rule.operands[i].isSplit()))
        return makeError(ErrorCode::InvalidInput, "rule '", rule.name, "' has a negative halo, or one for operand ", i,
                         ", which the rule does not split, remove the halo");
  }
  return {};
}
} // namespace

Status TensorProgram::check() const {
  std::vector<bool> isWritten(tensors.size());
  auto isMade = [](TensorRole role) { return role == TensorRole::Intermediate || role == TensorRole::Output; };
  for (size_t i = 0; i < tensors.size(); ++i) {
    const ProgramTensor &tensor = tensors[i];
    isWritten[i] = !isMade(tensor.role);
    if (tensor.shape.size() > kMostTiledDims)
      return makeError(ErrorCode::Unsupported, "tensor '", tensor.name, "' has rank ", tensor.shape.size(),
                       ", more than ", kMostTiledDims, ", reshape it");
    if (tensor.elementBytes < 0 ||
        std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t extent) { return extent < 0; }))
      return makeError(ErrorCode::InvalidInput, "tensor '", tensor.name, "' has a negative size, correct its shape");
    if (!tensor.updates.valid())
      continue;
    if (tensor.updates.index() >= tensors.size() || tensors[tensor.updates.index()].role != TensorRole::State ||
        tensors[tensor.updates.index()].shape != tensor.shape)
      return makeError(ErrorCode::InvalidInput, "tensor '", tensor.name,
                       "' updates a tensor that is not a state or has a different shape, correct 'updates'");
  }
  for (const ProgramOperator &op : operators) {
    auto refuse = [&](const auto &...parts) {
      return makeError(ErrorCode::InvalidInput, "operator '", op.name, "': ", parts...);
    };
    if (op.flops < 0 || op.bytesMoved < 0)
      return refuse("negative work");
    for (TensorId id : op.operands)
      if (id.index() >= tensors.size() || !isWritten[id.index()])
        return refuse("an operand does not exist or is not written by an earlier operator");
    for (TensorId id : op.results) {
      if (id.index() >= tensors.size() || isWritten[id.index()])
        return refuse("a result does not exist, is an input of the program, or is written twice");
      isWritten[id.index()] = true;
    }
    if (Status status = checkRules(*this, op); !status)
      return refuse(status.error().message);
  }
  for (size_t i = 0; i < tensors.size(); ++i)
    if (!isWritten[i])
      return makeError(ErrorCode::InvalidInput, "tensor '", tensors[i].name,
                       "' is neither a result of an operator nor an input of the program, make it one of the two");
  return {};
}

int64_t Mesh::numDevices() const {
  int64_t product = 1;
  for (const MeshAxis &axis : axes)
    product = saturatingMul(product, axis.size);
  return product;
}

std::vector<int64_t> Mesh::coordinates(int64_t device) const {
  std::vector<int64_t> result(axes.size());
  for (size_t i = axes.size(); i-- > 0; device /= axes[i].size)
    result[i] = device % axes[i].size;
  return result;
}

Status Mesh::check() const {
  constexpr size_t kMostAxes = 12;
  constexpr int64_t kMostDevices = 65536;
  if (axes.empty() || axes.size() > kMostAxes)
    return makeError(ErrorCode::InvalidInput, "the mesh has ", axes.size(), " axes, give 1 to ", kMostAxes);
  std::set<std::string> names;
  for (const MeshAxis &axis : axes) {
    if (axis.size < 1)
      return makeError(ErrorCode::InvalidInput, "axis '", axis.name, "' has ", axis.size, " devices, give at least 1");
    if (!(axis.bytesPerSec > 0) || axis.latencyNs < 0)
      return makeError(ErrorCode::InvalidInput, "axis '", axis.name,
                       "' has links with a negative latency or without a rate, correct these links");
    if (!names.insert(axis.name).second)
      return makeError(ErrorCode::InvalidInput, "two axes of the mesh are named '", axis.name, "', rename one");
  }
  if (numDevices() > kMostDevices)
    return makeError(ErrorCode::InvalidInput, "the mesh has ", numDevices(), " devices, give at most ", kMostDevices);
  return {};
}

static std::vector<AxisTiling> slotTilings(const ProgramOperator &op, const std::vector<uint32_t> &rules, size_t slot,
                                           std::vector<AxisTiling> TilingRule::*which) {
  std::vector<AxisTiling> result;
  for (uint32_t rule : rules)
    result.push_back((op.rules[rule].*which)[slot]);
  return result;
}

std::vector<AxisTiling> Tiling::operandTilings(const TensorProgram &program, OperatorId op, size_t slot) const {
  return slotTilings(program.operators[op.index()], rules[op.index()], slot, &TilingRule::operands);
}

std::vector<AxisTiling> Tiling::resultTilings(const TensorProgram &program, OperatorId op, size_t slot) const {
  return slotTilings(program.operators[op.index()], rules[op.index()], slot, &TilingRule::results);
}

std::vector<uint32_t> messageRules(const ProgramOperator &op, const Mesh &mesh) {
  std::vector<uint32_t> rules(mesh.axes.size());
  int64_t parts = 1;
  for (size_t axis = 0; axis < rules.size() && op.rules.size() > 1; ++axis)
    if (op.rules[1].dividesEvenly(parts * mesh.axes[axis].size)) {
      rules[axis] = 1;
      parts *= mesh.axes[axis].size;
    }
  return rules;
}

bool tilingsCombine(const std::vector<AxisTiling> &tilings) {
  for (size_t a = 0; a < tilings.size(); ++a)
    for (size_t b = 0; b < a && tilings[a].isSplit(); ++b)
      if (tilings[b].splits(tilings[a].dim) && tilings[b] != tilings[a])
        return false;
  return true;
}

bool rulesCombine(const ProgramOperator &op, const std::vector<uint32_t> &rules) {
  for (size_t slot = 0; slot < op.operands.size(); ++slot)
    if (!tilingsCombine(slotTilings(op, rules, slot, &TilingRule::operands)))
      return false;
  for (size_t slot = 0; slot < op.results.size(); ++slot)
    if (!tilingsCombine(slotTilings(op, rules, slot, &TilingRule::results)))
      return false;
  return true;
}

std::vector<int64_t> partShape(const std::vector<int64_t> &shape, const std::vector<AxisTiling> &tilings,
                               const Mesh &mesh) {
  std::vector<int64_t> part = shape;
  for (size_t axis = 0; axis < tilings.size(); ++axis)
    if (tilings[axis].isSplit())
      part[tilings[axis].dim] = largestPart(part[tilings[axis].dim], mesh.axes[axis].size);
  return part;
}

Status validateTiling(const TensorProgram &program, const Mesh &mesh, const Tiling &tiling) {
  size_t numAxes = mesh.axes.size();
  if (tiling.tensors.size() != program.tensors.size() || tiling.rules.size() != program.operators.size())
    return makeError(ErrorCode::Internal, "the tiling is for another program");
  for (size_t i = 0; i < program.tensors.size(); ++i) {
    const ProgramTensor &tensor = program.tensors[i];
    auto refuse = [&](const auto &...parts) {
      return makeError(ErrorCode::Internal, "tensor '", tensor.name, "' ", parts...);
    };
    if (tiling.tensors[i].size() != numAxes)
      return refuse("has ", tiling.tensors[i].size(), " tilings for ", numAxes, " axes");
    std::map<uint32_t, int64_t> parts;
    for (size_t axis = 0; axis < numAxes; ++axis) {
      AxisTiling held = tiling.tensors[i][axis];
      if (held.isPartial())
        return refuse("is held as partial results along '", mesh.axes[axis].name, "'");
      if (!held.isSplit())
        continue;
      if (held.dim >= tensor.shape.size())
        return refuse("is split along dimension ", held.dim, " of ", tensor.shape.size());
      int64_t &count = parts.try_emplace(held.dim, 1).first->second;
      count *= mesh.axes[axis].size;
      if (held.blocks < 1 || held.blocks > kMostBlocks || !tensor.canSplit(held.dim, count, held.blocks))
        return refuse("of extent ", tensor.shape[held.dim], " in dimension ", held.dim, " is split in ", count,
                      " parts", held.blocks == 1 ? "" : concat(" of ", held.blocks, " blocks each"));
    }
    if (!tilingsCombine(tiling.tensors[i]))
      return refuse("is split along one dimension in different numbers of blocks");
    if (tensor.updates.valid() && tiling.tensors[i] != tiling.tensors[tensor.updates.index()])
      return refuse("has a tiling other than that of the state that it updates");
  }
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const ProgramOperator &op = program.operators[i];
    auto refuse = [&](const auto &...parts) {
      return makeError(ErrorCode::Internal, "operator '", op.name, "' ", parts...);
    };
    if (tiling.rules[i].size() != numAxes)
      return refuse("has ", tiling.rules[i].size(), " rules for ", numAxes, " axes");
    std::map<uint32_t, int64_t> parts;
    for (size_t axis = 0; axis < numAxes; ++axis) {
      uint32_t rule = tiling.rules[i][axis];
      if (rule >= op.rules.size())
        return refuse("has no rule ", rule);
      int64_t &count = parts.try_emplace(rule, 1).first->second;
      count *= mesh.axes[axis].size;
      if (!op.rules[rule].allows(count))
        return refuse("runs by rule '", op.rules[rule].name, "' on ", count, " parts, which this rule does not allow");
    }
    if (op.peer && tiling.rules[i] != messageRules(op, mesh))
      return refuse("sends or receives other parts than the program at its other end has");
    if (!rulesCombine(op, tiling.rules[i]))
      return refuse("runs by rules that split one dimension in different numbers of blocks");
    // Partial results of one kind only: a maximum of sums is no sum of maxima.
    for (size_t slot = 0; slot < op.results.size(); ++slot) {
      const AxisTiling *first = nullptr;
      for (uint32_t rule : tiling.rules[i]) {
        const AxisTiling &held = op.rules[rule].results[slot];
        if (held.isPartial() && first && first->reduction != held.reduction)
          return refuse("has partial results of two kinds");
        if (held.isPartial())
          first = &held;
      }
    }
  }
  return {};
}

} // namespace sluice
