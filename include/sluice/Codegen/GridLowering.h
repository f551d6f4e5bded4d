//===- GridLowering.h - Grids to device code and host code ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_GRIDLOWERING_H
#define SLUICE_CODEGEN_GRIDLOWERING_H

#include "sluice/Support/Error.h"

#include "mlir/IR/BuiltinOps.h"

#include <span>
#include <string>
#include <vector>

namespace sluice {

/// The code that is generated for grids. A grid is a kernel for GPUs, which many threads run in blocks. Each grid
/// becomes PTX for each of `architectures` (80 is sm_80). With `hostCode`, it also becomes a function that runs one
/// thread of the grid on a CPU.
struct GridTargets {
  std::vector<unsigned> architectures;
  bool hostCode = false;
  /// If the code of a grid differs between architectures, the host code of the grid computes what the code for this
  /// architecture computes.
  unsigned hostArchitecture = 90;
};

/// PTX of one architecture.
struct DeviceCode {
  unsigned architecture = 0;
  std::string ptx;
};

/// The architectures for which code can be generated, ascending.
std::span<const unsigned> deviceArchitectures();

/// Lowers the module's `gpu.module` and removes it. Launches refer to grids by globals; these globals are replaced by
/// the descriptors of the grids (sluice_grid of abi.h), with PTX and host code. Call it before lowerKernelsToLLVM.
/// Returns the PTX; empty without grids. Fails if a grid uses a math function on f64 that GPUs do not have (see
/// gridProblem), and names the operator.
Expected<std::vector<DeviceCode>> lowerGrids(mlir::ModuleOp module, const GridTargets &targets);

/// The PTX that lowerGrids has stored in a module, by ascending architecture.
std::vector<DeviceCode> deviceCodeOf(mlir::ModuleOp module);

/// Names of functions that PTX text calls or declares and does not define, each once.
std::vector<std::string> unresolvedInPtx(const std::string &ptx);

} // namespace sluice

#endif // SLUICE_CODEGEN_GRIDLOWERING_H
