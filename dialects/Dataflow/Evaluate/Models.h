//===- Models.h - Models of evaluation --------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_EVALUATE_MODELS_H
#define SLUICE_DATAFLOW_EVALUATE_MODELS_H

#include "dialects/Dataflow/IR/Models.h"

namespace sluice::dataflow {

/// The model of EvaluateOpInterface whose function `compute` computes an operator.
template <auto compute>
struct EvaluateModel;
template <typename OpTy,
          llvm::LogicalResult (*compute)(OpTy, llvm::ArrayRef<TensorView>, llvm::ArrayRef<MutableTensorView>)>
struct EvaluateModel<compute> : EvaluateOpInterface::ExternalModel<EvaluateModel<compute>, OpTy> {
  llvm::LogicalResult evaluate(mlir::Operation *op, llvm::ArrayRef<TensorView> operands,
                               llvm::ArrayRef<MutableTensorView> results) const {
    return compute(mlir::cast<OpTy>(op), operands, results);
  }
  llvm::LogicalResult evaluateOnRank(mlir::Operation *op, int64_t, llvm::ArrayRef<TensorView> operands,
                                     llvm::ArrayRef<MutableTensorView> results) const {
    return evaluate(op, operands, results);
  }
};

/// The same for a function that computes the value of one rank; each rank has another value.
template <typename OpTy,
          llvm::LogicalResult (*compute)(OpTy, int64_t, llvm::ArrayRef<TensorView>, llvm::ArrayRef<MutableTensorView>)>
struct EvaluateModel<compute> : EvaluateOpInterface::ExternalModel<EvaluateModel<compute>, OpTy> {
  llvm::LogicalResult evaluate(mlir::Operation *, llvm::ArrayRef<TensorView>, llvm::ArrayRef<MutableTensorView>) const {
    return llvm::failure();
  }
  llvm::LogicalResult evaluateOnRank(mlir::Operation *op, int64_t rank, llvm::ArrayRef<TensorView> operands,
                                     llvm::ArrayRef<MutableTensorView> results) const {
    return compute(mlir::cast<OpTy>(op), rank, operands, results);
  }
};

// Each file of this folder defines one of these functions.
void attachBitsValues(mlir::MLIRContext *context);
void attachConstantValues(mlir::MLIRContext *context);
void attachElementwiseValues(mlir::MLIRContext *context);
void attachGatherValues(mlir::MLIRContext *context);
void attachMovementValues(mlir::MLIRContext *context);
void attachPackingValues(mlir::MLIRContext *context);
void attachReductionValues(mlir::MLIRContext *context);
void attachSelectionValues(mlir::MLIRContext *context);
void attachShardValues(mlir::MLIRContext *context);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_EVALUATE_MODELS_H
