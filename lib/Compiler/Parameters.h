//===- Parameters.h - Constant expressions to a parameter file --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_PARAMETERS_H
#define SLUICE_LIB_COMPILER_PARAMETERS_H

#include "passes/Bridge/ParameterLayout.h"
#include "sluice/Codegen/Artifact.h"

namespace sluice {

/// Fails and names the node if an expression takes more memory than the process may have, or if all expressions
/// together take far more work than the model's data accounts for. Evaluates nothing.
Status checkEvaluationBudget(const ParameterLayout &layout);

/// Evaluates constant expressions one by one and appends them to the file, in order, at the offsets of the layout. Only
/// the intermediates of one expression, and the pages of the model's files that it reads, are in memory at a time. With
/// several threads, the next small expression is evaluated while one is written. Fails and names the node if data is
/// missing or an operator refuses its operands. The file does not depend on `threads`.
Status writeParameters(const ParameterLayout &layout, ParameterFileWriter &writer, int threads);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_PARAMETERS_H
