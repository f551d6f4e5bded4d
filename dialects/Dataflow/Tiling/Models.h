//===- Models.h - Models of tiling rules ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_TILING_MODELS_H
#define SLUICE_DATAFLOW_TILING_MODELS_H

#include "dialects/Dataflow/IR/Models.h"
#include "dialects/Dataflow/Tiling/Rules.h"

namespace sluice::dataflow {

/// The model of TilingRulesOpInterface. `rules` adds an operator's rules. `part` builds a part, if that is not the same
/// operator on other shapes. StridedModel adds a function for the operator's own strided rules.
template <auto rules, auto part = nullptr>
struct TilingModel;
template <typename OpTy, std::vector<TilingRule> (*rules)(OpTy)>
struct TilingModel<rules, nullptr> : TilingRulesOpInterface::ExternalModel<TilingModel<rules, nullptr>, OpTy> {
  std::vector<TilingRule> getTilingRules(mlir::Operation *op) const { return rules(mlir::cast<OpTy>(op)); }
};
template <typename OpTy, std::vector<TilingRule> (*rules)(OpTy),
          llvm::SmallVector<mlir::Value> (*part)(OpTy, TensorBuilder &, llvm::ArrayRef<PartRule>, mlir::ValueRange)>
struct TilingModel<rules, part> : TilingRulesOpInterface::ExternalModel<TilingModel<rules, part>, OpTy> {
  std::vector<TilingRule> getTilingRules(mlir::Operation *op) const { return rules(mlir::cast<OpTy>(op)); }
  llvm::SmallVector<mlir::Value> buildPart(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> used,
                                           mlir::ValueRange operands) const {
    return part(mlir::cast<OpTy>(op), build, used, operands);
  }
};

template <auto rules, auto strided, auto part = nullptr>
struct StridedModel;
template <typename OpTy, std::vector<TilingRule> (*rules)(OpTy),
          std::optional<TilingRule> (*strided)(OpTy, unsigned, int64_t, uint32_t)>
struct StridedModel<rules, strided, nullptr>
    : TilingRulesOpInterface::ExternalModel<StridedModel<rules, strided, nullptr>, OpTy> {
  std::vector<TilingRule> getTilingRules(mlir::Operation *op) const { return rules(mlir::cast<OpTy>(op)); }
  std::optional<TilingRule> getStridedRule(mlir::Operation *op, unsigned slot, int64_t dim, uint32_t blocks) const {
    return strided(mlir::cast<OpTy>(op), slot, dim, blocks);
  }
};
template <typename OpTy, std::vector<TilingRule> (*rules)(OpTy),
          std::optional<TilingRule> (*strided)(OpTy, unsigned, int64_t, uint32_t),
          llvm::SmallVector<mlir::Value> (*part)(OpTy, TensorBuilder &, llvm::ArrayRef<PartRule>, mlir::ValueRange)>
struct StridedModel<rules, strided, part>
    : TilingRulesOpInterface::ExternalModel<StridedModel<rules, strided, part>, OpTy> {
  std::vector<TilingRule> getTilingRules(mlir::Operation *op) const { return rules(mlir::cast<OpTy>(op)); }
  std::optional<TilingRule> getStridedRule(mlir::Operation *op, unsigned slot, int64_t dim, uint32_t blocks) const {
    return strided(mlir::cast<OpTy>(op), slot, dim, blocks);
  }
  llvm::SmallVector<mlir::Value> buildPart(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> used,
                                           mlir::ValueRange operands) const {
    return part(mlir::cast<OpTy>(op), build, used, operands);
  }
};

// Each file of this folder defines one of these functions.
void attachContractionRules(mlir::MLIRContext *context);
void attachMessageRules(mlir::MLIRContext *context);
void attachMovementRules(mlir::MLIRContext *context);
void attachReductionRules(mlir::MLIRContext *context);
void attachWindowRules(mlir::MLIRContext *context);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_TILING_MODELS_H
