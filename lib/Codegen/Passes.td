//===- Passes.td - Targets, device code and objects --------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_PASSES
#define SLUICE_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def AttachTargetPass : Pass<"exec-attach-target", "::mlir::ModuleOp"> {
  let summary = "Put the target of code generation on the module, as the attribute exec.target";
  let description = [{
    The target has the form of `sluice --target`: a CPU, followed by GPUs. `native` is the CPU
    of this host.
  }];
  let dependentDialects = ["::sluice::exec::ExecDialect"];
  let options = [Option<"target", "target", "::sluice::OptionText", "\"native\"", "a CPU, followed by GPUs">];
}

def LowerGridsPass : Pass<"lower-grids", "::mlir::ModuleOp"> {
  let summary = "Turn grids into PTX, and into host code for emulated accelerators";
  let description = [{
    The functions of `gpu.module @device` become PTX for each architecture of the module's
    `exec.target`. If the target emulates grids, they also become functions of one thread for
    the host. The pass defines the descriptors that kernels launch (sluice_grid of
    sluice/Runtime/abi.h). It runs before lower-kernels.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect",
    "::sluice::exec::ExecDialect"];
}

def EmitObjectsPass : Pass<"emit-objects", "::mlir::ModuleOp"> {
  let summary = "Compile a module in the LLVM dialect to object files";
  let description = [{
    Writes PREFIX.0.o, PREFIX.1.o and so on for the module's `exec.target`. Files with higher
    numbers from an earlier run are removed. The attribute `exec.objects` has the number of
    files. Their bytes do not depend on `threads`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::sluice::exec::ExecDialect"];
  let options = [
    Option<"prefix", "prefix", "::sluice::OptionText", "\"model\"", "prefix of the names of the files">,
    Option<"threads", "threads", "unsigned", "0", "number of threads; 0: one for each core">,
    Option<"level", "level", "unsigned", "3", "optimization level, 0 to 3, as of a C compiler's -O">,
  ];
}

#endif // SLUICE_CODEGEN_PASSES
