//===- Ranks.h - Ranks that only the data says ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Alternatives (Alternatives.h) may differ in leading dimensions of extent 1: a
// scalar and a vector of one element. The value has the larger rank, and the
// importer remembers that in some steps it has a smaller one. Broadcasting
// with a tensor of the larger rank gives one result for both; whatever else
// reads such a value is not supported.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_RANKS_H
#define SLUICE_LIB_ONNX_IMPORT_RANKS_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace sluice::onnximport {

class Ranks {
public:
  /// Whether a value has a smaller rank in some steps.
  bool vary(mlir::Value value) const { return least.contains(value); }
  /// The smallest rank of a tensor in any step.
  int64_t leastOf(mlir::Value value) const;
  /// Ignored where it is the value's own rank.
  void set(mlir::Value value, int64_t smallest);

  /// What a new operator's result has by its operands. Fails where the operator does not broadcast one whose rank
  /// varies.
  llvm::LogicalResult follow(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, int64_t> least;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_RANKS_H
