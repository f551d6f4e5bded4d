//===- Passes.h - Kernels to the LLVM dialect -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_LOWERKERNELS_PASSES_H
#define SLUICE_PASSES_LOWERKERNELS_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
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

/// The pipeline `lower-kernels`: kernel-simplify, kernel-call-libm where there is a libm
/// to call, convert-scf-to-cf, kernel-to-llvm and reconcile-unrealized-casts.
void addLowerKernels(mlir::OpPassManager &passes, bool callsLibm = true);
void registerLowerKernelsPipeline();

} // namespace sluice

#endif // SLUICE_PASSES_LOWERKERNELS_PASSES_H
