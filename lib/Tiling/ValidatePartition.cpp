//===- ValidatePartition.cpp - Independent of the solvers ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/Units.h"
#include "sluice/Tiling/Partition.h"

#include <algorithm>
#include <limits>

namespace sluice {

/// What a step makes of a tiling; nothing where it does not apply to it.
static bool apply(const CollectiveStep &step, std::vector<AxisTiling> &held) {
  for (uint32_t axis : step.axes) {
    if (axis >= held.size())
      return false;
    AxisTiling &now = held[axis];
    // Parts of parts are joined before those that they are parts of.
    if (step.kind == CollectiveKind::AllGather || step.kind == CollectiveKind::AllToAll)
      for (size_t inner = axis + 1; inner < held.size(); ++inner)
        if (held[inner] == now)
          return false;
    switch (step.kind) {
    case CollectiveKind::Slice:
      if (!now.isReplicated())
        return false;
      now = AxisTiling::split(step.dim, step.blocks);
      break;
    case CollectiveKind::AllGather:
      if (now != AxisTiling::split(step.dim, step.blocks))
        return false;
      now = AxisTiling::replicated();
      break;
    case CollectiveKind::ReduceScatter:
      if (!now.isPartial())
        return false;
      now = AxisTiling::split(step.dim, step.blocks);
      break;
    case CollectiveKind::AllReduce:
      if (!now.isPartial())
        return false;
      now = AxisTiling::replicated();
      break;
    case CollectiveKind::AllToAll:
      if (now != AxisTiling::split(step.dim, step.blocks) || step.dim == step.splitDim)
        return false;
      now = AxisTiling::split(step.splitDim, step.splitBlocks);
      break;
    case CollectiveKind::Halo:
      if (now != AxisTiling::split(step.dim))
        return false;
      break;
    }
    // A part of a part must lie in it: what this axis splits, no inner one does.
    if (step.kind != CollectiveKind::Halo && now.isSplit())
      for (size_t inner = axis + 1; inner < held.size(); ++inner)
        if (held[inner] == now)
          return false;
    // Nor does any axis split the dimension in another number of blocks.
    for (size_t other = 0; other < held.size(); ++other)
      if (now.isSplit() && held[other].splits(now.dim) && held[other].blocks != now.blocks)
        return false;
  }
  return true;
}

/// Bytes that all devices together send in a step before which each has `own`.
static int64_t bytesSent(const CollectiveStep &step, int64_t own, int64_t rowBytes, const Mesh &mesh) {
  int64_t group = 1;
  for (uint32_t axis : step.axes)
    group *= mesh.axes[axis].size;
  const int64_t pairs = mesh.numDevices() / group * (group - 1);
  switch (step.kind) {
  case CollectiveKind::Slice:
    return 0;
  case CollectiveKind::AllGather:
    return saturatingMul(saturatingMul(pairs, group), own);
  case CollectiveKind::AllReduce:
    return saturatingMul(2 * pairs, own);
  case CollectiveKind::ReduceScatter:
  case CollectiveKind::AllToAll:
    return saturatingMul(pairs, own);
  case CollectiveKind::Halo:
    return saturatingMul(saturatingMul(pairs, step.halo.low + step.halo.high), rowBytes);
  }
  return -1;
}

/// How many elements of a dimension a device has. Its part of `extent` begins after all elements of which the devices
/// before it, by coordinates along the axes that split the dimension, have their share.
static int64_t elementsOf(int64_t extent, uint32_t dim, const std::vector<AxisTiling> &held,
                          const std::vector<int64_t> &coordinates, const Mesh &mesh) {
  int64_t parts = 1, part = 0;
  for (size_t axis = 0; axis < held.size(); ++axis)
    if (held[axis].splits(dim)) {
      parts *= mesh.axes[axis].size;
      part = part * mesh.axes[axis].size + coordinates[axis];
    }
  // The product of an extent and a number of devices may exceed 64 bits.
  const auto begin = [&](int64_t at) { return static_cast<int64_t>(static_cast<__int128>(extent) * at / parts); };
  return begin(part + 1) - begin(part);
}

/// The same as bytesSent for parts that may differ, device by device.
static int64_t unevenBytesSent(const CollectiveStep &step, const std::vector<int64_t> &shape, int64_t own,
                               const std::vector<int64_t> &part, const std::vector<AxisTiling> &before,
                               const std::vector<AxisTiling> &after, const Mesh &mesh) {
  int64_t elements = 0, unit = std::max<int64_t>(1, part[step.dim]);
  for (int64_t device = 0; device < mesh.numDevices(); ++device) {
    const std::vector<int64_t> at = mesh.coordinates(device);
    auto has = [&](uint32_t dim, const std::vector<AxisTiling> &held) {
      return elementsOf(shape[dim], dim, held, at, mesh);
    };
    if (step.kind == CollectiveKind::AllGather)
      elements += (mesh.axes[step.axes[0]].size - 1) * has(step.dim, before);
    else if (step.kind == CollectiveKind::ReduceScatter)
      elements += has(step.dim, before) - has(step.dim, after);
    else
      elements += has(step.dim, before) * (has(step.splitDim, before) - has(step.splitDim, after));
  }
  if (step.kind == CollectiveKind::AllToAll)
    unit *= std::max<int64_t>(1, part[step.splitDim]);
  return saturatingMul(elements, own / unit);
}

/// Whether all devices have equal parts of a dimension.
static bool isEven(int64_t extent, uint32_t dim, const std::vector<AxisTiling> &held, const Mesh &mesh) {
  int64_t parts = 1;
  for (size_t axis = 0; axis < held.size(); ++axis)
    if (held[axis].splits(dim))
      parts *= mesh.axes[axis].size;
  return extent % parts == 0;
}

/// Whether every device has an equal share of every block of dimensions that are split in strides.
static bool hasEqualShares(const std::vector<int64_t> &shape, const std::vector<AxisTiling> &held, const Mesh &mesh) {
  for (const AxisTiling &tiling : held)
    if (tiling.isSplit() && tiling.blocks != 1 &&
        (tiling.blocks < 1 || shape[tiling.dim] % tiling.blocks != 0 ||
         !isEven(shape[tiling.dim] / tiling.blocks, tiling.dim, held, mesh)))
      return false;
  return true;
}

/// The halos that an operand needs where its rules split it: axes, and what is exchanged along them.
static bool hasHalos(const ProgramOperator &op, size_t slot, const std::vector<uint32_t> &rules, const Mesh &mesh,
                     const PlannedConversion *conversion) {
  size_t wanted = 0, there = 0;
  for (uint32_t rule = 0; rule < op.rules.size(); ++rule) {
    const Halo halo = op.rules[rule].halo(slot);
    std::vector<uint32_t> axes;
    int64_t parts = 1;
    for (uint32_t axis = 0; axis < rules.size(); ++axis)
      if (rules[axis] == rule) {
        axes.push_back(axis);
        parts *= mesh.axes[axis].size;
      }
    if (halo.empty() || parts == 1)
      continue;
    ++wanted;
    for (size_t i = 0; conversion && i < conversion->steps.size(); ++i) {
      const CollectiveStep &step = conversion->steps[i];
      there += step.kind == CollectiveKind::Halo && step.axes == axes && step.halo == halo &&
               step.dim == op.rules[rule].operands[slot].dim;
    }
  }
  return wanted == there;
}

/// Bytes of one device's part.
static int64_t bytesOfPart(const ProgramTensor &tensor, const std::vector<AxisTiling> &tilings, const Mesh &mesh) {
  int64_t bytes = tensor.elementBytes;
  for (int64_t extent : partShape(tensor.shape, tilings, mesh))
    bytes = saturatingMul(bytes, extent);
  return bytes;
}

/// The most bytes that one device has while an operator runs. It has its part of every tensor from the operator that
/// makes the tensor, or from the start, to the last that reads it; results and all that no operator makes to the end. A
/// copy in another tiling lives from the first operator that reads it to the last, and what an operator makes before it
/// is converted lives with the operator. New values of states take the states' places. INT64_MAX: too many to count.
static int64_t peakBytes(const TensorProgram &program, const Mesh &mesh, const PartitionSolution &solution) {
  const size_t count = program.operators.size();
  // Per operator: bytes that are there from it on, and bytes that are there no more after it.
  std::vector<int64_t> begin(count, 0), end(count, 0);
  auto add = [&](size_t first, size_t last, int64_t bytes) {
    begin[first] = saturatingAdd(begin[first], bytes);
    end[last] = saturatingAdd(end[last], bytes);
  };
  std::vector<std::vector<std::pair<size_t, size_t>>> readers(program.tensors.size()); // Operator, operand.
  constexpr size_t kNobody = ~size_t(0);
  std::vector<size_t> maker(program.tensors.size(), kNobody);
  for (size_t i = 0; i < count; ++i) {
    for (size_t slot = 0; slot < program.operators[i].operands.size(); ++slot)
      readers[program.operators[i].operands[slot].index()].push_back({i, slot});
    for (TensorId result : program.operators[i].results)
      maker[result.index()] = i;
  }
  for (size_t t = 0; count > 0 && t < program.tensors.size(); ++t) {
    const ProgramTensor &tensor = program.tensors[t];
    const bool isMade = maker[t] != kNobody, isTemporary = tensor.role == TensorRole::Intermediate;
    if ((isMade && tensor.updates.valid()) || (!isMade && (isTemporary || tensor.role == TensorRole::Output)))
      continue;
    const bool isKept = !isMade || tensor.role == TensorRole::Output;
    const size_t first = isMade ? maker[t] : 0;
    const size_t last = isKept ? count - 1 : readers[t].empty() ? first : readers[t].back().first;
    add(first, last, bytesOfPart(tensor, solution.tiling.tensors[t], mesh));
  }
  for (const PlannedConversion &conversion : solution.report.conversions) {
    const size_t t = conversion.tensor.index(), at = conversion.op.index();
    size_t last = at;
    for (auto [reader, slot] : readers[t])
      if (!conversion.isResult && solution.tiling.operandTilings(program, OperatorId(reader), slot) == conversion.to)
        last = std::max(last, reader);
    add(at, last, bytesOfPart(program.tensors[t], conversion.isResult ? conversion.from : conversion.to, mesh));
  }
  int64_t now = 0, peak = 0;
  for (size_t i = 0; i < count; ++i) {
    now = saturatingAdd(now, begin[i]);
    peak = std::max(peak, now);
    if (now == std::numeric_limits<int64_t>::max())
      return now;
    now -= end[i];
  }
  return peak;
}

Status validatePartition(const TensorProgram &program, const PartitionMachine &machine,
                         const PartitionSolution &solution, std::optional<int64_t> memoryBytes) {
  SLUICE_RETURN_IF_ERROR(validateTiling(program, machine.mesh, solution.tiling));
  int64_t bytes = 0;
  std::vector<std::vector<const PlannedConversion *>> copies(program.tensors.size());
  std::vector<std::vector<AxisTiling>> made(program.tensors.size());
  for (const PlannedConversion &conversion : solution.report.conversions) {
    const ProgramTensor &tensor = program.tensors[conversion.tensor.index()];
    auto refuse = [&](const auto &...parts) {
      return makeError(ErrorCode::Internal, "the conversion of '", tensor.name, "' ", parts...);
    };
    if (conversion.op.index() >= program.operators.size())
      return refuse("names an operator that does not exist");
    std::vector<AxisTiling> held = conversion.from, begin = solution.tiling.tensors[conversion.tensor.index()];
    if (conversion.isResult) {
      const std::vector<TensorId> &results = program.operators[conversion.op.index()].results;
      const auto slot = std::find(results.begin(), results.end(), conversion.tensor);
      if (slot == results.end())
        return refuse("names a result of another operator");
      begin = solution.tiling.resultTilings(program, conversion.op, static_cast<size_t>(slot - results.begin()));
    }
    if (held != begin)
      return refuse("does not begin with the tiling that the tensor has");
    std::vector<int64_t> widened(tensor.shape.size(), 0); // By halos.
    for (const CollectiveStep &step : conversion.steps) {
      std::vector<int64_t> part = partShape(tensor.shape, held, machine.mesh);
      int64_t own = tensor.elementBytes;
      for (size_t dim = 0; dim < part.size(); ++dim)
        own = saturatingMul(own, part[dim] += widened[dim]);
      const std::vector<AxisTiling> before = held;
      if (!apply(step, held) || !hasEqualShares(tensor.shape, held, machine.mesh))
        return refuse("has the step ", collectiveName(step.kind),
                      ", which is not possible for the tiling at that point");
      const bool isHalo = step.kind == CollectiveKind::Halo;
      const int64_t row = isHalo ? own / std::max<int64_t>(1, part[step.dim]) : 0;
      const bool exchangesParts = step.kind == CollectiveKind::AllGather ||
                                  step.kind == CollectiveKind::ReduceScatter || step.kind == CollectiveKind::AllToAll;
      bool isUneven = false;
      for (uint32_t dim = 0; exchangesParts && dim < tensor.shape.size(); ++dim)
        isUneven |= !isEven(tensor.shape[dim], dim, before, machine.mesh) ||
                    !isEven(tensor.shape[dim], dim, held, machine.mesh);
      const int64_t sent = isUneven ? unevenBytesSent(step, tensor.shape, own, part, before, held, machine.mesh)
                                    : bytesSent(step, own, row, machine.mesh);
      if (step.ownBytes != own || step.bytes != sent)
        return refuse("has wrong sizes in the step ", collectiveName(step.kind));
      if (isHalo)
        widened[step.dim] += step.halo.low + step.halo.high;
      bytes = saturatingAdd(bytes, step.bytes);
    }
    if (held != conversion.to)
      return refuse("does not end with the tiling that it states");
    if (conversion.isResult)
      made[conversion.tensor.index()] = conversion.to;
    else
      copies[conversion.tensor.index()].push_back(&conversion);
  }
  if (bytes != solution.report.bytes)
    return makeError(ErrorCode::Internal, "the conversions send ", bytes, " bytes, and the report states ",
                     solution.report.bytes);
  for (size_t i = 0; i < program.operators.size(); ++i) {
    const ProgramOperator &op = program.operators[i];
    for (size_t slot = 0; slot < op.operands.size(); ++slot) {
      size_t tensor = op.operands[slot].index();
      std::vector<AxisTiling> wanted = solution.tiling.operandTilings(program, OperatorId(i), slot);
      const bool isGiven =
          (wanted == solution.tiling.tensors[tensor] &&
           hasHalos(op, slot, solution.tiling.rules[i], machine.mesh, nullptr)) ||
          std::any_of(copies[tensor].begin(), copies[tensor].end(), [&](const PlannedConversion *copy) {
            return copy->to == wanted && hasHalos(op, slot, solution.tiling.rules[i], machine.mesh, copy);
          });
      if (!isGiven)
        return makeError(ErrorCode::Internal, "operator '", op.name, "' does not get '", program.tensors[tensor].name,
                         "' in the tiling that its rule needs");
    }
    for (size_t slot = 0; slot < op.results.size(); ++slot) {
      size_t tensor = op.results[slot].index();
      if (solution.tiling.resultTilings(program, OperatorId(i), slot) != solution.tiling.tensors[tensor] &&
          made[tensor] != solution.tiling.tensors[tensor])
        return makeError(ErrorCode::Internal, "no conversion brings '", program.tensors[tensor].name,
                         "' into the tiling in which it is held");
    }
  }
  const int64_t peak = peakBytes(program, machine.mesh, solution);
  // Sums that stick at the end of 64 bits depend on their order.
  if (peak != solution.report.peakBytes && peak != std::numeric_limits<int64_t>::max())
    return makeError(ErrorCode::Internal, "the tiling needs ", peak, " bytes per device, and the report states ",
                     solution.report.peakBytes);
  if (memoryBytes && peak > *memoryBytes)
    return makeError(ErrorCode::Internal, "the tiling needs ", peak, " bytes per device, and the limit is ",
                     *memoryBytes);
  return {};
}

} // namespace sluice
