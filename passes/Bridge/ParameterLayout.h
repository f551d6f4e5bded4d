//===- ParameterLayout.h - Where parameters are in their file ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_PARAMETERLAYOUT_H
#define SLUICE_PASSES_BRIDGE_PARAMETERLAYOUT_H

#include "passes/Bridge/GraphBridge.h"
#include "sluice/Plan/ParameterSection.h"

#include <vector>

namespace sluice {

/// Where parameters and the first contents of states are in a rank's view of the parameter file, and which sections of
/// the file ranks share.
struct ParameterLayout {
  std::vector<mlir::Value> values;
  std::vector<int64_t> offsets; ///< Per value: its offset in a rank's view.
  /// Per value: the number of its section; empty if one rank runs the program.
  std::vector<size_t> sectionOf;
  std::vector<ParameterSection> sections;
  int64_t bytes = 0; ///< The size of a rank's view.
  /// Per expert of the bridge: the offset of its weights, a multiple of kFileBlockBytes. Nothing else lies between
  /// them.
  std::vector<int64_t> expertOffsets;

  /// Per tensor of the graph: a parameter's offset in the file, a state's in the
  /// state store; 0 for others.
  std::vector<int64_t> homeOffsets;
  int64_t stateBytes = 0; ///< The size of the state store.
  /// The offset of the state store's first contents in the file, which extend to the file's end; -1 if they are all
  /// zero.
  int64_t stateInitial = -1;
};

/// Lays out the parameters of a program: first those of pooled experts, then the others, with those together that the
/// same ranks share, and last the first contents of states in the order of the state store. States that begin as zeros
/// come last in the store and are not in the file. The layout depends on the function alone.
ParameterLayout layOutParameters(const BridgedGraph &bridge, int64_t numRanks);

/// The number of ranks that run a function, each on its own parts: the attribute `dataflow.ranks`, or 1 without it.
int64_t numRanksOf(mlir::func::FuncOp function);

/// The operators that constant expressions are made of, in program order, each once.
std::vector<mlir::Operation *> expressionOf(llvm::ArrayRef<mlir::Value> values);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PARAMETERLAYOUT_H
