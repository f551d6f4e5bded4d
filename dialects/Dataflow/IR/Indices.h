//===- Indices.h - What inputs of indices may hold --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_INDICES_H
#define SLUICE_DATAFLOW_IR_INDICES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <utility>

namespace sluice::dataflow {

/// The values from `low` to `high`, and also `other` if it is set.
struct AllowedIndices {
  int64_t low, high;
  std::optional<int64_t> other;

  bool contains(int64_t value) const { return (value >= low && value <= high) || value == other; }
};

/// An index that is not allowed, the position of its element, and the values allowed there.
struct WrongIndex {
  int64_t position, value;
  AllowedIndices allowed;
};

/// The least and the greatest element of a constant of i32 or i64 that has elements; nullopt for other values.
std::optional<std::pair<int64_t, int64_t>> indexBounds(mlir::Value indices);

/// The first element of a constant of i32 or i64 that is not allowed; nullopt if there is none, or if `indices` is not
/// a constant. `allowed` repeats: element i has entry i modulo their number, which is at least 1.
std::optional<WrongIndex> findWrongIndex(mlir::Value indices, llvm::ArrayRef<AllowedIndices> allowed);

/// If `indices` is a function's argument of i32 or i64, perhaps reshaped or widened, narrows the values that the
/// argument may have to `allowed`. A session refuses other values before a step. Does nothing for indices that are
/// computed in another way.
void limitIndices(mlir::Value indices, const AllowedIndices &allowed);

/// The values that limitIndices() allows for a function's argument; nullopt if it has no limit. `other` is always set.
std::optional<AllowedIndices> allowedIndices(mlir::BlockArgument argument);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_INDICES_H
