//===- AssignLayout.h - Patterns of dataflow-assign-layout ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_ASSIGNLAYOUT_H
#define SLUICE_PASSES_ASSIGNLAYOUT_H

#include "dialects/Dataflow/Emit/ContractionSpec.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/IR/PatternMatch.h"

namespace sluice {

/// The permutations from an image [N, C, H, W] to [N, H, W, C], and back.
inline constexpr int64_t kToLast[] = {0, 2, 3, 1}, kToFirst[] = {0, 3, 1, 2};

inline mlir::Value reshape(mlir::OpBuilder &b, mlir::Value value, llvm::ArrayRef<dataflow::Extent> extents) {
  return b.createOrFold<dataflow::ReshapeOp>(value.getLoc(), dataflow::tensorOf(extents, dataflow::elementOf(value)),
                                             value);
}

/// The extents of a signal [N, C, W] as an image of height 1.
inline dataflow::Extents imageOfSignal(mlir::RankedTensorType type) {
  const dataflow::Extents of = dataflow::extentsOf(type);
  return {of[0], of[1], 1, of[2]};
}

/// Patterns that give products of bytes packed right-hand sides and channels_last images, for instructions of the form
/// `dot`.
void populateIntegerLayoutPatterns(mlir::RewritePatternSet &patterns, const emit::VectorTarget &target,
                                   dataflow::IntegerDot dot);

/// Patterns that turn products of f16 and bf16 by constants, and of f32 if `rounds`, into products in half precision
/// for instructions of the form `dot`, if these are faster. They are preferred to other patterns.
void populateHalfLayoutPatterns(mlir::RewritePatternSet &patterns, const emit::VectorTarget &target,
                                dataflow::HalfDot dot, bool rounds);

/// Patterns that give products by constant weights that are quantized in blocks panels of these weights. If the
/// weight's elements have at most `roundedBits` bits, the rows that it multiplies are rounded to bytes in the same
/// blocks.
void populateBlockLayoutPatterns(mlir::RewritePatternSet &patterns, const emit::VectorTarget &target,
                                 int64_t roundedBits);

} // namespace sluice

#endif // SLUICE_PASSES_ASSIGNLAYOUT_H
