//===- ProgramSymbols.h - Symbols of a program's extents --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_DIALECTS_EXEC_PROGRAMSYMBOLS_H
#define SLUICE_DIALECTS_EXEC_PROGRAMSYMBOLS_H

#include "dialects/Exec/Exec.h"

namespace sluice::exec {

/// An integer that a step has another value of than the next, `least`, `least` + `step` and so on to `most`: the extent
/// of dimension `dimension` of input number `input`, the first that it is; or found by a kernel, where `input` is
/// kFound; or the length of state number `dimension`, where `input` is kKept: `next` is its value in the step after.
struct ProgramSymbol {
  static constexpr uint32_t kFound = UINT32_MAX, kKept = UINT32_MAX - 1;
  llvm::StringRef name;
  int64_t least = 0, most = 0, step = 1;
  uint32_t input = 0, dimension = 0;
  mlir::AffineExpr next = {};
};

/// What the indices of an input may be, as expressions of the program's symbols: the least, the greatest, and one more
/// value. None of an input without a range.
llvm::SmallVector<mlir::AffineExpr> rangeOf(InputOp input);

/// The symbols of the extents of a program's inputs and outputs, in the order in which expressions number them; none
/// where all extents are numbers. Fails, with a diagnostic, on what constraint C16 of the dialect forbids.
mlir::FailureOr<llvm::SmallVector<ProgramSymbol>> findSymbols(ProgramOp program);

} // namespace sluice::exec

#endif // SLUICE_DIALECTS_EXEC_PROGRAMSYMBOLS_H
