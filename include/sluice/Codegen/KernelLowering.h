//===- KernelLowering.h - Kernels to the LLVM dialect -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_KERNELLOWERING_H
#define SLUICE_CODEGEN_KERNELLOWERING_H

#include "sluice/Support/Error.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir {
class DialectRegistry;
}

namespace sluice {

/// The dialects kernels are written in and lowered to, with their translations
/// to LLVM IR.
void registerCodegenDialects(mlir::DialectRegistry &registry);

/// Lowers every func.func of the module to the LLVM dialect. Bodies are in func,
/// scf, cf, arith, math, vector, index, ub and llvm (`llvm.load`, `llvm.store`,
/// `llvm.getelementptr` on `!llvm.ptr` arguments): no tensors and no memrefs.
/// Everything else in the module (an exec.program) is left alone. A private
/// function becomes internal.
///
/// Math on f32, f16 and bf16 becomes polynomials of a few ulp where those
/// vectorize and hold over the whole range (exp, log, tanh, erf...); the rest,
/// and f64, become LLVM intrinsics or calls of libm. f16 and bf16 are computed
/// in f32. An exp beyond f32's range stays finite, at its edge. Fails with the first diagnostic.
Status lowerKernelsToLLVM(mlir::ModuleOp module);

/// Lowers every gpu.func of a gpu.module, whose math is expanded (kernel-expand-math),
/// to the LLVM and NVVM dialects. Fails with the first diagnostic.
Status lowerGridsToNVVM(mlir::gpu::GPUModuleOp module);

} // namespace sluice

#endif // SLUICE_CODEGEN_KERNELLOWERING_H
