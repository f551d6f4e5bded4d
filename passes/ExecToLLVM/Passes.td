//===- Passes.td - exec to the Runtime's C ABI --------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EXECTOLLVM_PASSES
#define SLUICE_PASSES_EXECTOLLVM_PASSES

include "mlir/Pass/PassBase.td"

def ExecToLLVMPass : Pass<"exec-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Lower a planned program to tables and to calls of the Runtime's C ABI";
  let description = [{
    Replaces the module's `exec.program` by the constant tables of `sluice/Runtime/abi.h`,
    the functions `init` and `step`, which have one call for each command, and the function
    `sluice_model_get`. If extents depend on symbols, it also makes the function `extents`,
    which computes the extents of inputs and outputs. The launched kernels must be in the
    module as `llvm.func` of type `i32 (ptr, ptr)`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"compiler", "compiler", "::sluice::OptionText", "\"\"", "name and version of the compiler, for the tables">,
    Option<"cpuFeatures", "cpu-features", "::sluice::OptionText", "\"\"", "features that the host's CPU must have, for the tables">,
    Option<"parameterHash", "parameter-hash", "::sluice::OptionText", "\"\"", "SHA-256 of the parameter file, for the tables">,
  ];
}

#endif // SLUICE_PASSES_EXECTOLLVM_PASSES
