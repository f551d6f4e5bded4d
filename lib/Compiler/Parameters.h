//===- Parameters.h - Constant expressions to a parameter file --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_PARAMETERS_H
#define SLUICE_LIB_COMPILER_PARAMETERS_H

#include "sluice/Codegen/Artifact.h"

#include "mlir/IR/Value.h"

#include <vector>

namespace sluice {

/// The operators that constant expressions are made of, in program order, each once.
std::vector<mlir::Operation *> expressionOf(llvm::ArrayRef<mlir::Value> values);

/// Evaluates constant expressions one by one and appends them to the file, in
/// order; returns their offsets. No more than one expression's own
/// intermediates are in memory at a time. Fails naming the node where data is
/// missing or an operator refuses its operands.
Expected<std::vector<int64_t>> writeParameters(llvm::ArrayRef<mlir::Value> values, ParameterFileWriter &writer);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_PARAMETERS_H
