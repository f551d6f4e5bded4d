//===- IrText.h - Programs as text ------------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SUPPORT_IRTEXT_H
#define SLUICE_SUPPORT_IRTEXT_H

#include "sluice/Support/Error.h"

#include <string_view>

namespace sluice {

/// The largest accepted number N in `%x#N`, which refers to result N of an operator with several results.
inline constexpr int64_t kMostResultNumber = 65'535;

/// Fails if a text in MLIR's syntax refers to a result whose number exceeds kMostResultNumber, and names its line.
/// MLIR's parser would make a list with as many entries as the number says. `name` is the name of the file. Bytecode
/// has no such references and passes.
Status checkResultNumbers(std::string_view text, std::string_view name);

} // namespace sluice

#endif // SLUICE_SUPPORT_IRTEXT_H
