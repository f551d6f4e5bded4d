//===- ProgramSymbols.h - Symbols of a program's extents --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_PROGRAMSYMBOLS_H
#define SLUICE_DIALECTS_EXEC_PROGRAMSYMBOLS_H

#include "dialects/Exec/Exec.h"

namespace sluice::exec {

/// An integer that may differ from step to step: `least`, `least` + `step` and so on up to `most`. It is the extent of
/// dimension `dimension` of input number `input`, the first such extent. If `input` is kFound, a kernel finds it. If
/// `input` is kKept, it is the length of state number `dimension`, and `next` is its value in the next step.
struct ProgramSymbol {
  static constexpr uint32_t kFound = UINT32_MAX, kKept = UINT32_MAX - 1;
  llvm::StringRef name;
  int64_t least = 0, most = 0, step = 1;
  uint32_t input = 0, dimension = 0;
  mlir::AffineExpr next = {};
};

/// The range of an input's indices as expressions of the program's symbols: the least and the greatest value, and one
/// other allowed value. Empty for an input without a range.
llvm::SmallVector<mlir::AffineExpr> rangeOf(InputOp input);

/// The symbols of the extents of a program's inputs and outputs, in the order in which expressions number them; empty
/// if all extents are numbers. Fails, with a diagnostic, if constraint C16 of the dialect is violated.
mlir::FailureOr<llvm::SmallVector<ProgramSymbol>> findSymbols(ProgramOp program);

} // namespace sluice::exec

#endif // SLUICE_DIALECTS_EXEC_PROGRAMSYMBOLS_H
