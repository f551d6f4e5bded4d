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

/// The operator's rules, for static types: first the one that replicates, then those of its TilingRulesOpInterface or,
/// for an element-wise operator, one for each dimension of its result.
std::vector<TilingRule> tilingRules(mlir::Operation *op);

/// The operator's rule that splits dimension `dim` of an operand, or of a result (numbered after the operands), in
/// `blocks` blocks (AxisTiling::blocks). `rules` are tilingRules of the operator. Returns nothing if there is no such
/// rule.
std::optional<TilingRule> stridedRule(mlir::Operation *op, llvm::ArrayRef<TilingRule> rules, unsigned slot, int64_t dim,
                                      uint32_t blocks);
/// Adds the strided rules that fused parts suggest to the rules of operators. An operator that takes a part of a
/// dimension, joins parts, or divides a dimension into a few parts suggests a split of each part. Other operators get
/// the corresponding rules if they have them.
void addStridedRules(llvm::ArrayRef<mlir::Operation *> operators,
                     llvm::MutableArrayRef<std::vector<TilingRule> *> rules);

/// Builds the operators that compute the results of one part. `rules` are different rules that allow their numbers of
/// parts. Operands and results have the types of parts. The `number` of a rule must not be null if there is more than
/// one part. Returns an empty list on failure; `build.message()` then says why.
llvm::SmallVector<mlir::Value> buildPart(mlir::Operation *op, TensorBuilder &build, llvm::ArrayRef<PartRule> rules,
                                         mlir::ValueRange operands);

/// The type of one part of an operand, halos included, or of a result.
mlir::RankedTensorType operandPartType(mlir::Operation *op, unsigned index, llvm::ArrayRef<PartRule> rules);
mlir::RankedTensorType resultPartType(mlir::Operation *op, unsigned index, llvm::ArrayRef<PartRule> rules);

/// The type in which partial results of an element type are reduced. Results of another type are cast before and after.
mlir::Type combinedType(mlir::Type element);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_TILING_TILING_H
