//===- Extents.h - Extents that only the data says --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What operators like NonZero return has a static shape with room for all there
// can be, and a count: the first `count` positions of one dimension hold. The
// importer remembers the count beside the value, follows it through operators
// that treat positions alike, and returns it with the program's results as an
// output of its own, "y:extent0". Where an operator mixes positions that hold
// with those that do not, the model is not supported.
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
  /// The count along a dimension (an i64 scalar); null where all of it holds.
  mlir::Value of(mlir::Value value, int64_t dimension) const;
  bool isBounded(mlir::Value value) const { return counts.count(value); }
  void set(mlir::Value value, int64_t dimension, mlir::Value count);

  /// The counts of a new operator's result, one a dimension (null: all of it holds; empty: of all dimensions), where
  /// they do not follow from its operands.
  void settle(mlir::Value value, llvm::ArrayRef<mlir::Value> own);

  /// What a new operator's results have by its operands. Fails where the operator mixes positions, the first time.
  llvm::LogicalResult follow(mlir::Operation *op, dataflow::TensorBuilder &build);

private:
  using Counts = llvm::SmallVector<mlir::Value>; ///< One a dimension, null or an i64 scalar.
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
