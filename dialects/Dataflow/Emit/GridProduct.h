//===- GridProduct.h - Contractions as grids of tiles -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H
#define SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H

#include "dialects/Dataflow/Emit/KernelEmitter.h"

namespace sluice::dataflow {

/// One matrix for each batch, whose elements are those of a value of the kernel: of a matrix in memory, of an image's
/// windows, or of an expression.
struct ProductOperand {
  mlir::Value tensor;
  bool alongK = false; ///< Whether neighbours in memory differ in k; else they differ in m or n.
  /// A power of two. In that direction, each `run` elements from a multiple of `run` on are consecutive, and their
  /// address is a multiple of their size. If the first of them is in range, all can be read.
  int64_t run = 1;
  struct Place {
    llvm::SmallVector<mlir::Value> at;
    mlir::Value inside; ///< If it is false, the element is zero; null means true.
  };
  /// Maps (batch, m or n, k), which are in range, to the element's indices, which must always be in range.
  llvm::function_ref<Place(mlir::Value batch, mlir::Value along, mlir::Value k)> locate;
  /// If set, gives the element itself, of the product's type, in the place of a tensor's element.
  llvm::function_ref<mlir::Value(mlir::Value batch, mlir::Value along, mlir::Value k)> read;
};

/// The product C[m, n] = sum over k of A[m, k] * B[k, n], for each batch.
struct GridProduct {
  Extent batches = 1, m = 1, n = 1, k = 1;
  mlir::Type type; ///< The compute type of elements and sums.
  ProductOperand lhs, rhs;
  /// Takes element (m, n) of a batch, applies the epilogue and stores the result.
  llvm::function_ref<void(mlir::Value batch, mlir::Value m, mlir::Value n, mlir::Value sum)> sink;
};

/// The longest run of an operand in memory whose rows of `extent` elements follow one another without gaps: at most 16
/// bytes.
int64_t longestRun(mlir::Type elementType, const Extent &extent);

/// Emits one grid. A block computes a tile of C from tiles of A and B in shared memory. There are two tiles of each:
/// one is read while the other is multiplied. From sm_80 on, elements of at least 32 bits that need no arithmetic are
/// copied to shared memory without passing through registers.
///
/// If KernelEmitter::matmulPrecision() is F32, each thread has 1 to 8 x 8 elements; sums over k have the product's type
/// and are in order, tile by tile. At lower precision, from sm_80 on, tensor cores multiply f32 operands rounded to
/// nearest, or operands of 16 bits unchanged, into f32 sums; a warp has 16 x 8 elements at a time. Products smaller
/// than that use the form of F32. Tiles have the best size for the upper bounds of symbols.
void emitGridProduct(KernelEmitter &kernel, const GridProduct &product);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_GRIDPRODUCT_H
