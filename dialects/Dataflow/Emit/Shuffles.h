//===- Shuffles.h - Exchanges between vectors -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_SHUFFLES_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_SHUFFLES_H

#include "mlir/IR/Builders.h"

namespace sluice::emit {

/// Transposes a square of vectors: n vectors of n lanes, where n is a power of two. Takes log2(n) rounds of shuffles.
llvm::SmallVector<mlir::Value, 16> transposeSquare(mlir::OpBuilder &b, mlir::Location loc,
                                                   llvm::SmallVector<mlir::Value, 16> rows);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_SHUFFLES_H
