//===- BlockProduct.h - Products by weights in blocks -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Weights of 2, 4 or 8 bits are read as they lie in memory and become floats in
// registers. A field of a word, masked where it is, becomes the mantissa's low
// bits of a float whose exponent makes that field's lowest bit worth one: the
// float less that power of two is the field. So one mask and one subtraction,
// which takes the zero point with it, make an exact float; a shift is needed for
// the fields that reach beyond the mantissa's 23 bits alone.
//
// A product of few rows, as of one token, does so for every multiplication: it
// reads each byte once and waits for memory. A product of more rows unpacks a
// panel once into scratch, for the register tiles of emitMatmul.
//
// Rows that are rounded to bytes are multiplied by the words themselves: a mask
// leaves one field of each byte of a word, and an instruction for products of
// bytes multiplies it by four bytes of a row. The integer sums of a block are
// exact. Once a block, they become floats, in the same order for any number of
// rows.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCT_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCT_H

#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/IR/BlockPanels.h"

namespace sluice::emit {

struct BlockSpec {
  BlockPanels panels;
  int64_t rows = 1;       ///< Of A; the most that a step has.
  bool isRounded = false; ///< A is as RoundedRows says, and multipliesBytes holds.
  SinkStyle sinkStyle = SinkStyle::Inline;
};

/// Columns of a panel for a weight of so many columns.
int64_t blockPanel(int64_t columns, const VectorTarget &target);
/// The most rows of a product that unpacks its weight anew for every multiplication.
int64_t fewBlockRows(const VectorTarget &target);
/// Rows of a work item of a product of more rows. Work items are row blocks by panels, panels innermost; a product of
/// few rows has one row block.
int64_t blockRowBlock(const BlockSpec &spec, const VectorTarget &target);

/// Whether the target multiplies the panels' words by rounded rows.
bool multipliesBytes(const BlockPanels &panels, const VectorTarget &target);

struct BlockOperands {
  Source lhs;            ///< [rows][k], or rounded rows.
  mlir::Value packed;    ///< As BlockPanels says.
  mlir::Type scaleType;  ///< f32, f16 or bf16.
  mlir::Value rows = {}; ///< Of type i64, where the step gives them; null: the specification's.
};

/// C[m, n] = sum over k of A[m, k] * B[k, n] for the work items, with sums in f32. The panels are those of blockPanel
/// for the target. Sink indices: (m, n). Scratch: that of emitMatmul, and for f16 and bf16 up to 256 KiB.
void emitBlockProduct(mlir::OpBuilder &b, mlir::Location loc, const BlockSpec &spec, const VectorTarget &target,
                      const BlockOperands &operands, WorkItems items, SinkFn sink);

/// The rounding of a block. Its bytes are multiplied by `scale`. Its elements are multiplied by `factor` before they
/// are rounded to bytes. `mask` is 0 if the block has an infinity or NaN, else all ones: the elements of such a block
/// count as zeros, and its scale is no finite number. All three are scalars.
struct BlockRounding {
  mlir::Value scale, factor, mask;
};
/// Computes the rounding from the bits of the block's largest absolute value.
BlockRounding emitBlockRounding(mlir::OpBuilder &b, mlir::Location loc, mlir::Value mostBits);
/// The bytes of elements as f32 numbers, a scalar or vector.
mlir::Value emitRounded(mlir::OpBuilder &b, mlir::Location loc, mlir::Value elements, const BlockRounding &rounding);
/// Writes rows [begin, end) as `rows` says to `to`.
void emitRoundedRows(mlir::OpBuilder &b, mlir::Location loc, const RoundedRows &rows, const Source &from,
                     mlir::Value to, WorkItems items);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCT_H
