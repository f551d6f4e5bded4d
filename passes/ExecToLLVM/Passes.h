//===- Passes.h - exec to the Runtime's C ABI -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EXECTOLLVM_PASSES_H
#define SLUICE_PASSES_EXECTOLLVM_PASSES_H

#include "dialects/Exec/Exec.h"
#include "passes/OptionText.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sluice {

#define GEN_PASS_DECL
#include "passes/ExecToLLVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ExecToLLVM/Passes.h.inc"

/// Lowers and erases one verified program; see the pass. Fails with a
/// diagnostic where a kernel is missing or is not one.
mlir::LogicalResult lowerExecToLLVM(exec::ProgramOp program, const ExecToLLVMPassOptions &options);

} // namespace sluice

#endif // SLUICE_PASSES_EXECTOLLVM_PASSES_H
