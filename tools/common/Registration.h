//===- Registration.h - What every IR tool knows ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMON_REGISTRATION_H
#define SLUICE_TOOLS_COMMON_REGISTRATION_H

namespace mlir {
class DialectRegistry;
}

namespace sluice {

/// Registers the dialects of Sluice, and all of MLIR's with their extensions: tests lower through them, and a dialect
/// costs nothing until it is loaded.
void registerToolDialects(mlir::DialectRegistry &registry);

/// Registers the passes of Sluice and all of MLIR's. Call it once per process.
void registerToolPasses();

} // namespace sluice

#endif // SLUICE_TOOLS_COMMON_REGISTRATION_H
