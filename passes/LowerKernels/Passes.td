//===- Passes.td - Kernels to the LLVM dialect -------------*- tablegen -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_LOWERKERNELS_PASSES
#define SLUICE_PASSES_LOWERKERNELS_PASSES

include "mlir/Pass/PassBase.td"

def SimplifyKernelPass : InterfacePass<"kernel-simplify", "::mlir::FunctionOpInterface"> {
  let summary = "Reduce math and vector operations of a kernel to operations that LLVM has";
  let description = [{
    Some math functions on f32, f16 and bf16 become polynomials with an error of a few ulp:
    those whose polynomials can be vectorized and are valid over the whole range (exp, log,
    tanh, erf and others). f16 and bf16 are computed in f32. Vector operations become
    operations on shapes that LLVM has.
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
    The bodies must consist of operations of func, cf, arith, math, vector, index, ub and
    llvm, without tensors and memrefs. The rest of the module, such as an exec.program, does
    not change. A private function gets internal linkage.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::arith::ArithDialect", "::mlir::vector::VectorDialect"];
}

def ExpandMathPass : InterfacePass<"kernel-expand-math", "::mlir::FunctionOpInterface"> {
  let summary = "Expand math functions that would otherwise be calls of libm";
  let description = [{
    On a CPU, some math functions on f32 are calls of libm because kernel-simplify has no
    polynomial for them. In grids, and in kernels of programs without a C library, they
    become arithmetic. Hyperbolic functions are computed
    from exp and log, and powers in f64. Sine and cosine are computed by a reduction of the
    argument in f64 and polynomials (from Cephes' sinf and cosf, with an error of 2 ulp);
    they are NaN for arguments beyond 2^52.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ExpandFmaPass : InterfacePass<"kernel-expand-fma", "::mlir::FunctionOpInterface"> {
  let summary = "Expand fused multiply-adds where the target has no instruction for them";
  let description = [{
    LLVM calls `fmaf` and `fma` of the C library for `math.fma` on such a target. This pass is
    for programs without a C library. In f32, the product and the sum are rounded
    separately. This is sufficient for the polynomials of math functions, whose constants
    (from Cephes) do not rely on a single rounding. In f64, which reduces arguments and
    computes powers, the rounding errors of the product and of the sum are added (Dekker, "A
    floating-point technique for extending the available precision", 1971), for finite
    factors of less than 2^996. If the module's target has the instruction, nothing changes.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ExpandHalfPass : InterfacePass<"kernel-expand-half", "::mlir::FunctionOpInterface"> {
  let summary = "Expand conversions of f16 where the target has no instructions for them";
  let description = [{
    LLVM calls functions of the compiler's runtime library for such a conversion, one lane at
    a time, and programs without a C library do not have these functions. This pass makes
    integer arithmetic of conversions between f16 and f32, for vectors too. Results have the
    same bits, subnormal numbers and the payloads of NaNs included, except that NaNs become
    quiet only in the conversion to f16. If the module has no target, or the target has the
    instructions, nothing changes.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def GridsToNVVMPass : Pass<"grid-to-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Convert simplified grids to the LLVM and NVVM dialects";
  let description = [{
    The bodies must consist of operations of gpu, nvvm, cf, arith, math, vector, index, ub
    and llvm, without tensors and memrefs. Thread and block numbers get the ranges that
    follow from the function's known sizes. Math functions become LLVM intrinsics, and never
    calls of libdevice.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::arith::ArithDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif // SLUICE_PASSES_LOWERKERNELS_PASSES
