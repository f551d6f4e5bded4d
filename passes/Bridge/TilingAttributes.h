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

/// Makes a tiling attributes of the function that the program was made of.
void annotateTiling(mlir::func::FuncOp function, const BridgedProgram &bridged, const MeshTiling &tiling);
/// Reads them back; the function has a mesh. Fails naming the operator, where a
/// rule is none of its own or a tiling is not one, and where validateTiling does.
Expected<MeshTiling> readTiling(mlir::func::FuncOp function, const BridgedProgram &bridged);

/// Makes splits attributes of the operators that the program was made of.
void annotateSplits(const BridgedProgram &bridged, const std::vector<OperatorSplit> &splits);
/// Reads them back, ascending. Fails naming the operator, where a rule is none of its
/// own, and where checkSplits does.
Expected<std::vector<OperatorSplit>> readSplits(const BridgedProgram &bridged);
/// A rule of an operator by its name, which `attribute` says. Fails listing those there are.
Expected<uint32_t> findRule(const ProgramOperator &op, llvm::StringRef name, llvm::StringRef attribute);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_TILINGATTRIBUTES_H
