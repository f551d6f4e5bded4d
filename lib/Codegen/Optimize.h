//===- Optimize.h - LLVM's pipeline and code generation -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_OPTIMIZE_H
#define SLUICE_CODEGEN_OPTIMIZE_H

#include "sluice/Support/Error.h"

#include "llvm/Support/CodeGen.h"

#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace sluice {

/// Runs LLVM's own pipeline on a module of the machine's triple and data layout, and returns the bytes of an object or
/// the text of an assembler. `optLevel`: 0 to 3.
Expected<std::string> optimizeAndEmit(llvm::Module &module, llvm::TargetMachine &machine, int optLevel,
                                      llvm::CodeGenFileType kind);

} // namespace sluice

#endif // SLUICE_CODEGEN_OPTIMIZE_H
