//===- ProgramName.h - A model's name and its program's symbol --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_PROGRAMNAME_H
#define SLUICE_DIALECTS_EXEC_PROGRAMNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sluice::exec {

/// The symbol of the exec.program of a model. It is the model's name, but for names that kernels (`kernel0`) and C's
/// library functions (`tan`) need in the same module: `model.kernel0`.
std::string programSymbol(llvm::StringRef modelName);

/// The name of the model that programSymbol has made this symbol of.
llvm::StringRef modelName(llvm::StringRef programSymbol);

} // namespace sluice::exec

#endif // SLUICE_DIALECTS_EXEC_PROGRAMNAME_H
