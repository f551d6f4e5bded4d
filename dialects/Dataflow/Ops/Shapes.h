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

#include <algorithm>
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

/// Chunks of about this many operations keep the cost of a dispatch hidden.
inline int64_t grainFor(int64_t totalFlops, int64_t extent) {
  constexpr int64_t kChunkFlops = 400'000;
  int64_t perItem = std::max<int64_t>(1, totalFlops / std::max<int64_t>(1, extent));
  return std::max<int64_t>(1, kChunkFlops / perItem);
}

/// With few filters in a group a convolution has no tile to fill.
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

#endif // SLUICE_DATAFLOW_OPS_SHAPES_H
