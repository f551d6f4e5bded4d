//===- StepIntegers.h - Integers that a step gives --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Axes, extents and positions that are known only when the model runs: i64
// scalars and vectors, and operators that are told by them. What is known while
// importing folds.
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
  /// Within [low, high].
  mlir::Value clamp(mlir::Value x, int64_t low, int64_t high);
  mlir::Value both(mlir::Value a, mlir::Value b) { return build.binary(dataflow::BinaryKind::logical_and, a, b); }
  mlir::Value isAtLeast(mlir::Value x, int64_t least);
  /// Rounded up; for what is not negative, by what is above 0.
  mlir::Value divideUp(mlir::Value x, mlir::Value by);
  mlir::Value isEqual(mlir::Value x, int64_t value);
  /// As 0 or 1.
  mlir::Value asNumber(mlir::Value condition) { return build.cast(condition, index()); }

  /// Axes of a tensor of this rank, those that are negative counted from its end. Others are refused where they are
  /// known, or an input of the model.
  llvm::FailureOr<mlir::Value> axes(size_t input, int64_t rank);
  /// `count` where a condition holds, else -1, which fails the step that finds it.
  mlir::Value onlyIf(mlir::Value condition, mlir::Value count);
  /// Makes each step fail in which a condition does not hold. Checks nothing where steps find no extents. Reports a
  /// program that finds too many.
  llvm::LogicalResult require(mlir::Value condition);
  /// Whether axes differ from each other.
  mlir::Value areDistinct(mlir::Value axes, int64_t rank);
  /// For each of `rank` axes the sum of those entries whose axis it is; `axes` and `entries` are vectors of one length.
  mlir::Value sumByAxis(mlir::Value axes, mlir::Value entries, int64_t rank);
  /// For each of `rank` axes, 1 where it is among `axes`, else 0.
  mlir::Value isAmong(mlir::Value axes, int64_t rank);

  /// The alternative, of `count` that have one shape, whose number a scalar is.
  mlir::Value choose(mlir::Value chosen, int64_t count, llvm::function_ref<mlir::Value(int64_t)> alternative);

  /// The positions of a dimension that a vector names; a position outside the dimension is clamped to it.
  mlir::Value gather(mlir::Value x, int64_t dimension, mlir::Value places);
  /// Of these sizes; the element at i0, i1, ... is that of `x`, which holds whole, at the row-major position
  /// i0 * strides[0] + i1 * strides[1] + ... Zeros where `x` has no elements; null where the sizes are too large.
  mlir::Value strided(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes, llvm::ArrayRef<mlir::Value> strides);
  /// The elements of `x`, which holds whole, in row-major order.
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes);
  /// `x`, which has no more elements along any dimension than these sizes, with room for them.
  mlir::Value padTo(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes);
  /// `x`, which has room for these sizes, of which only their counts hold.
  mlir::Value hold(mlir::Value x, llvm::ArrayRef<NodeContext::Size> sizes);
  /// The elements of `x`, which holds whole, along one axis from position `start` on, zeros where `x` has none; as many
  /// as `size` has room for.
  mlir::Value cut(mlir::Value x, int64_t axis, mlir::Value start, const NodeContext::Size &size);
  /// What the model declares of these extents of its first output, which has so many dimensions; -1 for those of which
  /// it declares nothing.
  Dims declaredAt(llvm::ArrayRef<int64_t> axes, int64_t rank) const;
  /// A vector along one axis of a tensor of `rank` dimensions, the other extents 1.
  mlir::Value laid(mlir::Value vector, int64_t axis, int64_t rank);
  /// How many a size says.
  mlir::Value countOf(const NodeContext::Size &size) { return size.count ? size.count : scalar(size.room); }

private:
  mlir::Type index() { return build.mlir().getI64Type(); }

  NodeContext &build;
};

/// Chooses by axes that are known only when the model runs. Their number is known, so they are one of a few sets: the
/// importer builds an alternative for each set, and the axes of the step choose one.
class AxesChoice {
public:
  /// The axes are `size` of the `candidates`. Reports where there are too many sets.
  static llvm::FailureOr<AxesChoice> create(NodeContext &node, mlir::Value axes, llvm::ArrayRef<int64_t> candidates,
                                            int64_t size);

  /// Sizes of a result that has the shape `shapeOf` gives for a set. A step whose axes are none of the sets fails.
  /// `isSure`: the axes are one of the sets, and nothing is checked.
  llvm::FailureOr<llvm::SmallVector<NodeContext::Size>> sizes(llvm::function_ref<Dims(llvm::ArrayRef<int64_t>)> shapeOf,
                                                              bool isSure);
  /// The alternative for the axes of the step. All alternatives have one shape.
  mlir::Value choose(llvm::function_ref<mlir::Value(llvm::ArrayRef<int64_t>)> alternative);

private:
  explicit AxesChoice(NodeContext &node) : build(node) {}

  NodeContext &build;
  std::vector<Dims> sets;
  llvm::SmallVector<mlir::Value> isSet; ///< For each set: whether it is the axes of the step.
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_STEPINTEGERS_H
