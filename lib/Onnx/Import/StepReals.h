//===- StepReals.h - Real numbers that a step gives -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Scales, regions and distances that are known only at run time. They have double precision, because sizes and
// positions follow from them.
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
  /// The value of any type of numbers as doubles.
  mlir::Value of(mlir::Value numbers) { return build.cast(numbers, type()); }
  /// 0, 1, ... extent - 1.
  mlir::Value positions(int64_t extent) { return build.iota(type(), extent, 0, 1); }

  mlir::Value plus(mlir::Value x, double addend);
  mlir::Value times(mlir::Value x, double factor);
  mlir::Value floor(mlir::Value x) { return build.unary(dataflow::UnaryKind::floor, x); }
  mlir::Value ceil(mlir::Value x) { return build.unary(dataflow::UnaryKind::ceil, x); }
  mlir::Value compare(dataflow::ComparePredicate predicate, mlir::Value x, double with);

  /// Whole numbers as indices, clamped to [0, extent).
  mlir::Value indices(mlir::Value x, int64_t extent);
  /// A whole number as a count of elements. If no tensor can have that count, or if `isValid` (null means true) is
  /// false, the count exceeds all bounds, and the step fails.
  mlir::Value count(mlir::Value x, mlir::Value isValid = {});

  /// An interval of the elements of an operand, from the operators that compute them and from the user's bounds.
  RealInterval intervalAt(size_t index);
  RealInterval intervalOf(mlir::Value value) { return realIntervalOf(value, build.bounds); }

  /// An operand of one number as an extent, rounded down. If it has no other bound and `otherwise` is not negative, its
  /// bound is `otherwise`.
  llvm::FailureOr<NodeContext::Size> sizeAt(size_t index, llvm::StringRef what, int64_t otherwise = -1);

private:
  NodeContext &build;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_STEPREALS_H
