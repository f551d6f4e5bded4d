//===- Ranks.h - Ranks that only the data says ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Alternatives (Alternatives.h) may differ in leading dimensions of extent 1: a
// scalar and a vector of one element. The value has the larger rank, and the importer remembers that in some steps it
// has a smaller one. Broadcasting with a tensor of the larger rank gives the same result for both ranks. Other
// operators that read such a value are not supported.
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
  /// Sets the smallest rank. Does nothing if it is the value's own rank.
  void set(mlir::Value value, int64_t smallest);

  /// Derives the ranks of a new operator's result from its operands. Fails if the operator reads an operand of varying
  /// rank and does not broadcast it.
  llvm::LogicalResult follow(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, int64_t> least;
};

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_RANKS_H
