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
/// extents of all inputs, then those of all outputs. Its quotients and remainders are by positive numbers, rounded
/// down as those of #dataflow.extents.
mlir::LLVM::LLVMFuncOp addExtentFunction(mlir::OpBuilder &builder, exec::ProgramOp program);
/// As that, the function `ranges`: of each input that has a range, its three numbers. Null where these are constants.
mlir::LLVM::LLVMFuncOp addRangeFunction(mlir::OpBuilder &builder, exec::ProgramOp program);

/// As that, the function `advance`: of each symbol, its value in the step after where a state's length keeps it, else
/// its own. Null where none is kept.
mlir::LLVM::LLVMFuncOp addAdvanceFunction(mlir::OpBuilder &builder, exec::ProgramOp program);

} // namespace sluice

#endif // SLUICE_PASSES_EXECTOLLVM_EXTENTFUNCTION_H
