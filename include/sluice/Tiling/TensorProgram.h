//===- TensorProgram.h - What is to be split over devices -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_TENSORPROGRAM_H
#define SLUICE_TILING_TENSORPROGRAM_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Ids.h"
#include "sluice/Tiling/TilingRule.h"

#include <string>
#include <vector>

namespace sluice {

inline constexpr size_t kMostTiledDims = 24;

enum class TensorRole : uint8_t {
  Input,        ///< Given at each run.
  Parameter,    ///< Constant.
  State,        ///< Kept from step to step.
  Intermediate, ///< An operator's result.
  Output,       ///< The same, handed out.
};

struct ProgramTensor {
  std::string name;
  std::vector<int64_t> shape;
  int64_t elementBytes = 0;
  TensorRole role = TensorRole::Intermediate;
  /// The state whose value in the next step this is: it is held as the state is.
  TensorId updates = {};

  int64_t bytes() const; ///< Saturating.
};

struct ProgramOperator {
  std::string name;
  std::vector<TensorId> operands, results; ///< A tensor may be an operand twice.
  int64_t flops = 0;
  int64_t bytesMoved = 0;        ///< Read and written, by all of it.
  std::vector<TilingRule> rules; ///< The first is replicatedRule.
  std::string kind = {};         ///< As Operator::kind: what a device's efficiency goes by.
};

/// A model as tensors, and operators in an order they can run in.
struct TensorProgram {
  std::string name;
  std::vector<ProgramTensor> tensors;
  std::vector<ProgramOperator> operators;

  /// Ids exist; extents and element bytes are not negative; each tensor has one
  /// producer, before its consumers, or none where its role says so; rules fit
  /// operands and results, split dimensions that divide as they say, are named apart.
  Status check() const;
};

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  double bytesPerSec = 1e10;  ///< What a device sends to others along the axis.
  int64_t latencyNs = 10'000; ///< Of one message.
};

/// Devices as a grid. The first axis is the outermost: its devices are joined by
/// the slowest links, and are the farthest apart in the numbering.
struct Mesh {
  std::vector<MeshAxis> axes;

  int64_t numDevices() const; ///< Saturating.
  /// The device's position along each axis.
  std::vector<int64_t> coordinates(int64_t device) const;
  /// 1 to 12 axes of 1 to 65536 devices together; names that differ; rates above 0.
  Status check() const;
};

/// The answer: per axis of the mesh, how each tensor is held between operators
/// and by which rule each operator runs. What differs is converted: a tensor is
/// brought to an operand's tiling before the operator, a result (which may be
/// partial) to its tensor's after it.
struct Tiling {
  std::vector<std::vector<AxisTiling>> tensors; ///< [tensor][axis]; never partial.
  std::vector<std::vector<uint32_t>> rules;     ///< [operator][axis]

  /// How rules want operand (or result) `slot` of an operator, per axis.
  std::vector<AxisTiling> operandTilings(const TensorProgram &program, OperatorId op, size_t slot) const;
  std::vector<AxisTiling> resultTilings(const TensorProgram &program, OperatorId op, size_t slot) const;
};

/// The extents one device holds. Several axes may split one dimension, the outer
/// one first. Extents divide (validateTiling).
std::vector<int64_t> partShape(const std::vector<int64_t> &shape, const std::vector<AxisTiling> &tilings,
                               const Mesh &mesh);

/// Names the first rule broken: there is a tiling a tensor and a rule an operator
/// along each axis, tensors divide evenly, rules allow as many parts as use them,
/// a state's next value is held as the state is.
Status validateTiling(const TensorProgram &program, const Mesh &mesh, const Tiling &tiling);

} // namespace sluice

#endif // SLUICE_TILING_TENSORPROGRAM_H
