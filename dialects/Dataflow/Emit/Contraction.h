//===- Contraction.h - Kernels for matmul and convolution -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Emits the heavy contractions as register-tiled loops in scf, arith, vector
// and llvm operations on `!llvm.ptr` values. Shapes are static, but extents of matrix products and of images may be
// values. A kernel is an outlined chunk function: its body computes the work items [begin, end) of the parallel extent.
// Any number of threads may run it at once, on any split of the extent.
//
// Every output element reaches the sink exactly once, as a lane of a vector
// along the innermost output dimension, so the caller fuses any epilogue there.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTION_H
#define SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTION_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/Emit/WinogradSpec.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <functional>

namespace sluice::emit {

/// Reads `lanes` consecutive elements at `pointer`, converted to the accumulator type: a scalar when lanes is 1, else a
/// vector. Serves as the hook for dequantization.
using LoadFn = std::function<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::Value pointer, int64_t lanes)>;

/// An operand in memory. Without `load`, elements are read as they are and f16 and bf16 are widened.
struct Source {
  mlir::Value pointer;
  mlir::Type elementType;
  LoadFn load = nullptr;
};

/// The two operands of a product. For a convolution, these are the images and the weights.
struct Operands {
  Source lhs, rhs;
};

/// The work items [begin, end) of `parallelExtent(spec, target)`, both of index or i64 type.
struct WorkItems {
  mlir::Value begin, end;
};

/// Applies the epilogue and stores. `value` holds the accumulators of `lanes` outputs (a scalar when lanes is 1, else a
/// vector; a power of two up to the target's lanes); `indices` (of index type) are those of the first lane.
using SinkFn = llvm::function_ref<void(mlir::OpBuilder &, mlir::Location, mlir::Value value, mlir::ValueRange indices,
                                       int64_t lanes)>;

/// Extents of a matrix product that a step gives, of i64 type. The specification has their upper bounds, by which tiles
/// and blocks are chosen. A null extent is the specification's number. A packed B has numbers for n, k and ldb.
struct MatmulExtents {
  mlir::Value m = {}, n = {}, k = {}, lda = {}, ldb = {};
};

/// Writes rows [depthBegin, depthBegin + depth) of panel number `panel` of B to `to`, as accumulators
/// [depth][columns of a panel]. Columns beyond n may have any value. `depthBegin` is a multiple of the specification's
/// depthStep, and rows up to the next multiple may be written.
using PanelFn = std::function<void(mlir::OpBuilder &, mlir::Location, mlir::Value panel, mlir::Value depthBegin,
                                   mlir::Value depth, mlir::Value to)>;

struct MatmulOperands {
  Source lhs, rhs;
  MatmulExtents extents = {};
  /// If set, gives B in the place of `rhs`. The specification must say that B is not packed.
  PanelFn readPanel = nullptr;
};

/// C[m, n] = sum over k of A[m, k] * B[k, n], for the given work items. Accumulates in f64 where A is f64, else in f32;
/// Sums over k are in order, but if M is below 5 there are up to four partial sums. Sink indices: (m, n). Scratch: up
/// to 150 KiB of stack, or up to 600 KiB with the blocks of a tuning.
void emitMatmul(mlir::OpBuilder &b, mlir::Location loc, const MatmulSpec &spec, const VectorTarget &target,
                const MatmulOperands &operands, WorkItems items, SinkFn sink);

/// The number of images, their heights and their widths, of i64 type, if a step gives them. The specification has their
/// upper bounds, by which tiles and blocks are chosen. A null extent is the specification's number.
struct ConvExtents {
  mlir::Value batch = {}, inH = {}, inW = {}, outH = {}, outW = {};
};

struct ConvOperands {
  Source lhs, rhs;
  ConvExtents extents = {};
  Operands sources() const { return {lhs, rhs}; }
};

/// Emits a direct convolution of NHWC images, with weights packed by `packConvWeights`. Sink indices: (n, oh, ow, oc).
/// Reads nothing outside the input: borders are clipped. A depthwise convolution (isDepthwise) has its lanes along the
/// channels. A 1x1 convolution of stride 1 is a matrix product over all pixels. If a step gives extents, sources must
/// have no `load`, and the caller must emit a pointwise convolution by emitMatmul of pointwiseMatmul(spec).
void emitConv2d(mlir::OpBuilder &b, mlir::Location loc, const ConvSpec &spec, const VectorTarget &target,
                const ConvOperands &operands, WorkItems items, SinkFn sink);

/// Emits the same convolution with the taps of a kernel's row as channels. The weights are those of `spec.taps()`,
/// packed by `packConvWeights` from ONNX's, whose width came first. Scratch: up to 256 KiB of stack.
void emitShiftAdd(mlir::OpBuilder &b, mlir::Location loc, const ShiftAddSpec &spec, const VectorTarget &target,
                  const ConvOperands &operands, WorkItems items, SinkFn sink);

/// Emits the same convolution by Winograd's algorithm, with weights packed by `packWinogradWeights`. Scratch: up to 512
/// KiB of stack (kWinogradScratchBytes), within half of L2.
void emitWinograd(mlir::OpBuilder &b, mlir::Location loc, const WinogradSpec &spec, const VectorTarget &target,
                  const ConvOperands &operands, WorkItems items, SinkFn sink);

} // namespace sluice::emit

#endif // SLUICE_DIALECTS_DATAFLOW_EMIT_CONTRACTION_H
