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

/// Bytes of a bf16 number.
inline constexpr int64_t kHalfBytes = 2;

emit::IntegerPanels describePanels(HalfPanelsAttr panels);
/// How many numbers of bf16 an element of that type is the sum of: exactly, but for f32, which is rounded to one.
int64_t halfParts(mlir::Type element);

/// The left-hand side as the kernel multiplies it: an image [images][height][width][pitch] of bf16 numbers for each
/// part, one image after the other. A matrix is one image of width 1.
struct HalfImage {
  bool stages; ///< The operand is copied into the workspace.
  Extent images = 1;
  Extent height = 1, width = 1; ///< With padding, where the operand is copied.
  int64_t channels;             ///< A multiple of the elements that the instructions add at once.
  int64_t pitch;                ///< Elements between pixels.
  int64_t partBytes;            ///< Bytes between the parts.
  int64_t bytes;                ///< The workspace's.
};
HalfImage imageOf(HalfMatmulOp op);
HalfImage imageOf(HalfConvOp op);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_HALFSHAPES_H
