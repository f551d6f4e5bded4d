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

/// A function and its tensor program, id by id. Every operator but constants,
/// states and what follows from constants alone is an operator of the program;
/// a parameter is one tensor wherever it is read.
struct BridgedProgram {
  TensorProgram program;
  std::vector<mlir::Operation *> operators; ///< Per operator.
  std::vector<mlir::Value> values;          ///< Per tensor.
};

/// Of a function of unfused operators (before AssignLayout and Fuse). Fails as
/// checkFunction does. The program passes check(). Results that no operator writes keep their
/// role. Fails where two states are to get one value.
Expected<BridgedProgram> buildTensorProgram(mlir::func::FuncOp function);

/// For passes: the value, or nothing after an error on the function.
template <typename T>
std::optional<T> orEmit(mlir::func::FuncOp function, Expected<T> value) {
  if (value)
    return std::move(*value);
  emitError(function, value.error());
  return std::nullopt;
}

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PROGRAMBRIDGE_H
