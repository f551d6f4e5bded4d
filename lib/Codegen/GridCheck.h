//===- GridCheck.h - Grids as lower-grids expects them ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_CODEGEN_GRIDCHECK_H
#define SLUICE_LIB_CODEGEN_GRIDCHECK_H

#include "sluice/Support/Error.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// The module's gpu.module; null where the module has none. Fails where there are several, and unless every function
/// in it is a grid as dataflow-emit-kernels writes it: known sizes along x, its operator as an attribute, pointers as
/// arguments, no results, operations on threads that lower-grids can translate, and a global in `module` that stands
/// for its descriptor.
Expected<mlir::gpu::GPUModuleOp> checkedGrids(mlir::ModuleOp module);

} // namespace sluice

#endif // SLUICE_LIB_CODEGEN_GRIDCHECK_H
