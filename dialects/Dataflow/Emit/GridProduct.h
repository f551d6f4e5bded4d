//===- GridProduct.h - Contractions as grids of tiles -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H
#define SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H

#include "dialects/Dataflow/Emit/KernelEmitter.h"

namespace sluice::dataflow {

/// C[m, n] = sum over k of A[m, k] * B[k, n], for each batch. What the operands
/// are, a matrix in memory or an image's windows, their readers know; they are
/// asked for elements in range alone and return them in the compute type.
struct GridProduct {
  int64_t batches = 1, m = 1, n = 1, k = 1;
  mlir::Type type;        ///< Of elements and sums: a compute type.
  bool lhsAlongK = true;  ///< Neighbours in memory differ in k, else in m.
  bool rhsAlongK = false; ///< In k, else in n.
  using Reader = llvm::function_ref<mlir::Value(mlir::Value batch, mlir::Value row, mlir::Value column)>;
  Reader lhs, rhs; ///< (batch, m, k), (batch, k, n).
  /// Takes element (m, n) of a batch: applies the epilogue and stores.
  llvm::function_ref<void(mlir::Value batch, mlir::Value m, mlir::Value n, mlir::Value sum)> sink;
};

/// One grid: a block computes a tile of C, its threads 1 to 8 x 8 elements each,
/// from tiles of A and B in shared memory; the next tiles are read while these
/// are multiplied. Sums over k are in order, a tile's terms first, in the type.
void emitGridProduct(KernelEmitter &kernel, const GridProduct &product);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H
