//===- IntegerBytes.h - What kernels of bytes share -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H
#define SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H

#include "dialects/Dataflow/Emit/IntegerProduct.h"
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

/// Elements of a tensor of bytes, from an index on. They lie along dimension `along`, behind which all extents are 1,
/// or, if the tensor is an argument, they are neighbours in memory from the index on.
struct ByteRun {
  mlir::Value tensor;
  llvm::SmallVector<mlir::Value> from;
  size_t along;
};

/// Copies the first `count` elements of a run to `to`, as A of a product: unsigned, in emit::lhsBytes(dot) bytes each.
/// The rest up to `padded` elements becomes 0.
void emitStageBytes(KernelEmitter &kernel, const ByteRun &run, const Extent &count, const Extent &padded,
                    emit::IntegerDot dot, mlir::Value to);

/// The extents of a product that a step may give: see emit::IntegerExtents.
struct IntegerSizes {
  Extent rows = 1, runs = 1, runsTogether = 1;
  Extent outerStride = 0, runStride = 0, strideH = 0;
  Extent columns = 1, length = 1;

  /// Writes the upper bounds to a specification, whose panels have been chosen.
  void describe(emit::IntegerSpec &spec) const;
  /// Work items: emit::parallelExtent of a step.
  Extent items(const emit::IntegerSpec &spec, const emit::VectorTarget &target) const;
  /// Emits what is no number.
  emit::IntegerExtents emitValues(KernelEmitter &kernel) const;
};

/// Fails, after an error, where a step gives the extent of a spatial dimension that pads crop.
llvm::LogicalResult checkCropped(mlir::Operation *conv, llvm::ArrayRef<Extent> image, llvm::ArrayRef<int64_t> pads);

/// Hands over `lanes` elements of a convolution's result of extents `out` for a sink's indices (run, row, column) of a
/// product whose runs are rows of windows or, where it is flat, that has one run of all pixels; `channel` is the first
/// element's.
void storePixel(KernelEmitter &kernel, mlir::Value value, mlir::ValueRange indices, llvm::ArrayRef<Extent> out,
                bool isFlat, mlir::Value channel, int64_t lanes);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H
