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

/// A function that computes weights from small constants, which are its arguments.
struct WeightModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<std::vector<char>> arguments;
  std::vector<size_t> weights; ///< Per result: the index of its weight among the values.
};

/// Builds the function for those of the values that have at least 64 KiB and follow from constants of at most a
/// sixteenth of their bytes. All values are constant expressions of one function. Returns nothing if the chosen values
/// have less than 1 MiB together.
std::optional<WeightModule> buildWeightModule(llvm::ArrayRef<mlir::Value> values);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_WEIGHTPROGRAM_H
