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
