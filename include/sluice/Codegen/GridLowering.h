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

/// What becomes of grids: PTX by architecture (80 is sm_80), and functions that
/// run one thread of theirs on a CPU.
struct GridTargets {
  std::vector<unsigned> architectures;
  bool hostCode = false;
  /// The architecture whose code the host's is the equal of, where architectures differ.
  unsigned hostArchitecture = 90;
};

/// PTX of one architecture.
struct DeviceCode {
  unsigned architecture = 0;
  std::string ptx;
};

/// The architectures code can be generated for, ascending.
std::span<const unsigned> deviceArchitectures();

/// Lowers the module's `gpu.module`, which goes, and defines the descriptors
/// that its launches name (sluice_grid of abi.h), PTX and host code included.
/// Call before lowerKernelsToLLVM. Returns the PTX; empty where there are no
/// grids. Math that no device function is there for (in f64: see
/// gridProblem) is an error that names the operator.
Expected<std::vector<DeviceCode>> lowerGrids(mlir::ModuleOp module, const GridTargets &targets);

/// The PTX that lowerGrids has left in a module, by ascending architecture.
std::vector<DeviceCode> deviceCodeOf(mlir::ModuleOp module);

/// Names of functions that PTX text calls or declares and does not define, each once.
std::vector<std::string> unresolvedInPtx(const std::string &ptx);

} // namespace sluice

#endif // SLUICE_CODEGEN_GRIDLOWERING_H
