//===- WeightProgram.h - Weights as a program of their own ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_WEIGHTPROGRAM_H
#define SLUICE_LIB_COMPILER_WEIGHTPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>
#include <vector>

namespace sluice {

/// A function from small constants, which are its arguments, to weights.
struct WeightModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::vector<char>> arguments;
  std::vector<size_t> weights; ///< Per result, which of the values it is.
};

/// Of the values, constant expressions all in one function, those that are large
/// and follow from little: a sixteenth of their bytes at most. Absent where those
/// are less than 1 MiB together.
std::optional<WeightModule> buildWeightModule(llvm::ArrayRef<mlir::Value> values);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_WEIGHTPROGRAM_H
