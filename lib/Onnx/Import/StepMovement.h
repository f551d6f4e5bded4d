//===- StepMovement.h - Shapes and orders that a step says ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Nodes of ConvertMovement.cpp whose shape, axes, pads or the like are not
// known before the model runs. Ranks are: they follow from how many sizes or
// axes there are. A result has room for the largest extents, and counts say how
// much of it holds; where data fits no result, a count is negative.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_STEPMOVEMENT_H
#define SLUICE_LIB_ONNX_IMPORT_STEPMOVEMENT_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// Input 1 is the shape.
llvm::LogicalResult reshapeFound(NodeContext &node);
/// The axes of extent 1 of `x`, the first operand. Where a step finds extents, those of extent 1 at the upper bounds: a
/// step in which others are 1, or one of these is not, fails, and `x` has extent 1 there.
llvm::FailureOr<Dims> axesOfOne(NodeContext &node, mlir::Value &x);
/// Input 1 has the axes.
llvm::LogicalResult squeezeFound(NodeContext &node);
llvm::LogicalResult unsqueezeFound(NodeContext &node);
/// Input 1 has the repeats.
llvm::LogicalResult tileFound(NodeContext &node);
/// Input 1 has the sizes of parts along `axis`: the parts, of `count`.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> splitFound(NodeContext &node, int64_t axis, int64_t count);
/// A tensor in parts of one size, the last as large as what is left.
struct EvenParts {
  llvm::SmallVector<mlir::Value> parts; ///< As many as there can be; those behind the last are empty.
  mlir::Value count;                    ///< An i64 scalar.
};
/// Input 1, a scalar, is the parts' size.
llvm::FailureOr<EvenParts> splitEvenlyFound(NodeContext &node, int64_t axis);
/// Inputs 1 to 4 are starts, ends, axes and steps.
llvm::LogicalResult sliceFound(NodeContext &node);
/// Inputs 1 and 3 are pads and axes; `value`, a scalar, fills.
llvm::LogicalResult padFound(NodeContext &node, dataflow::PadMode mode, mlir::Value value);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_STEPMOVEMENT_H
