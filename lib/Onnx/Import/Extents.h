//===- Extents.h - Extents that only the data says --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The results of operators like NonZero have a static shape with room for the most elements, and a count: only the
// first `count` positions of one dimension are valid. The importer keeps the count of each value and follows it through
// operators that treat all positions alike. For a result of the program, the count becomes another output, "y:extent0".
// If an operator mixes valid positions with others, the model is not supported.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_EXTENTS_H
#define SLUICE_LIB_ONNX_IMPORT_EXTENTS_H

#include "dialects/Dataflow/IR/TensorBuilder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace sluice::onnximport {

class Extents {
public:
  /// The count along a dimension (an i64 scalar); null if all positions are valid.
  mlir::Value of(mlir::Value value, int64_t dimension) const;
  bool isBounded(mlir::Value value) const { return counts.count(value); }
  void set(mlir::Value value, int64_t dimension, mlir::Value count);

  /// Sets the counts of a new operator's result if they do not follow from its operands. There is one per dimension, or
  /// null if all its positions are valid; an empty list means null for all.
  void settle(mlir::Value value, llvm::ArrayRef<mlir::Value> own);

  /// Derives the counts of a new operator's results from its operands. Fails the first time that an operator mixes
  /// valid positions with others.
  llvm::LogicalResult follow(mlir::Operation *op, dataflow::TensorBuilder &build);

private:
  using Counts = llvm::SmallVector<mlir::Value>; ///< One per dimension: null, or an i64 scalar.
  const Counts *find(mlir::Value value) const;
  llvm::LogicalResult elementwise(mlir::Operation *op, dataflow::TensorBuilder &build, Counts &result) const;
  llvm::LogicalResult reshape(dataflow::ReshapeOp op, dataflow::TensorBuilder &build, Counts &result) const;
  llvm::LogicalResult gather(mlir::Operation *op, Counts &result) const;
  llvm::LogicalResult alongOthers(mlir::Operation *op, Counts &result) const;

  llvm::DenseMap<mlir::Value, Counts> counts;
  llvm::DenseSet<mlir::Value> settled;
  llvm::DenseSet<mlir::Operation *> followed;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_EXTENTS_H
