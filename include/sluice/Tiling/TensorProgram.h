//===- TensorProgram.h - A program to split over devices --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_TENSORPROGRAM_H
#define SLUICE_TILING_TENSORPROGRAM_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Ids.h"
#include "sluice/Tiling/TilingRule.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

inline constexpr size_t kMostTiledDims = 24;

enum class TensorRole : uint8_t {
  Input,        ///< The caller passes it in each step.
  Parameter,    ///< Constant.
  State,        ///< Lives from step to step.
  Intermediate, ///< The result of an operator.
  Output,       ///< The result of an operator that is returned to the caller.
};

struct ProgramTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t elementBytes = 0;
  TensorRole role = TensorRole::Intermediate;
  /// If this tensor is the next value of a state: the state, which then has the same tiling as this tensor. Otherwise
  /// invalid.
  TensorId updates = {};

  int64_t bytes() const; ///< Saturating.
  /// Whether the tensor can be divided into `parts` parts along a dimension without an empty part. The parts of a state
  /// must be equal, because a state is written to files and joined from them. With blocks > 1 (AxisTiling::blocks),
  /// a part has a share of each block, and the parts must be equal.
  bool canSplit(size_t dim, int64_t parts, uint32_t blocks = 1) const;
};

struct ProgramOperator {
  std::string name;
  std::vector<TensorId> operands, results; ///< A tensor may be an operand twice.
  int64_t flops = 0;
  int64_t bytesMoved = 0;        ///< Bytes that the whole operator reads and writes.
  std::vector<TilingRule> rules; ///< The first is replicatedRule.
  std::string kind = {};         ///< Operator::kind, which determines the device's efficiency.
  /// Set if the operator is a message. `peer` is the rank at the other end. A message with an operand sends the operand
  /// to this rank; a message without an operand receives its result from this rank. The programs of both ends are split
  /// over meshes of the same axes. Both ends use the rules that messageRules() chooses, so sender and receiver divide
  /// the tensor into the same parts.
  std::optional<int64_t> peer = {};
};

/// A model as tensors, and as operators in an order in which they can run.
struct TensorProgram {
  std::string name;
  std::vector<ProgramTensor> tensors;
  std::vector<ProgramOperator> operators;

  /// Checks that ids exist, and that extents and element sizes are not negative. Intermediates and
  /// outputs must have one producer, before their consumers, and other tensors must have none. Rules
  /// must fit the operands and results and have distinct names. The divisor of a rule (TilingRule::divisor) must divide
  /// each extent that the rule splits. In a split of several blocks (AxisTiling::blocks), it must divide the extent of
  /// a block. A rule allows p parts if p divides the rule's divisor. A rule with uneven parts (TilingRule::uneven)
  /// allows each number up to its divisor, which is the extent itself.
  Status check() const;
};

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  double bytesPerSec = 1e10;  ///< Rate at which a device sends to others along the axis.
  int64_t latencyNs = 10'000; ///< Latency of one message.
};

/// The arrangement of devices in one or more axes. The first axis is the outermost one: its links are the slowest, and
/// neighbours along it have the device numbers that are furthest apart.
struct Mesh {
  std::vector<MeshAxis> axes;

  int64_t numDevices() const; ///< Saturating.
  /// The device's position along each axis.
  std::vector<int64_t> coordinates(int64_t device) const;
  /// Checks that there are 1 to 12 axes with distinct names, 1 to 65536 devices in all, and
  /// positive rates.
  Status check() const;
};

/// A solution. For each axis of the mesh it has a rule for each operator, and for each tensor the tiling in which the
/// tensor is stored between operators. If a rule needs another tiling of an operand than the tensor has, the tensor is
/// converted before the operator. A result may be partial: each device then has one operand of a reduction, such as one
/// summand of the result. After the operator, the result is converted to the tiling of its tensor.
struct Tiling {
  std::vector<std::vector<AxisTiling>> tensors; ///< [tensor][axis]; never partial.
  std::vector<std::vector<uint32_t>> rules;     ///< [operator][axis]

  /// Per axis: the tiling that the operator's rule has for operand (or result) `slot`.
  std::vector<AxisTiling> operandTilings(const TensorProgram &program, OperatorId op, size_t slot) const;
  std::vector<AxisTiling> resultTilings(const TensorProgram &program, OperatorId op, size_t slot) const;
};

/// Chooses a rule of a message for each axis, in the order of the axes. The first rule of a message replicates it; the
/// second rule, if there is one, splits it. Take an axis together with the earlier axes that got the second rule.
/// If the second rule exists and divides the message equally over all of them, this axis gets it too, and otherwise the
/// first rule.
/// The choice depends only on the extents and the mesh.
std::vector<uint32_t> messageRules(const ProgramOperator &op, const Mesh &mesh);

/// Whether tilings along different axes can be used together. False if two axes split one dimension in different
/// numbers of blocks, because these parts do not nest.
bool tilingsCombine(const std::vector<AxisTiling> &tilings);
/// Whether tilingsCombine() holds for each operand and result of an operator. `rules` has the operator's rule per axis.
bool rulesCombine(const ProgramOperator &op, const std::vector<uint32_t> &rules);

/// The shape of the largest part. Every device reserves memory for this shape, even if its own part is smaller. Several
/// axes may split one dimension, the outer axis first.
std::vector<int64_t> partShape(const std::vector<int64_t> &shape, const std::vector<AxisTiling> &tilings,
                               const Mesh &mesh);

/// Checks a solution; the message names the first broken condition. The conditions are: along each axis there is a
/// tiling for each tensor and a rule for each operator; the tensors can be split in this way (ProgramTensor::canSplit);
/// each rule allows the number of devices that use it; the rules of an operator combine (rulesCombine); messages use
/// the rules that messageRules() chooses; and a state and its next value have the same tiling.
Status validateTiling(const TensorProgram &program, const Mesh &mesh, const Tiling &tiling);

} // namespace sluice

#endif // SLUICE_TILING_TENSORPROGRAM_H
