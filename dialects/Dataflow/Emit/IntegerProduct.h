//===- IntegerProduct.h - Kernels for products of bytes ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Emits sum over k of (A - za) * (B - zb) in 32 bits, modulo 2^32, as
// register-tiled loops:
//
//   A.B - za * sum(B - zb) - zb * sum(A)
//
// If all rows have the same za, the sums start with the second term. If some zb is not 0, the sums of A's rows are
// computed once for all columns.
//
// The same loops multiply bf16 numbers, of which a pair takes the place of four bytes, and add the products in f32. A
// product of elements that are each the sum of two bf16 numbers takes four products, each exact.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCT_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCT_H

#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/IntegerProductSpec.h"

namespace sluice::emit {

/// Extents and strides that a step gives, of i64 type. The specification has their upper bounds, by which tiles and
/// blocks are chosen. A null value is the specification's number.
struct IntegerExtents {
  mlir::Value rows = {}, runs = {}, runsTogether = {};
  mlir::Value outerStride = {}, runStride = {}, strideH = {};
  /// The extents of B, if it has one segment. The distances between its panels and rows are those at the upper bounds.
  /// Rows of A are zero from `length` up to a multiple of stepOf(dot).
  mlir::Value columns = {}, length = {};
};

struct IntegerOperands {
  /// Unsigned bytes, or numbers of 16 bits with IntegerDot::Pairs. Elements after a tap's last, up to a multiple of the
  /// dot's depth, are read and have no effect.
  mlir::Value lhs;
  /// Signed bytes in the layout of IntegerPanels.
  mlir::Value rhs;
  /// Gives za as an i32, the same for all rows if `isZeroPerRow` is false; null if it is 0.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value run, mlir::Value row)> lhsZero = nullptr;
  bool isZeroPerRow = false;
  /// Whether as many rows as a tile has can be read from the first row of each run on, even if a step has fewer.
  bool hasRoomForTiles = false;
  /// If elements are floats: the bytes between the first parts of all elements, which begin at `lhs`, and the second
  /// parts.
  int64_t lhsPartBytes = 0;
  IntegerExtents extents = {};
};

/// Emits the code for the work items [begin, end). Sink indices: (run, row, n). Values are i32, or f32 for floats.
void emitIntegerProduct(mlir::OpBuilder &b, mlir::Location loc, const IntegerSpec &spec, const VectorTarget &target,
                        const IntegerOperands &operands, WorkItems items, SinkFn sink);

/// Adds to `sums` the products of `lhs` and `rhs`, vectors of depth * lanes elements: of lhsBytes(dot) bytes in `lhs`,
/// and signed bytes in `rhs`. If the sums are f32, the bytes are those of bf16 numbers.
mlir::Value emitIntegerDot(mlir::OpBuilder &b, mlir::Location loc, ByteInstructions instructions, IntegerDot dot,
                           mlir::Value sums, mlir::Value lhs, mlir::Value rhs);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCT_H
