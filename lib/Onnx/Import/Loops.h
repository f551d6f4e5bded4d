//===- Loops.h - Programs beside the program --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LOOPS_H
#define SLUICE_LIB_ONNX_IMPORT_LOOPS_H

#include "dialects/Dataflow/IR/TensorBuilder.h"

namespace sluice::onnximport {

/// Longer recurrences run as loops: unrolled, they compile for longer than that costs time.
inline constexpr int64_t kMostUnrolledSteps = 16;

/// Gives regions what they use from outside: constants, and what follows from them, as copies; others as arguments
/// behind their own, which are returned.
llvm::SmallVector<mlir::Value> isolate(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Region *> regions);

struct LoopParts {
  mlir::Value trips, condition; ///< One element each.
  mlir::ValueRange carried;
  int64_t most = 0;
};
/// dataflow.loop of a region that has the body's operators, and of what it yields: the condition, what is carried (of
/// the types it had), what is stacked. Empty, with a message in `build`, where what is stacked is too large.
llvm::SmallVector<mlir::Value> createLoop(dataflow::TensorBuilder &build, const LoopParts &parts, mlir::Region &body,
                                          llvm::SmallVector<mlir::Value> yielded);

/// The same of a known number of iterations. `body` makes what is carried and what is stacked; the last results are the
/// carried tensors and stacks of [trips, ...]. Empty, with a message in `build`, where the body makes nothing.
using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iteration, mlir::ValueRange carried)>;
llvm::SmallVector<mlir::Value> countedLoop(dataflow::TensorBuilder &build, int64_t trips, mlir::ValueRange carried,
                                           LoopBody body);

/// Element `trips - 1 - iteration`, or `iteration`.
mlir::Value positionAt(dataflow::TensorBuilder &build, mlir::Value iteration, int64_t trips, bool backward);
/// Slice `position` (a scalar) along an axis, which goes.
mlir::Value sliceAt(dataflow::TensorBuilder &build, mlir::Value x, mlir::Value position, int64_t axis);
/// In the opposite order along the first dimension.
mlir::Value turned(dataflow::TensorBuilder &build, mlir::Value stack);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LOOPS_H
