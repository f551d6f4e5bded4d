//===- ProgramName.cpp - A model's name and its program's symbol ----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Exec/ProgramName.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

static constexpr StringLiteral kPrefix = "model.";

static bool isReserved(StringRef name) {
  if (name.starts_with(kPrefix))
    return true; // Without it, the symbol would be another model's.
  if (StringRef rest = name; rest.consume_front("kernel") && !rest.empty() && isDigit(rest.front()))
    return true;
  static const TargetLibraryInfoImpl library(Triple("x86_64-unknown-linux-gnu"));
  LibFunc function;
  return library.getLibFunc(name, function);
}

std::string sluice::exec::programSymbol(StringRef modelName) {
  return isReserved(modelName) ? (kPrefix + modelName).str() : modelName.str();
}

StringRef sluice::exec::modelName(StringRef programSymbol) {
  programSymbol.consume_front(kPrefix);
  return programSymbol;
}
