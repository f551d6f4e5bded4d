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

/// Where parameters, and the first contents of states, are in a rank's view of
/// the parameter file, and what of the file ranks share.
struct ParameterLayout {
  std::vector<mlir::Value> values;
  std::vector<int64_t> offsets; ///< Per value: in a rank's view.
  /// Per value: its section; none where one rank runs the program.
  std::vector<size_t> sectionOf;
  std::vector<ParameterSection> sections;
  int64_t bytes = 0; ///< Of a rank's view.
  /// Per expert of the bridge: where its weights begin, at a multiple of kFileBlockBytes, with nothing else between
  /// them.
  std::vector<int64_t> expertOffsets;

  /// Per tensor of the graph: a parameter's offset in the file, a state's in the
  /// state store; 0 for others.
  std::vector<int64_t> homeOffsets;
  int64_t stateBytes = 0; ///< Of the state store.
  /// Where in the file the state store's first content begins, which goes on to
  /// the file's end; -1: all of it is zero.
  int64_t stateInitial = -1;
};

/// Lays the parameters of a program out, first those of pooled experts, then those that the same ranks share together,
/// and behind them the first contents of states as they are in the state store.
/// States that begin as zeros come last in the store and take no part of the file.
/// The layout depends on the function alone.
ParameterLayout layOutParameters(const BridgedGraph &bridge, int64_t numRanks);

/// How many ranks run a function, each on its own parts: the attribute
/// `dataflow.ranks`, else 1.
int64_t numRanksOf(mlir::func::FuncOp function);

/// The operators that constant expressions are made of, in program order, each once.
std::vector<mlir::Operation *> expressionOf(llvm::ArrayRef<mlir::Value> values);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PARAMETERLAYOUT_H
