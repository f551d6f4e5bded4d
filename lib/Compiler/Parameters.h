//===- Parameters.h - Constant expressions to a parameter file --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_PARAMETERS_H
#define SLUICE_LIB_COMPILER_PARAMETERS_H

#include "passes/Bridge/ParameterLayout.h"
#include "sluice/Codegen/Artifact.h"

namespace sluice {

/// Fails naming the node where an expression takes more memory than the process may
/// have, or all together more work than a model with as little data deserves.
/// Evaluates nothing.
Status checkEvaluationBudget(const ParameterLayout &layout);

/// Evaluates constant expressions one by one and appends them to the file, in
/// order, where the layout has them. No more than one expression's own
/// intermediates are in memory at a time, and of the model's files only the pages
/// that this expression reads; with several threads the next small expression is
/// evaluated while one is written. Fails naming the node where data is missing or
/// an operator refuses its operands. The file does not depend on `threads`.
Status writeParameters(const ParameterLayout &layout, ParameterFileWriter &writer, int threads);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_PARAMETERS_H
