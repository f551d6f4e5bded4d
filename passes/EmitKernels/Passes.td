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
    A function with the attribute `dataflow.kernel` contains one operator or a fused group,
    and reshapes of its arguments. The function becomes a kernel with the same name and the
    type of sluice/Runtime/abi.h, `func (env, args) -> i32`. Each parallel region of the
    kernel becomes a further function. The operator's attribute `dataflow.device` determines
    the form of the regions; for an operator without this attribute, the option `form` does.
    Grids are functions of one thread in `gpu.module @device`. Vectors have the lanes of the
    module's `exec.target`. Without a target they have 512 bits.
  }];
  let dependentDialects = [
    "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
    "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::sluice::dataflow::DataflowDialect"];
  let options = [
    Option<"form", "form", "::sluice::OptionText", "\"chunks\"", "form of the kernels of operators without a device: chunks or grids">,
    Option<"precision", "precision", "::sluice::OptionText", "\"f32\"",
           "type to which grids round f32 operands of products for tensor cores: f32, tf32, bf16 or f16">,
    Option<"chunks", "chunks", "::sluice::OptionText", "\"\"",
           "least estimated time of a chunk of a loop on a CPU, in nanoseconds (4500), for each kind of work: "
           "scalars, vectors, products, byte-products and tile-products, each =TIME or =never">,
  ];
}

#endif // SLUICE_PASSES_EMITKERNELS_PASSES
