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

#include <array>

namespace sluice {

#define GEN_PASS_DECL
#include "passes/ExecToLLVM/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/ExecToLLVM/Passes.h.inc"

/// Lowers and erases one verified program, as the pass exec-to-llvm does. Fails, with a diagnostic, like
/// checkKernels().
mlir::LogicalResult lowerExecToLLVM(exec::ProgramOp program, const ExecToLLVMPassOptions &options);

/// Fails, with a diagnostic, if a kernel of the verified program is missing, or is no function of the LLVM dialect of a
/// kernel's type.
mlir::LogicalResult checkKernels(exec::ProgramOp program);
/// Fails, with a diagnostic, if the module has several programs.
mlir::LogicalResult checkOneProgram(mlir::ModuleOp module);

/// The functions that exec-to-freestanding adds, with their types in C:
///   void init(void);                                              before the first step; resets the states
///   int32_t run(const void *const *inputs, void *const *outputs); one step; 0, or the number of a failure
///   const char *message(int32_t status);                          what a result of run means
inline constexpr std::array<const char *, 3> kFreestandingEntries = {"sluice_model_init", "sluice_model_run",
                                                                     "sluice_model_message"};
/// The symbol of the parameters that these functions read: `parameter_bytes` bytes, aligned to 64 bytes, which another
/// object defines.
inline constexpr const char *kFreestandingParameters = "sluice_model_parameters";
/// The bytes of static memory of such a program, for its arena and its states.
int64_t freestandingMemoryBytes(exec::ProgramOp program);

} // namespace sluice

#endif // SLUICE_PASSES_EXECTOLLVM_PASSES_H
