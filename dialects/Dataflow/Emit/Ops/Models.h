//===- Models.h - Models of kernels -----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EMIT_OPS_MODELS_H
#define SLUICE_DATAFLOW_EMIT_OPS_MODELS_H

#include "dialects/Dataflow/IR/Models.h"

namespace sluice::dataflow {

/// The extents that a model's kernel computes with.
enum class KernelExtents : uint8_t {
  Constant, ///< Those of the types. Types with symbols are refused.
  OfStep    ///< Those of the step: the emitter has every extent from an Extent.
};

/// The model of a function that emits an operator's loops.
template <auto emit, KernelExtents extents = KernelExtents::Constant>
struct KernelModel;
template <typename OpTy, void (*emit)(OpTy, KernelEmitter &), KernelExtents extents>
struct KernelModel<emit, extents> : EmitKernelOpInterface::ExternalModel<KernelModel<emit, extents>, OpTy> {
  void emitKernel(mlir::Operation *op, KernelEmitter &kernel) const { emit(mlir::cast<OpTy>(op), kernel); }
  bool takesExtents(mlir::Operation *) const { return extents == KernelExtents::OfStep; }
};

/// The model of a function that emits an operator's loops, for the styles and targets that `check` allows.
template <auto emit, auto check, KernelExtents extents = KernelExtents::Constant>
struct CheckedKernelModel;
template <typename OpTy, void (*emit)(OpTy, KernelEmitter &),
          llvm::LogicalResult (*check)(OpTy, const emit::VectorTarget &, const KernelStyle &), KernelExtents extents>
struct CheckedKernelModel<emit, check, extents>
    : EmitKernelOpInterface::ExternalModel<CheckedKernelModel<emit, check, extents>, OpTy> {
  bool takesExtents(mlir::Operation *) const { return extents == KernelExtents::OfStep; }
  void emitKernel(mlir::Operation *op, KernelEmitter &kernel) const { emit(mlir::cast<OpTy>(op), kernel); }
  llvm::LogicalResult checkKernel(mlir::Operation *op, const emit::VectorTarget &target,
                                  const KernelStyle &style) const {
    return check(mlir::cast<OpTy>(op), target, style);
  }
};

/// Of a function that emits one element.
template <auto emit, KernelExtents extents = KernelExtents::Constant>
struct ElementModel;
template <typename OpTy, mlir::Value (*emit)(OpTy, KernelEmitter &, mlir::ValueRange), KernelExtents extents>
struct ElementModel<emit, extents> : EmitElementOpInterface::ExternalModel<ElementModel<emit, extents>, OpTy> {
  bool takesExtents(mlir::Operation *) const { return extents == KernelExtents::OfStep; }
  mlir::Value emitElement(mlir::Operation *op, KernelEmitter &kernel, mlir::ValueRange indices) const {
    return emit(mlir::cast<OpTy>(op), kernel, indices);
  }
};

/// Of a function that maps scalars or vectors.
template <auto emit>
struct ScalarModel;
template <typename OpTy, mlir::Value (*emit)(OpTy, mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>
struct ScalarModel<emit> : EmitScalarOpInterface::ExternalModel<ScalarModel<emit>, OpTy> {
  mlir::Value emitScalar(mlir::Operation *op, mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::ValueRange operands) const {
    return emit(mlir::cast<OpTy>(op), builder, loc, operands);
  }
};

/// The model of a function that says what of a kernel can be tuned.
template <auto describe>
struct TuningSpaceModel;
template <typename OpTy, void (*describe)(OpTy, const emit::VectorTarget &, TunableKernel &)>
struct TuningSpaceModel<describe> : TuningSpaceOpInterface::ExternalModel<TuningSpaceModel<describe>, OpTy> {
  void describeTuningSpace(mlir::Operation *op, const emit::VectorTarget &target, TunableKernel &kernel) const {
    describe(mlir::cast<OpTy>(op), target, kernel);
  }
};

// One function a file of this folder.
void attachAttentionKernels(mlir::MLIRContext *context);
void attachBitsKernels(mlir::MLIRContext *context);
void attachBlocksKernels(mlir::MLIRContext *context);
void attachCollectiveKernels(mlir::MLIRContext *context);
void attachConstantKernels(mlir::MLIRContext *context);
void attachControlKernels(mlir::MLIRContext *context);
void attachConvKernels(mlir::MLIRContext *context);
void attachElementwiseKernels(mlir::MLIRContext *context);
void attachGatherKernels(mlir::MLIRContext *context);
void attachHalvesKernels(mlir::MLIRContext *context);
void attachIntegerConvKernels(mlir::MLIRContext *context);
void attachIntegerMatmulKernels(mlir::MLIRContext *context);
void attachMatmulKernels(mlir::MLIRContext *context);
void attachMlKernels(mlir::MLIRContext *context);
void attachMovementKernels(mlir::MLIRContext *context);
void attachNormalizationKernels(mlir::MLIRContext *context);
void attachPackingKernels(mlir::MLIRContext *context);
void attachReductionKernels(mlir::MLIRContext *context);
void attachScanKernels(mlir::MLIRContext *context);
void attachSelectionKernels(mlir::MLIRContext *context);
void attachStringsKernels(mlir::MLIRContext *context);
void attachTrainingKernels(mlir::MLIRContext *context);
void attachVisionKernels(mlir::MLIRContext *context);
void attachWindowKernels(mlir::MLIRContext *context);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EMIT_OPS_MODELS_H
