//===- Gradients.h - Reverse-mode differentiation ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_GRADIENTS_H
#define SLUICE_PASSES_GRADIENTS_H

#include "dialects/Dataflow/IR/Dataflow.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace sluice {

/// Adds at the builder's point, after everything in the block that `roots`
/// follow from, the operators that compute the gradient of sum(roots[i] *
/// seeds[i]) by each of `wrt` (Griewank & Walther, Evaluating Derivatives,
/// ch. 3.2). An operator and those of its gradient have one name, the latter
/// with ".gradient" behind it, and one dataflow.position if it has one.
///
/// Calls done(i, gradient) once the gradient by wrt[i] is complete, as early as
/// that is: no operator added later reads wrt[i] or adds to its gradient. It may
/// add operators itself. Not called where no path leads from wrt[i] to a root.
///
/// Fails, after an error on the operator, where a path leads through one that
/// has no gradient. Integer values end paths, as what follows from them does
/// not change with small changes. `wrt` are of one block, as are the operators
/// between them and the roots, and hold floats.
llvm::LogicalResult buildGradients(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Value> roots,
                                   llvm::ArrayRef<mlir::Value> seeds, llvm::ArrayRef<mlir::Value> wrt,
                                   llvm::function_ref<void(size_t, mlir::Value)> done);

} // namespace sluice

#endif // SLUICE_PASSES_GRADIENTS_H
