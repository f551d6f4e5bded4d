//===- Models.h - Models of gradients ---------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_GRADIENT_MODELS_H
#define SLUICE_DATAFLOW_GRADIENT_MODELS_H

#include "dialects/Dataflow/Gradient/Gradient.h"
#include "dialects/Dataflow/IR/Models.h"

namespace sluice::dataflow {

/// The model of GradientOpInterface whose function `build` builds an operator's gradient.
template <auto build>
struct GradientModel;
template <typename OpTy, llvm::LogicalResult (*differentiate)(OpTy, TensorBuilder &, llvm::ArrayRef<mlir::Value>,
                                                              llvm::ArrayRef<bool>, Gradients)>
struct GradientModel<differentiate> : GradientOpInterface::ExternalModel<GradientModel<differentiate>, OpTy> {
  llvm::LogicalResult buildGradient(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<mlir::Value> results,
                                    llvm::ArrayRef<bool> wanted, Gradients operands) const {
    return differentiate(mlir::cast<OpTy>(op), build, results, wanted, operands);
  }
};

// Each file of this folder defines one of these functions.
void attachContractionGradients(mlir::MLIRContext *context);
void attachElementwiseGradients(mlir::MLIRContext *context);
void attachMovementGradients(mlir::MLIRContext *context);
void attachNormalizationGradients(mlir::MLIRContext *context);
void attachReductionGradients(mlir::MLIRContext *context);
void attachWindowGradients(mlir::MLIRContext *context);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_GRADIENT_MODELS_H
