//===- Gradients.h - Reverse-mode differentiation ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_GRADIENTS_H
#define SLUICE_PASSES_GRADIENTS_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sluice {

/// Adds the operators that compute the gradient of sum(roots[i] * seeds[i]) by each value of `wrt` (Griewank & Walther,
/// Evaluating Derivatives, ch. 3.2). Adds them at the builder's position, which must come after all operators that
/// `roots` follow from. The operators of a gradient have the name of the differentiated operator, followed by
/// ".gradient", and its dataflow.position if there is one.
///
/// Calls done(i, gradient) as soon as the gradient by wrt[i] is complete: operators added later neither read wrt[i] nor
/// add to its gradient. `done` may add operators itself. It is not called if no path leads from wrt[i] to a root.
///
/// Emits an error and fails if a path leads through an operator without a gradient. Integer values end paths, because
/// small changes of `wrt` do not change them. The values of `wrt` hold floats. One block has these
/// values, the roots, and all operators on the paths.
llvm::LogicalResult buildGradients(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> roots,
                                   llvm::ArrayRef<mlir::Value> seeds, llvm::ArrayRef<mlir::Value> wrt,
                                   llvm::function_ref<void(size_t, mlir::Value)> done);

} // namespace sluice

#endif // SLUICE_PASSES_GRADIENTS_H
