//===- HalfShapes.h - What half-precision products need in memory -*- C++ -*-=//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_HALFSHAPES_H
#define SLUICE_DATAFLOW_IR_HALFSHAPES_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/IntegerPanels.h"

namespace sluice::dataflow {

/// The bytes of a bf16 number.
inline constexpr int64_t kHalfBytes = 2;

emit::IntegerPanels describePanels(HalfPanelsAttr panels);
/// The number of bf16 numbers whose sum is exactly an element of that type; 1 for f32, which is rounded.
int64_t halfParts(mlir::Type element);

/// The left-hand side in the form that the kernel multiplies: images [images][height][width][pitch] of bf16 numbers for
/// each part, part after part. A matrix is one image of width 1.
struct HalfImage {
  bool stages; ///< Whether the operand is copied into the workspace.
  Extent images = 1;
  Extent height = 1, width = 1; ///< With padding, if the operand is copied.
  int64_t channels;             ///< A multiple of the elements that the instructions add at once.
  int64_t pitch;                ///< The distance between pixels, in elements.
  int64_t partBytes;            ///< The distance between the parts, in bytes.
  int64_t bytes;                ///< The size of the workspace.
};
HalfImage imageOf(HalfMatmulOp op);
HalfImage imageOf(HalfConvOp op);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_HALFSHAPES_H
