//===- Gradient.h - What the operators' gradients share ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In the formulas, g is the loss's gradient by a result y. Where y says as much
// as an operand it is preferred: the operand need not live until then.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_GRADIENT_GRADIENT_H
#define SLUICE_DATAFLOW_GRADIENT_GRADIENT_H

#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"

namespace sluice::dataflow {

using Gradients = llvm::MutableArrayRef<mlir::Value>;

inline mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }

/// The number as a scalar tensor of x's element type.
inline mlir::Value number(TensorBuilder &build, mlir::Value x, double value) {
  return build.splat(elementOf(x), value);
}

/// A tensor of zeros that no file holds.
inline mlir::Value zeros(TensorBuilder &build, mlir::RankedTensorType type) {
  return build.expand(build.splat(type.getElementType(), 0), type.getShape());
}

/// Sums what numpy broadcasting repeated: the adjoint of broadcasting `shape`
/// to the gradient's.
mlir::Value sumTo(TensorBuilder &build, mlir::Value gradient, llvm::ArrayRef<int64_t> shape);

/// The adjoint of slice.
mlir::Value unslice(TensorBuilder &build, mlir::Value gradient, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> steps, mlir::RankedTensorType type);

/// `x` within zeros: `low` more elements before (fewer where negative), the rest after.
mlir::Value padTo(TensorBuilder &build, mlir::Value x, llvm::ArrayRef<int64_t> low, llvm::ArrayRef<int64_t> shape);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_GRADIENT_GRADIENT_H
