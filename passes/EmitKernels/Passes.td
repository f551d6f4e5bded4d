//===- Passes.td - From outlined operators to loops --------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_EMITKERNELS_PASSES
#define SLUICE_PASSES_EMITKERNELS_PASSES

include "mlir/Pass/PassBase.td"

def EmitKernelsPass : Pass<"dataflow-emit-kernels", "::mlir::ModuleOp"> {
  let summary = "Turn outlined operators into kernels: chunks for CPUs, grids for GPUs";
  let description = [{
    A function with the attribute `dataflow.kernel` holds one operator, or a group of
    them, and reshapes of its arguments. The function becomes the kernel that
    sluice/Runtime/abi.h declares, with the same name: `func (env, args) -> i32`, and
    beside it a function for each parallel region. The operator's `dataflow.device`
    says which form the regions have; an operator without it takes the option `form`.
    Grids are functions of one thread in `gpu.module @device`. Vectors have the lanes
    of the module's `exec.target`, else those of 512 bits.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"form", "form", "::sluice::OptionText", "\"chunks\"", "of operators without a device: chunks or grids">,
    Option<"precision", "precision", "::sluice::OptionText", "\"f32\"",
           "what grids round f32 operands of products to, for tensor cores: f32, tf32, bf16 or f16">,
    Option<"chunks", "chunks", "::sluice::OptionText", "\"\"",
           "least estimated time of a chunk of a CPU's loops by their rate, in nanoseconds, 4500 where absent: "
           "scalars, vectors, products, byte-products and tile-products, each =TIME or =never">,
  ];
}

#endif // SLUICE_PASSES_EMITKERNELS_PASSES
