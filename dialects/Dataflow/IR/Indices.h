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

/// Values from `low` to `high`, and `other` where it is set.
struct AllowedIndices {
  int64_t low, high;
  std::optional<int64_t> other;

  bool contains(int64_t value) const { return (value >= low && value <= high) || value == other; }
};

/// An index, by the position of its element, and what is allowed there.
struct WrongIndex {
  int64_t position, value;
  AllowedIndices allowed;
};

/// The least and the greatest element of a constant of i32 or i64 that has elements; nullopt for other values.
std::optional<std::pair<int64_t, int64_t>> indexBounds(mlir::Value indices);

/// The first element of a constant of i32 or i64 that is not allowed; nullopt where there is none, and where `indices`
/// are no constant. `allowed` repeats: element i has entry i modulo their number, which is at least 1.
std::optional<WrongIndex> findWrongIndex(mlir::Value indices, llvm::ArrayRef<AllowedIndices> allowed);

/// Where `indices` are a function's argument of i32 or i64, perhaps reshaped or
/// widened, narrows what it may hold to what is `allowed`. A session refuses
/// other values before a step. Indices computed in another way are not followed.
void limitIndices(mlir::Value indices, const AllowedIndices &allowed);

/// What limitIndices says of a function's argument; nullopt for others. Its `other` is always set.
std::optional<AllowedIndices> allowedIndices(mlir::BlockArgument argument);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_INDICES_H
