//===- Indices.h - What inputs of indices may hold --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_INDICES_H
#define SLUICE_DATAFLOW_INDICES_H

#include "mlir/IR/Value.h"

#include <cstdint>
#include <optional>

namespace sluice::dataflow {

/// Of an argument that holds indices: the least, the greatest and one more allowed
/// value, as sluice_tensor_desc has them.
inline constexpr llvm::StringLiteral kRangeAttribute = "dataflow.range";

/// Where `indices` are a function's argument of i32 or i64, perhaps reshaped or
/// widened, narrows what it may hold to [low, high] and `other`. A session refuses
/// other values before a step. Indices computed in another way are not followed.
void limitIndices(mlir::Value indices, int64_t low, int64_t high, std::optional<int64_t> other = std::nullopt);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_INDICES_H
