//===- ProgramName.h - A model's name and its program's symbol --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_PROGRAMNAME_H
#define SLUICE_DIALECTS_EXEC_PROGRAMNAME_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace sluice::exec {

/// The symbol of the exec.program of a model: the model's name, or `model.NAME` if kernels (`kernel0`) or C's library
/// functions (`tan`) need that name in the same module.
std::string programSymbol(llvm::StringRef modelName);

/// The name of the model of a symbol that programSymbol() has made.
llvm::StringRef modelName(llvm::StringRef programSymbol);

} // namespace sluice::exec

#endif // SLUICE_DIALECTS_EXEC_PROGRAMNAME_H
