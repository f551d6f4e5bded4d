//===- IntegerBytes.h - What kernels of bytes share -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H
#define SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H

#include "dialects/Dataflow/Emit/IntegerProductSpec.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/IR/IntegerShapes.h"
#include "dialects/Dataflow/IR/Shapes.h"

namespace sluice::dataflow {

inline Rate rateOf(emit::IntegerDot dot) {
  return dot == emit::IntegerDot::Tiles ? Rate::TileProducts : Rate::ByteProducts;
}

/// A byte of element type `type`, a scalar or vector, as i32.
mlir::Value emitWideByte(KernelEmitter &kernel, mlir::Value byte, mlir::Type type);
/// The byte, signed or not, plus 128 where `type` is signed: unsigned. Less 128 where it is unsigned, likewise.
mlir::Value emitFlippedByte(KernelEmitter &kernel, mlir::Value byte);
void emitUnalignedStore(KernelEmitter &kernel, mlir::Value value, mlir::Value pointer);

/// Element (k, n) of packed matrix number `matrix`, less its zero point, as i32.
mlir::Value emitPackedElement(KernelEmitter &kernel, mlir::Value packed, const emit::IntegerPanels &panels,
                              mlir::Value matrix, mlir::Value k, mlir::Value n);

/// Whether the target has the vectors and the instructions that the panels were made for.
bool canRunPanels(const KernelEmitter &kernel, const emit::IntegerPanels &panels);

/// Copies `count` elements along the last dimension of `tensor`, of bytes, from `from` on to `to`, as A of a product:
/// unsigned, in emit::lhsBytes(dot) bytes each. What is left up to `padded` elements becomes 0.
void emitStageBytes(KernelEmitter &kernel, mlir::Value tensor, mlir::ValueRange from, int64_t count, int64_t padded,
                    emit::IntegerDot dot, mlir::Value to);

/// Where a convolution's result lies for a sink's indices (run, row, column) of a product with `runs` rows of windows,
/// of which a pointwise one has a single run of all pixels; `channel` is the column's.
llvm::SmallVector<mlir::Value> windowIndices(KernelEmitter &kernel, mlir::ValueRange indices,
                                             llvm::ArrayRef<int64_t> out, int64_t runs, mlir::Value channel);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H
