//===- PtxEmission.h - LLVM dialect to PTX ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_PTXEMISSION_H
#define SLUICE_CODEGEN_PTXEMISSION_H

#include "sluice/Codegen/GridLowering.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// If the module to be compiled declares an i32 constant of this name, emitPtx gives it the number of the architecture.
inline constexpr const char *kArchitectureGlobal = "sluice.architecture";

/// A function of the module that the runtime launches.
struct GridFunction {
  std::string name;
  std::string op; ///< The operator whose kernel launches it.
};

/// Compiles a module wholly in the LLVM and NVVM dialects to PTX for each architecture.
/// Equal modules give equal text. Fails and names the operator if its function calls a function that GPUs do not have.
Expected<std::vector<DeviceCode>> emitPtx(mlir::gpu::GPUModuleOp module, std::span<const GridFunction> grids,
                                          std::span<const unsigned> architectures);

} // namespace sluice

#endif // SLUICE_CODEGEN_PTXEMISSION_H
