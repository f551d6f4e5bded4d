//===- ProgramBridge.h - A function as a tensor program ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_PROGRAMBRIDGE_H
#define SLUICE_PASSES_BRIDGE_PROGRAMBRIDGE_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "sluice/Tiling/TensorProgram.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>
#include <vector>

namespace sluice {

/// A function and its tensor program, id by id. The operators of the program are all operators of the function except
/// constants, states and operators that follow from constants alone. A parameter is one tensor, however often it is
/// read.
struct BridgedProgram {
  TensorProgram program;
  std::vector<mlir::Operation *> operators; ///< Per operator.
  std::vector<mlir::Value> values;          ///< Per tensor.
};

/// Builds the program of a function of unfused operators (before AssignLayout and Fuse). The program passes its
/// check(). Results that no operator writes keep their role. Fails like checkFunction(), and if two states have the
/// same next value.
Expected<BridgedProgram> buildTensorProgram(mlir::func::FuncOp function);

/// For passes: returns the value, or emits an error on the function and returns nothing.
template <typename T>
std::optional<T> orEmit(mlir::func::FuncOp function, Expected<T> value) {
  if (value)
    return std::move(*value);
  emitError(function, value.error());
  return std::nullopt;
}

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PROGRAMBRIDGE_H
