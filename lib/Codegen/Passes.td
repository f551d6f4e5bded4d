//===- Passes.td - Targets, device code and objects --------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_PASSES
#define SLUICE_CODEGEN_PASSES

include "mlir/Pass/PassBase.td"

def AttachTargetPass : Pass<"exec-attach-target", "::mlir::ModuleOp"> {
  let summary = "Put what code is generated for on the module, as the attribute exec.target";
  let description = [{
    The target is one of `sluice --target`: a CPU, and GPUs behind it. `native` is this
    host's CPU.
  }];
  let dependentDialects = ["::sluice::exec::ExecDialect"];
  let options = [Option<"target", "target", "::sluice::OptionText", "\"native\"", "a CPU, and GPUs behind it">];
}

def LowerGridsPass : Pass<"lower-grids", "::mlir::ModuleOp"> {
  let summary = "Turn grids into PTX, and into host code for emulated accelerators";
  let description = [{
    The functions of `gpu.module @device` become PTX for each architecture of the
    module's `exec.target`, and functions of one thread for the host where the target
    emulates grids. The descriptors that kernels launch (sluice_grid of
    sluice/Runtime/abi.h) are defined beside them. Runs before lower-kernels.
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
    Writes PREFIX.0.o, PREFIX.1.o, ... for the module's `exec.target`, and removes
    files of those names that an earlier run has left behind them. The attribute
    `exec.objects` says how many there are. The bytes never depend on `threads`.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::sluice::exec::ExecDialect"];
  let options = [
    Option<"prefix", "prefix", "::sluice::OptionText", "\"model\"", "how the names of the files begin">,
    Option<"threads", "threads", "unsigned", "0", "to compile with, 0: one a core">,
  ];
}

#endif // SLUICE_CODEGEN_PASSES
