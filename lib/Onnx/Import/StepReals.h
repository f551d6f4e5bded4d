//===- StepReals.h - Real numbers that a step gives -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Scales, regions and distances that are known only when the model runs, in
// double precision: they decide sizes and positions.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_STEPREALS_H
#define SLUICE_LIB_ONNX_IMPORT_STEPREALS_H

#include "Intervals.h"
#include "NodeContext.h"

namespace sluice::onnximport {

class StepReals {
public:
  explicit StepReals(NodeContext &node) : build(node) {}

  mlir::Type type() { return build.mlir().getF64Type(); }
  mlir::Value number(double value) { return build.splat(type(), value); }
  /// Of any numbers.
  mlir::Value of(mlir::Value numbers) { return build.cast(numbers, type()); }
  /// 0, 1, ... extent - 1.
  mlir::Value positions(int64_t extent) { return build.iota(type(), extent, 0, 1); }

  mlir::Value plus(mlir::Value x, double addend);
  mlir::Value times(mlir::Value x, double factor);
  mlir::Value floor(mlir::Value x) { return build.unary(dataflow::UnaryKind::floor, x); }
  mlir::Value ceil(mlir::Value x) { return build.unary(dataflow::UnaryKind::ceil, x); }
  mlir::Value compare(dataflow::ComparePredicate predicate, mlir::Value x, double with);

  /// Indices of whole numbers, clamped to [0, extent).
  mlir::Value indices(mlir::Value x, int64_t extent);
  /// A count of elements of a whole number. Where this is none that a tensor can have, or `isValid` (null: true) does
  /// not hold, the count is above all bounds, and the step fails.
  mlir::Value count(mlir::Value x, mlir::Value isValid = {});

  /// What the elements of an operand are within, as far as the operators that compute them show, or the user says.
  RealInterval intervalAt(size_t index);
  RealInterval intervalOf(mlir::Value value) { return realIntervalOf(value, build.bounds); }

  /// An operand of one number as an extent, rounded down, of at most `otherwise` elements where nothing else bounds it
  /// and that is not negative.
  llvm::FailureOr<NodeContext::Size> sizeAt(size_t index, llvm::StringRef what, int64_t otherwise = -1);

private:
  NodeContext &build;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_STEPREALS_H
