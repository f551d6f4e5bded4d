//===- Parameters.h - Constant expressions to a parameter file --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_PARAMETERS_H
#define SLUICE_LIB_COMPILER_PARAMETERS_H

#include "sluice/Codegen/Artifact.h"

#include "mlir/IR/Value.h"

#include <vector>

namespace sluice {

/// The operators that constant expressions are made of, in program order, each once.
std::vector<mlir::Operation *> expressionOf(llvm::ArrayRef<mlir::Value> values);

/// Where parameters, and the first contents of states, are in a rank's view of
/// the parameter file, and what of the file ranks share.
struct ParameterLayout {
  std::vector<mlir::Value> values;
  std::vector<int64_t> offsets; ///< Per value: in a rank's view.
  /// Per value: its section; none where one rank runs the program.
  std::vector<size_t> sectionOf;
  std::vector<ParameterSection> sections;
  int64_t bytes = 0; ///< Of a rank's view.

  /// Lays a value behind the others, in a section of `pieces` (per rank, which of
  /// the different values it has; empty: one rank); its offset.
  int64_t append(mlir::Value value, const std::vector<uint32_t> &pieces);
  /// All values are there.
  void finish();

private:
  void endSection();
};

/// Which ranks have the same value of a constant expression or state: per rank,
/// the number of its value, from 0 in order of the ranks.
std::vector<uint32_t> differentValues(mlir::Value value, int64_t numRanks);

/// Fails naming the node where an expression takes more memory than the process may
/// have, or all together more work than a model with as little data deserves.
/// Evaluates nothing.
Status checkEvaluationBudget(const ParameterLayout &layout);

/// Evaluates constant expressions one by one and appends them to the file, in
/// order, where the layout has them. No more than one expression's own
/// intermediates are in memory at a time. Fails naming the node where data is
/// missing or an operator refuses its operands.
Status writeParameters(const ParameterLayout &layout, ParameterFileWriter &writer);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_PARAMETERS_H
