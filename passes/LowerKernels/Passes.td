//===- Passes.td - Kernels to the LLVM dialect -------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_LOWERKERNELS_PASSES
#define SLUICE_PASSES_LOWERKERNELS_PASSES

include "mlir/Pass/PassBase.td"

def SimplifyKernelPass : InterfacePass<"kernel-simplify", "::mlir::FunctionOpInterface"> {
  let summary = "Reduce math and vectors of a kernel to what LLVM has";
  let description = [{
    Math on f32, f16 and bf16 becomes polynomials of a few ulp where those vectorize
    and hold over the whole range (exp, log, tanh, erf...). f16 and bf16 are computed in
    f32. An exp beyond f32's range stays finite, at its edge. Vector operations become
    those of shapes that LLVM has.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect", "::mlir::vector::VectorDialect"];
}

def CallLibmPass : Pass<"kernel-call-libm", "::mlir::ModuleOp"> {
  let summary = "Turn math that LLVM has no intrinsic for into calls of libm";
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::vector::VectorDialect"];
}

def KernelsToLLVMPass : Pass<"kernel-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert simplified kernels to the LLVM dialect";
  let description = [{
    Bodies are in func, cf, arith, math, vector, index, ub and llvm, without tensors
    and memrefs. Everything else in the module, an exec.program, is left alone. A
    private function becomes internal.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def ExpandGridMathPass : InterfacePass<"grid-expand-math", "::mlir::FunctionOpInterface"> {
  let summary = "Expand math that a GPU has no instruction for";
  let description = [{
    Math on f32 that a CPU has a library for, and kernel-simplify no polynomial, becomes
    arithmetic: the hyperbolic functions by exp and log; powers in f64; sine and cosine
    by a reduction in f64 and polynomials (Cephes' sinf and cosf; 2 ulp), NaN beyond 2^52.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def GridsToNVVMPass : Pass<"grid-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Convert simplified grids to the LLVM and NVVM dialects";
  let description = [{
    Bodies are in gpu, nvvm, cf, arith, math, vector, index, ub and llvm, without tensors
    and memrefs. Thread and block numbers get the ranges that the function's known sizes
    give. Math becomes LLVM's intrinsics where LLVM has them, and not calls of libdevice.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // SLUICE_PASSES_LOWERKERNELS_PASSES
