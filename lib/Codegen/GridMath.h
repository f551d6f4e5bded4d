//===- GridMath.h - Math functions that a GPU has not -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_GRIDMATH_H
#define SLUICE_CODEGEN_GRIDMATH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sluice {

/// Rewrites math on f32 that the CPU has a library for, and the kernels'
/// lowering no polynomial, as arithmetic: the hyperbolic functions by exp and log;
/// powers in f64; sine and cosine by a reduction in f64 and polynomials (Cephes'
/// sinf, cosf; 2 ulp), NaN beyond 2^52.
llvm::LogicalResult expandGridMath(mlir::func::FuncOp function);

} // namespace sluice

#endif // SLUICE_CODEGEN_GRIDMATH_H
