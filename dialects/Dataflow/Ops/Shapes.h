//===- Shapes.h - Short ways to say shapes ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_OPS_SHAPES_H
#define SLUICE_DATAFLOW_OPS_SHAPES_H

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <optional>

namespace sluice::dataflow {

inline mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }

/// Saturating.
inline int64_t product(llvm::ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    if (llvm::MulOverflow(result, extent, result))
      return std::numeric_limits<int64_t>::max();
  return result;
}

/// Entry i is values[permutation[i]].
template <typename T>
llvm::SmallVector<T> permuted(llvm::ArrayRef<T> values, llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<T> result;
  for (int64_t from : permutation)
    result.push_back(values[from]);
  return result;
}

inline llvm::LogicalResult checkAxis(std::optional<mlir::Location> loc, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return mlir::emitOptionalError(loc, "axis ", axis, " is outside rank ", rank);
  return llvm::success();
}

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_OPS_SHAPES_H
