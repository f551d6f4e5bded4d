//===- IntegerShapes.h - What products of bytes need in memory --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DATAFLOW_IR_INTEGERSHAPES_H
#define SLUICE_DATAFLOW_IR_INTEGERSHAPES_H

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/IntegerPanels.h"
#include "dialects/Dataflow/IR/MatmulShape.h"

namespace sluice::dataflow {

/// The greatest extents of panels: of bytes, and of numbers in half precision.
inline constexpr int64_t kMostByteExtent = int64_t(1) << 31, kMostHalfExtent = int64_t(1) << 30;
/// Why panels of `panel` columns cannot exist for `columns` columns and `segments` x `length` rows, if extents are at
/// most `most`; empty if they can.
std::string findPanelsProblem(int64_t columns, int64_t segments, int64_t length, int64_t panel, int64_t most);
/// The layout of one matrix.
emit::IntegerPanels describePanels(IntegerPanelsAttr panels);

/// Whether an operand of a kernel is computed in the kernel, by a member of its group.
bool isMadeInKernel(mlir::Operation *op, mlir::Value operand);

MatmulShape shapeOfMatmul(IntegerMatmulOp op);
/// The layout of one matrix. If the kernel packs it, the layout has the matrix's own extents, for which the panels may
/// have more room.
emit::IntegerPanels describePanels(IntegerMatmulOp op);

/// Which operands a product with panels rewrites into its workspace before it multiplies, and where.
struct IntegerMatmulBuffers {
  int64_t lhsBatches, rhsBatches;
  bool stagesLhs, packsRhs;
  int64_t lhsRow;   ///< The distance between rows of A, in elements.
  int64_t packedAt; ///< The offset of packed matrices in the workspace.
  int64_t bytes;    ///< All bytes of the workspace.
};
IntegerMatmulBuffers buffersOf(IntegerMatmulOp op);

/// The image that a convolution with panels multiplies.
struct IntegerConvImage {
  bool stages;                  ///< Whether the image is copied into the workspace.
  Extent height = 1, width = 1; ///< With padding, if the image is copied.
  int64_t bytes;                ///< The size of the workspace.
};
IntegerConvImage imageOf(IntegerConvOp op);

} // namespace sluice::dataflow

#endif // SLUICE_DATAFLOW_IR_INTEGERSHAPES_H
