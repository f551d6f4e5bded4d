//===- Passes.h - Kernels to the LLVM dialect -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_LOWERKERNELS_PASSES_H
#define SLUICE_PASSES_LOWERKERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace mlir {
class OpPassManager;
}

namespace sluice {

#define GEN_PASS_DECL
#include "passes/LowerKernels/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/LowerKernels/Passes.h.inc"

/// Adds the pipeline `lower-kernels`: kernel-simplify, kernel-expand-half, kernel-call-libm, convert-scf-to-cf,
/// kernel-to-llvm and reconcile-unrealized-casts.
void addLowerKernels(mlir::OpPassManager &passes);
void registerLowerKernelsPipeline();
/// Adds the passes that follow kernel-expand-math for the functions of a gpu.module: kernel-simplify,
/// convert-scf-to-cf, grid-to-nvvm and reconcile-unrealized-casts.
void addLowerGridKernels(mlir::OpPassManager &passes);

} // namespace sluice

#endif // SLUICE_PASSES_LOWERKERNELS_PASSES_H
