//===- StepMovement.h - Shapes and orders that a step says ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Nodes of ConvertMovement.cpp whose shape, axes, pads or the like are known only at run time. Ranks are known, because
// they follow from the number of sizes or axes. A result has room for the largest extents, and counts give its valid
// part. If the data fits no result, a count is negative.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_STEPMOVEMENT_H
#define SLUICE_LIB_ONNX_IMPORT_STEPMOVEMENT_H

#include "NodeContext.h"

namespace sluice::onnximport {

/// Input 1 is the shape.
llvm::LogicalResult reshapeFound(NodeContext &node);
/// The axes of extent 1 of `x`, the first operand. If steps find extents, these are the axes of extent 1 at the upper
/// bounds. A step fails in which other extents are 1, or one of these is not. `x` becomes a value with extent 1 at
/// these axes.
llvm::FailureOr<Dims> axesOfOne(NodeContext &node, mlir::Value &x);
/// Input 1 has the axes.
llvm::LogicalResult squeezeFound(NodeContext &node);
llvm::LogicalResult unsqueezeFound(NodeContext &node);
/// Input 1 has the repeats.
llvm::LogicalResult tileFound(NodeContext &node);
/// The `count` parts along `axis`, whose sizes input 1 has.
llvm::FailureOr<llvm::SmallVector<mlir::Value>> splitFound(NodeContext &node, int64_t axis, int64_t count);
/// A tensor in parts of one size; the last part has the rest.
struct EvenParts {
  llvm::SmallVector<mlir::Value> parts; ///< As many parts as there can be. Parts after the last one are empty.
  mlir::Value count;                    ///< An i64 scalar.
};
/// Input 1, a scalar, is the size of the parts.
llvm::FailureOr<EvenParts> splitEvenlyFound(NodeContext &node, int64_t axis);
/// Inputs 1 to 4 are starts, ends, axes and steps.
llvm::LogicalResult sliceFound(NodeContext &node);
/// Inputs 1 and 3 are pads and axes. Padding has the value of `value`, a scalar.
llvm::LogicalResult padFound(NodeContext &node, dataflow::PadMode mode, mlir::Value value);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_STEPMOVEMENT_H
