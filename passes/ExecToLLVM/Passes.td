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

def ExecToFreestandingPass : Pass<"exec-to-freestanding", "::mlir::ModuleOp"> {
  let summary = "Lower a planned program to C functions that need no runtime";
  let description = [{
    Replaces the module's `exec.program` by the functions `sluice_model_init`,
    `sluice_model_run` and `sluice_model_message` (passes/ExecToLLVM/Passes.h), which call the
    kernels one after the other on the calling thread. The arena and the states are one
    global. The parameters are the external global `sluice_model_parameters`. The order of
    calls is the order of commands, so the results are the same as with `exec-to-llvm`.

    The program must consist of launches on CPUs, with extents that are numbers. Kernels must
    not call the runtime for text, grids or collectives. A diagnostic names the operator or
    tensor that is not allowed.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // SLUICE_PASSES_EXECTOLLVM_PASSES
