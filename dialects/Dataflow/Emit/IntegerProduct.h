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
// The second term starts the sums where one za serves all rows. Where some zb
// is not 0, the sums of A's rows are taken once for all columns.
//
// Numbers of bf16 lie as pairs where bytes lie as quads: the same loops add
// their products in f32. An element that is the sum of two of them takes four
// products, each exact.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCT_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCT_H

#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/Emit/IntegerProductSpec.h"

namespace sluice::emit {

/// Extents and strides that a step gives, of i64 type. The specification has their upper bounds, by which tiles and
/// blocks are chosen. Null: it is a number, the specification's.
struct IntegerExtents {
  mlir::Value rows = {}, runs = {}, runsTogether = {};
  mlir::Value outerStride = {}, runStride = {}, strideH = {};
  /// Of B, where it has one segment: its panels and rows lie as far apart as at the upper bounds. Rows of A are zero
  /// from `length` up to a multiple of stepOf(dot).
  mlir::Value columns = {}, length = {};
};

struct IntegerOperands {
  /// Unsigned bytes, or with IntegerDot::Pairs numbers of 16 bits. Elements behind a tap's last, up to a multiple of
  /// the dot's depth, are read and do not matter.
  mlir::Value lhs;
  /// Signed bytes as IntegerPanels says.
  mlir::Value rhs;
  /// za as an i32, of all rows where `isZeroPerRow` is false; null where it is 0.
  std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value run, mlir::Value row)> lhsZero = nullptr;
  bool isZeroPerRow = false;
  /// As many rows as a tile has can be read from the first row of any run on, where a step has fewer.
  bool hasRoomForTiles = false;
  /// Bytes between the first numbers of all elements, at `lhs`, and the second ones, where elements are floats.
  int64_t lhsPartBytes = 0;
  IntegerExtents extents = {};
};

/// For the work items [begin, end). Sink indices: (run, row, n); values are i32, of floats f32.
void emitIntegerProduct(mlir::OpBuilder &b, mlir::Location loc, const IntegerSpec &spec, const VectorTarget &target,
                        const IntegerOperands &operands, WorkItems items, SinkFn sink);

/// `sums` + the products of `lhs` and `rhs`, vectors of depth * lanes elements of lhsBytes(dot) and of signed bytes.
/// Where the sums are f32, the bytes are those of bf16 numbers.
mlir::Value emitIntegerDot(mlir::OpBuilder &b, mlir::Location loc, ByteInstructions instructions, IntegerDot dot,
                           mlir::Value sums, mlir::Value lhs, mlir::Value rhs);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_INTEGERPRODUCT_H
