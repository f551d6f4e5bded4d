//===- Shapes.h - Short ways to say shapes ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_SHAPES_H
#define SLUICE_DATAFLOW_IR_SHAPES_H

#include "sluice/Support/Count.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Value.h"

#include <algorithm>
#include <optional>

namespace sluice::dataflow {
using sluice::Count;

inline mlir::RankedTensorType typeOf(mlir::Value value) { return mlir::cast<mlir::RankedTensorType>(value.getType()); }
inline mlir::Type elementOf(mlir::Value value) { return typeOf(value).getElementType(); }
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) { return typeOf(value).getShape(); }

inline Count product(llvm::ArrayRef<int64_t> extents) {
  // There are no elements, whatever the other extents are.
  if (llvm::is_contained(extents, 0))
    return 0;
  Count result = 1;
  for (int64_t extent : extents)
    result *= extent;
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

/// Whether the groups of a convolution have too few filters to fill a register tile.
inline bool hasFewFilters(int64_t groups, int64_t filters) {
  constexpr int64_t kFew = 8;
  return groups > 1 && filters / groups < kFew;
}

inline llvm::LogicalResult checkAxis(std::optional<mlir::Location> loc, int64_t axis, int64_t rank) {
  if (axis < 0 || axis >= rank)
    return mlir::emitOptionalError(loc, "axis ", axis, " is outside rank ", rank);
  return llvm::success();
}

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_SHAPES_H
