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

/// Extends a byte of element type `type`, a scalar or vector, to i32.
mlir::Value emitWideByte(KernelEmitter &kernel, mlir::Value byte, mlir::Type type);
/// Flips the highest bit of a byte, which makes a signed byte plus 128 unsigned, and an unsigned byte minus 128 signed.
mlir::Value emitFlippedByte(KernelEmitter &kernel, mlir::Value byte);
void emitUnalignedStore(KernelEmitter &kernel, mlir::Value value, mlir::Value pointer);

/// Element (k, n) of packed matrix number `matrix`, less its zero point, as i32.
mlir::Value emitPackedElement(KernelEmitter &kernel, mlir::Value packed, const emit::IntegerPanels &panels,
                              mlir::Value matrix, mlir::Value k, mlir::Value n);

/// Whether the target has the vectors and the instructions that the panels were made for.
bool canRunPanels(const KernelEmitter &kernel, const emit::IntegerPanels &panels);

/// Elements of a tensor of bytes, from an index on. They lie along dimension `along`, after which all extents are 1. If
/// the tensor is an argument, they may also be consecutive in memory from the index on.
struct ByteRun {
  mlir::Value tensor;
  llvm::SmallVector<mlir::Value> from;
  size_t along;
};

/// Copies the first `count` elements of a run to `to`, as A of a product: unsigned, in emit::lhsBytes(dot) bytes each.
/// The rest up to `padded` elements becomes 0.
void emitStageBytes(KernelEmitter &kernel, const ByteRun &run, const Extent &count, const Extent &padded,
                    emit::IntegerDot dot, mlir::Value to);

/// The extents of a product, which a step may give: see emit::IntegerExtents.
struct IntegerSizes {
  Extent rows = 1, runs = 1, runsTogether = 1;
  Extent outerStride = 0, runStride = 0, strideH = 0;
  Extent columns = 1, length = 1;

  /// Writes the upper bounds to a specification, whose panels have been chosen.
  void describe(emit::IntegerSpec &spec) const;
  /// The number of work items: emit::parallelExtent with the extents of a step.
  Extent items(const emit::IntegerSpec &spec, const emit::VectorTarget &target) const;
  /// Emits the values of the extents that are not numbers.
  emit::IntegerExtents emitValues(KernelEmitter &kernel) const;
};

/// Emits an error and fails if a step gives the extent of a spatial dimension that negative pads crop.
llvm::LogicalResult checkCropped(mlir::Operation *conv, llvm::ArrayRef<Extent> image, llvm::ArrayRef<int64_t> pads);

/// Stores `lanes` elements of the result, of extents `out`, of a convolution. `indices` are those of a sink (run, row,
/// column). The runs of the product are rows of windows, or a flat product has one run of all pixels. `channel` is that
/// of the first element.
void storePixel(KernelEmitter &kernel, mlir::Value value, mlir::ValueRange indices, llvm::ArrayRef<Extent> out,
                bool isFlat, mlir::Value channel, int64_t lanes);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_INTEGERBYTES_H
