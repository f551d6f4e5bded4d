//===- Tiling.h - Operators on parts of their tensors -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_TILING_TILING_H
#define SLUICE_DATAFLOW_TILING_TILING_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sluice::dataflow {

/// Registers the models of TilingRulesOpInterface.
void registerTilingModels(mlir::DialectRegistry &registry);

/// The operator's rules, for static types: first the one that replicates, then
/// those of its TilingRulesOpInterface, or, of an element-wise operator, one a
/// dimension of its result.
std::vector<TilingRule> tilingRules(mlir::Operation *op);

/// The operator's rule that splits dimension `dim` of an operand, or of a result (numbered after the operands), in
/// `blocks` blocks (AxisTiling::blocks). `rules` are tilingRules of the operator. Nothing where there is no such rule.
std::optional<TilingRule> stridedRule(mlir::Operation *op, llvm::ArrayRef<TilingRule> rules, unsigned slot, int64_t dim,
                                      uint32_t blocks);
/// Adds the strided rules that fused parts suggest to the rules of operators: where an operator takes a part of a
/// dimension, joins parts, or divides a dimension into a few, it suggests a split of each part. Other operators follow
/// as far as they have such rules.
void addStridedRules(llvm::ArrayRef<mlir::Operation *> operators,
                     llvm::MutableArrayRef<std::vector<TilingRule> *> rules);

/// Builds what computes one part's results (of partType), by rules that differ and
/// allow their parts. `operands` are of partType, `number`s not null where there is
/// more than one part. Empty where that fails; `build.message()` says why.
llvm::SmallVector<mlir::Value> buildPart(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> rules,
                                         mlir::ValueRange operands);

/// What one part of an operand, halos included, or of a result is.
mlir::RankedTensorType operandPartType(mlir::Operation *op, unsigned index, llvm::ArrayRef<PartRule> rules);
mlir::RankedTensorType resultPartType(mlir::Operation *op, unsigned index, llvm::ArrayRef<PartRule> rules);

/// What partial results of an element type are reduced in: other types are cast around it.
mlir::Type combinedType(mlir::Type element);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_TILING_TILING_H
