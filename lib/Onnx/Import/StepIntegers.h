//===- StepIntegers.h - Integers that a step gives --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Axes, extents and positions that are known only at run time: i64 scalars and vectors, and operators that they
// control. Values known while importing fold.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_STEPINTEGERS_H
#define SLUICE_LIB_ONNX_IMPORT_STEPINTEGERS_H

#include "NodeContext.h"

namespace sluice::onnximport {

class StepIntegers {
public:
  explicit StepIntegers(NodeContext &node) : build(node) {}

  mlir::Value scalar(int64_t value);
  /// A scalar or vector of integers as a vector of i64.
  mlir::Value vectorOf(mlir::Value integers);
  /// A scalar of a vector.
  mlir::Value elementOf(mlir::Value vector, int64_t position);
  /// A vector of scalars.
  mlir::Value joined(llvm::ArrayRef<mlir::Value> scalars);
  /// 0, 1, ... extent - 1.
  mlir::Value positions(int64_t extent) { return build.iota(index(), extent, 0, 1); }

  mlir::Value clamp(mlir::Value x, mlir::Value low, mlir::Value high);
  /// Clamps to [low, high].
  mlir::Value clamp(mlir::Value x, int64_t low, int64_t high);
  mlir::Value both(mlir::Value a, mlir::Value b) { return build.binary(dataflow::BinaryKind::logical_and, a, b); }
  mlir::Value isAtLeast(mlir::Value x, int64_t least);
  /// The quotient rounded up, of a number that is not negative by one above 0.
  mlir::Value divideUp(mlir::Value x, mlir::Value by);
  mlir::Value isEqual(mlir::Value x, int64_t value);
  /// The truth value as 0 or 1.
  mlir::Value asNumber(mlir::Value condition) { return build.cast(condition, index()); }

  /// Axes of a tensor of this rank. Negative axes count from the end. Axes out of range are refused if they are known
  /// or an input of the model.
  llvm::FailureOr<mlir::Value> axes(size_t input, int64_t rank);
  /// `count` if a condition holds, else -1, at which the step fails.
  mlir::Value onlyIf(mlir::Value condition, mlir::Value count);
  /// Makes each step fail in which the condition is false. Checks nothing if steps cannot find extents. Reports a
  /// program that finds too many extents.
  llvm::LogicalResult require(mlir::Value condition);
  /// Whether axes differ from each other.
  mlir::Value areDistinct(mlir::Value axes, int64_t rank);
  /// For each of `rank` axes, the sum of the entries for this axis. `axes` and `entries` are vectors of one length.
  mlir::Value sumByAxis(mlir::Value axes, mlir::Value entries, int64_t rank);
  /// For each of `rank` axes: 1 if it is among `axes`, else 0.
  mlir::Value isAmong(mlir::Value axes, int64_t rank);

  /// The alternative with a scalar as its number, among `count` alternatives of one shape.
  mlir::Value choose(mlir::Value chosen, int64_t count, llvm::function_ref<mlir::Value(int64_t)> alternative);

  /// The elements of a dimension at the positions in a vector. Positions outside the dimension are clamped.
  mlir::Value gather(mlir::Value x, int64_t dimension, mlir::Value places);
  /// A tensor of these sizes whose element at i0, i1, ... is that of `x` at the row-major position i0 * strides[0] + i1
  /// * strides[1] + ... All of `x` must be valid. The elements are zeros if `x` has no elements. Null if the sizes are
  /// too large.
  mlir::Value strided(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes, llvm::ArrayRef<mlir::Value> strides);
  /// The elements of `x`, all of which must be valid, in row-major order.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes);
  /// Extends `x`, which must not exceed these sizes along any dimension, to have room for them.
  mlir::Value padTo(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes);
  /// Marks only the counts of these sizes as valid in `x`, which must have room for them.
  mlir::Value hold(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes);
  /// The elements of `x`, all of which must be valid, along one axis from position `start` on: as many as `size` has
  /// room for, with zeros after the end of `x`.
  mlir::Value cut(mlir::Value x, int64_t axis, mlir::Value start, const NodeContext::Size &size);
  /// What the model declares of these extents of its first output, which has so many dimensions; -1 for those of which
  /// it declares nothing.
  Dims declaredAt(llvm::ArrayRef<int64_t> axes, int64_t rank) const;
  /// A vector as a tensor of `rank` dimensions: it lies along one axis, and the other extents are 1.
  mlir::Value laid(mlir::Value vector, int64_t axis, int64_t rank);
  /// The count of a size.
  mlir::Value countOf(const NodeContext::Size &size) { return size.count ? size.count : scalar(size.room); }

private:
  mlir::Type index() { return build.mlir().getI64Type(); }

  NodeContext &build;
};

/// Chooses by axes that are known only at run time. Their number is known, so there are only a few possible sets of
/// axes. The importer builds an alternative for each set, and the axes of the step choose one.
class AxesChoice {
public:
  /// The axes are `size` of the `candidates`. Reports it if there are too many sets.
  static llvm::FailureOr<AxesChoice> create(NodeContext &node, mlir::Value axes, llvm::ArrayRef<int64_t> candidates,
                                            int64_t size);

  /// The sizes of a result whose shape for a set of axes is `shapeOf`. A step whose axes are in none of the sets fails.
  /// `isSure`: whether the axes are certainly one of the sets; then nothing is checked.
  llvm::FailureOr<llvm::SmallVector<NodeContext::Size>> sizes(llvm::function_ref<Dims(llvm::ArrayRef<int64_t>)> shapeOf,
                                                              bool isSure);
  /// The alternative for the axes of the step. All alternatives have one shape.
  mlir::Value choose(llvm::function_ref<mlir::Value(llvm::ArrayRef<int64_t>)> alternative);

private:
  explicit AxesChoice(NodeContext &node) : build(node) {}

  NodeContext &build;
  std::vector<Dims> sets;
  llvm::SmallVector<mlir::Value> isSet; ///< For each set: whether the axes of the step are this set.
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_STEPINTEGERS_H
