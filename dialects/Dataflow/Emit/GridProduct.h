//===- GridProduct.h - Contractions as grids of tiles -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H
#define SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H

#include "dialects/Dataflow/Emit/KernelEmitter.h"

namespace sluice::dataflow {

/// A matrix for each batch, as elements of a value of the kernel: a matrix in
/// memory, an image's windows, an expression.
struct ProductOperand {
  mlir::Value tensor;
  bool alongK = false; ///< Neighbours in memory differ in k, else in m or n.
  /// From each multiple of so many on, in that direction, as many elements lie
  /// together, at an address that is a multiple of their size. All are there to
  /// be read if the first is in range. A power of two.
  int64_t run = 1;
  struct Place {
    llvm::SmallVector<mlir::Value> at;
    mlir::Value inside; ///< Null: always; else the element is zero where it is false.
  };
  /// (batch, m or n, k), in range: the element's indices, in range always.
  llvm::function_ref<Place(mlir::Value batch, mlir::Value along, mlir::Value k)> locate;
  /// Where set, the element itself, of the product's type, in the place of a tensor's.
  llvm::function_ref<mlir::Value(mlir::Value batch, mlir::Value along, mlir::Value k)> read;
};

/// C[m, n] = sum over k of A[m, k] * B[k, n], for each batch.
struct GridProduct {
  Extent batches = 1, m = 1, n = 1, k = 1;
  mlir::Type type; ///< Of elements and sums: a compute type.
  ProductOperand lhs, rhs;
  /// Takes element (m, n) of a batch: applies the epilogue and stores.
  llvm::function_ref<void(mlir::Value batch, mlir::Value m, mlir::Value n, mlir::Value sum)> sink;
};

/// The longest run of an operand in memory whose rows of `extent` elements lie
/// one behind the other: 16 bytes at most.
int64_t longestRun(mlir::Type elementType, const Extent &extent);

/// One grid: a block computes a tile of C from tiles of A and B in shared memory,
/// two of each: the next are read while these are multiplied. From sm_80 on,
/// elements of 32 bits and more that need no arithmetic are copied there without
/// going through registers.
///
/// At KernelEmitter::matmulPrecision() F32, threads have 1 to 8 x 8 elements each;
/// sums over k are in order, a tile's terms first, in the type. Below it, from
/// sm_80 on, tensor cores multiply f32 operands rounded to nearest, and those of
/// 16 bits as they are, into f32 sums, a warp 16 x 8 elements at a time; products
/// smaller than a fragment stay as they are. Tiles have the size that is best at the
/// upper bounds of symbols.
void emitGridProduct(KernelEmitter &kernel, const GridProduct &product);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H
