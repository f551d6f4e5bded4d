//===- Loops.h - Programs beside the program --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_ONNX_IMPORT_LOOPS_H
#define SLUICE_LIB_ONNX_IMPORT_LOOPS_H

#include "dialects/Dataflow/IR/TensorBuilder.h"

namespace sluice::onnximport {

/// Recurrences of more elements than this run as loops, which compile and run faster than unrolled recurrences.
inline constexpr int64_t kMostUnrolledSteps = 16;

/// Isolates regions from the values outside. Constants, and values that follow from them, are copied into the regions.
/// Other values become further arguments of the regions, and are returned.
llvm::SmallVector<mlir::Value> isolate(mlir::OpBuilder &builder, llvm::ArrayRef<mlir::Region *> regions);

struct LoopParts {
  mlir::Value trips, condition; ///< The operands, of one element each.
  mlir::ValueRange carried;
  int64_t most = 0;
};
/// Builds a dataflow.loop and returns its results. `body` has the operators of the body. `yielded` has the condition,
/// the carried tensors (of unchanged types) and the tensors to stack. Empty, with a message in `build`, if the stacks
/// are too large.
llvm::SmallVector<mlir::Value> createLoop(dataflow::TensorBuilder &build, const LoopParts &parts, mlir::Region &body,
                                          llvm::SmallVector<mlir::Value> yielded);

/// The last carried tensors, then the stacks [trips, ...], of a loop of so many iterations. `body` makes the next
/// carried tensors and the tensors to stack. Empty, with a message in `build`, if the body makes nothing.
using LoopBody = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value iteration, mlir::ValueRange carried)>;
llvm::SmallVector<mlir::Value> countedLoop(dataflow::TensorBuilder &build, int64_t trips, mlir::ValueRange carried,
                                           LoopBody body);

/// The position that an iteration reads: the iteration's number, or trips - 1 minus this number if the loop goes
/// backward.
mlir::Value positionAt(dataflow::TensorBuilder &build, mlir::Value iteration, int64_t trips, bool backward);
/// The part of x at one position (a scalar) of an axis, without that axis.
mlir::Value sliceAt(dataflow::TensorBuilder &build, mlir::Value x, mlir::Value position, int64_t axis);
/// The stack in the opposite order along its first dimension.
mlir::Value turned(dataflow::TensorBuilder &build, mlir::Value stack);

} // namespace sluice::onnximport

#endif // SLUICE_LIB_ONNX_IMPORT_LOOPS_H
