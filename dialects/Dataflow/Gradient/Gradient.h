//===- Gradient.h - What the operators' gradients share ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In the formulas, g is the gradient of the loss by a result y. If either y or an operand suffices, y is used, so that
// the operand's memory can be freed earlier.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_GRADIENT_GRADIENT_H
#define SLUICE_DATAFLOW_GRADIENT_GRADIENT_H

#include "dialects/Dataflow/Elementwise/Algebra.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sluice::dataflow {

/// Registers the models of GradientOpInterface.
void registerGradientModels(mlir::DialectRegistry &registry);

using Gradients = llvm::MutableArrayRef<mlir::Value>;

/// A tensor of zeros, which takes no space in a file.
inline mlir::Value zeros(TensorBuilder &build, mlir::RankedTensorType type) {
  return build.expand(build.splat(type.getElementType(), 0), type.getShape());
}

/// Sums over the dimensions that numpy's broadcasting repeated: the adjoint of broadcasting `shape` to the shape of
/// `gradient`.
mlir::Value sumTo(TensorBuilder &build, mlir::Value gradient, llvm::ArrayRef<int64_t> shape);

/// The adjoint of slice.
mlir::Value unslice(TensorBuilder &build, mlir::Value gradient, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> steps, mlir::RankedTensorType type);

/// Pads `x` with zeros: `low` elements before (negative numbers remove elements), and the rest after.
mlir::Value padTo(TensorBuilder &build, mlir::Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> shape);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_GRADIENT_GRADIENT_H
