//===- Sliding.h - Windows of operands --------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_TILING_SLIDING_H
#define SLUICE_DATAFLOW_TILING_SLIDING_H

#include "mlir/IR/OpDefinition.h"

#include <cstdint>
#include <optional>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace sluice::dataflow {

/// Element j of dimension `resultDim` of a result is computed from the elements [j * stride, j * stride + reach) of a
/// dimension of the operand.
struct Slide {
  int64_t resultDim = 0;
  int64_t stride = 1, reach = 1;
  bool operator==(const Slide &) const = default;
};

/// Registers the models of SlidingOpInterface.
void registerSlidingModels(mlir::DialectRegistry &registry);

/// How an operator slides along dimension `dim` of operand `operand`, for static types: by SlidingOpInterface, or
/// element by element if the operator is element-wise and does not broadcast this dimension. Empty if it does not
/// slide.
std::optional<Slide> slideOf(mlir::Operation *op, unsigned operand, int64_t dim);

} // namespace sluice::dataflow

#include "dialects/Dataflow/Tiling/Sliding.h.inc"

#endif // SLUICE_DATAFLOW_TILING_SLIDING_H
