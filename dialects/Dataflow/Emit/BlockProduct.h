//===- BlockProduct.h - Products by weights in blocks -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Weights of 2, 4 or 8 bits are read unchanged from memory and become floats in registers. A field of a word is masked
// and becomes the low bits of the mantissa of a float, whose exponent gives the field's lowest bit the value 1. The
// float minus the power of two of that exponent is the field. So one mask and one subtraction, which includes the zero
// point, make an exact float. Only fields beyond the mantissa's 23 bits need a shift.
//
// A product of few rows, such as those of one token, does this for each multiplication: it reads each byte once, and
// memory limits its speed. A product of more rows unpacks a panel once into scratch, for the register tiles of
// emitMatmul.
//
// Rows that are rounded to bytes are multiplied by the words themselves: a mask leaves one field in each byte of a
// word, and an instruction for products of bytes multiplies these by four bytes of a row. The integer sums of a block
// are exact. After each block they become floats, in an order that does not depend on the number of rows.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCT_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCT_H

#include "dialects/Dataflow/Emit/Contraction.h"
#include "dialects/Dataflow/IR/BlockPanels.h"

namespace sluice::emit {

struct BlockSpec {
  BlockPanels panels;
  int64_t rows = 1;       ///< Rows of A, at most in any step.
  bool isRounded = false; ///< Whether A is in the form of RoundedRows; requires multipliesBytes.
  SinkStyle sinkStyle = SinkStyle::Inline;
};

/// The columns of a panel for a weight of `columns` columns.
int64_t blockPanel(int64_t columns, const VectorTarget &target);
/// The most rows of a product that unpacks its weight anew for every multiplication.
int64_t fewBlockRows(const VectorTarget &target);
/// The rows of a work item of a product of more than fewBlockRows rows. Work items are row blocks by panels, panels
/// innermost; a product of few rows has one row block.
int64_t blockRowBlock(const BlockSpec &spec, const VectorTarget &target);

/// Whether the target multiplies the panels' words by rounded rows.
bool multipliesBytes(const BlockPanels &panels, const VectorTarget &target);

struct BlockOperands {
  Source lhs;            ///< [rows][k], or rounded rows.
  mlir::Value packed;    ///< The weight, in the layout of BlockPanels.
  mlir::Type scaleType;  ///< f32, f16 or bf16.
  mlir::Value rows = {}; ///< The number of rows as an i64, if the step gives it; null for the specification's.
};

/// C[m, n] = sum over k of A[m, k] * B[k, n] for the work items, with sums in f32. The panels are those of blockPanel
/// for the target. Sink indices: (m, n). Scratch: as much as emitMatmul, and up to 256 KiB more for f16 and bf16.
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
/// Rounds rows [begin, end) and writes them to `to`, in the layout of `rows`.
void emitRoundedRows(mlir::OpBuilder &b, mlir::Location loc, const RoundedRows &rows, const Source &from,
                     mlir::Value to, WorkItems items);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_BLOCKPRODUCT_H
