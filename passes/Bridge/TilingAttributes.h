//===- TilingAttributes.h - A tiling on the IR ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_TILINGATTRIBUTES_H
#define SLUICE_PASSES_BRIDGE_TILINGATTRIBUTES_H

#include "passes/Bridge/ProgramBridge.h"
#include "sluice/Tiling/OperatorSplit.h"
#include "sluice/Tiling/PartitionFile.h"

namespace sluice {

/// Writes a tiling as attributes of the function that the program was made of.
void annotateTiling(mlir::func::FuncOp function, const BridgedProgram &bridged, const MeshTiling &tiling);
/// Reads the attributes of annotateTiling from a function with a mesh. Fails and names the operator if it does not have
/// the rule, or if an attribute is malformed. Fails like validateTiling.
Expected<MeshTiling> readTiling(mlir::func::FuncOp function, const BridgedProgram &bridged);

/// Writes splits as attributes of the operators that the program was made of.
void annotateSplits(const BridgedProgram &bridged, const std::vector<OperatorSplit> &splits);
/// Reads the attributes of annotateSplits, by ascending operators. Fails and names the operator if it does not have the
/// rule. Fails like checkSplits.
Expected<std::vector<OperatorSplit>> readSplits(const BridgedProgram &bridged);
/// The index of an operator's rule named `name`. Fails and lists the operator's rules if there is none; `attribute` is
/// for the error.
Expected<uint32_t> findRule(const ProgramOperator &op, llvm::StringRef name, llvm::StringRef attribute);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_TILINGATTRIBUTES_H
