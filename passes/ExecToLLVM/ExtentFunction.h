//===- ExtentFunction.h - Extents of a step, computed -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EXECTOLLVM_EXTENTFUNCTION_H
#define SLUICE_PASSES_EXECTOLLVM_EXTENTFUNCTION_H

#include "dialects/Exec/Exec.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"

namespace sluice {

/// Adds, at the builder's position, the function `extents` of sluice_model: `void (symbols, extents)`, which stores the
/// extents of all inputs, then those of all outputs. All divisors are positive, and quotients are rounded down, as in
/// #dataflow.extents.
mlir::LLVM::LLVMFuncOp addExtentFunction(mlir::OpBuilder &builder, exec::ProgramOp program);
/// Likewise adds the function `ranges`, which stores the three numbers of each input that has a range. Null if all are
/// constants.
mlir::LLVM::LLVMFuncOp addRangeFunction(mlir::OpBuilder &builder, exec::ProgramOp program);

/// Likewise adds the function `advance`, which stores the value of each symbol in the next step: a new one if the
/// symbol is a state's length, else the same. Null if no symbol is a state's length.
mlir::LLVM::LLVMFuncOp addAdvanceFunction(mlir::OpBuilder &builder, exec::ProgramOp program);

} // namespace sluice

#endif // SLUICE_PASSES_EXECTOLLVM_EXTENTFUNCTION_H
