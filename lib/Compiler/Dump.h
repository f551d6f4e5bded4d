//===- Dump.h - The IR after each phase -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_DUMP_H
#define SLUICE_LIB_COMPILER_DUMP_H

#include "sluice/Compiler/Options.h"

#include "mlir/IR/BuiltinOps.h"

namespace sluice {

/// Writes a module as DIRECTORY/NUMBER-PHASE.mlir, without the data of large weights. After Codegen, also writes the
/// PTX of each architecture. Does nothing if `directory` is empty.
Status dumpPhase(mlir::ModuleOp module, Phase phase, const std::string &directory);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_DUMP_H
