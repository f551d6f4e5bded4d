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

/// Registers the dialects in which kernels are written and to which they are lowered, with
/// their translations to LLVM IR.
void registerCodegenDialects(mlir::DialectRegistry &registry);

/// Lowers every func.func of the module to the LLVM dialect. Bodies must consist of operations
/// of func, scf, cf, arith, math, vector, index, ub and llvm (`llvm.load`, `llvm.store`,
/// `llvm.getelementptr` on `!llvm.ptr` arguments), without tensors and memrefs. The rest of the
/// module, such as an exec.program, does not change. A private function gets internal linkage.
///
/// A math function on f32, f16 or bf16 becomes a polynomial with an error of a few ulp if the
/// polynomial can be vectorized and is valid over the whole range (exp, log, tanh, erf and
/// others). Other math functions, and all on f64, become LLVM intrinsics or calls of libm. f16
/// and bf16 are computed in f32. Fails with the first diagnostic.
Status lowerKernelsToLLVM(mlir::ModuleOp module);

/// Lowers every gpu.func of a gpu.module to the LLVM and NVVM dialects. Math must already be
/// expanded (kernel-expand-math). Fails with the first diagnostic.
Status lowerGridsToNVVM(mlir::gpu::GPUModuleOp module);

} // namespace sluice

#endif // SLUICE_CODEGEN_KERNELLOWERING_H
