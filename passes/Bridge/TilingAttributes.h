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

/// Of a function: the sizes of the mesh's axes, the outermost first. Of an
/// operator: a list with a #dataflow.tiling for each result; and, per axis, the name
/// of the rule it runs by. Of an argument: a #dataflow.tiling. What has no tiling is
/// replicated.
inline constexpr const char *kMeshAttribute = "dataflow.mesh", *kTilingAttribute = "dataflow.tiling",
                            *kRulesAttribute = "dataflow.rules";
/// Of a function that several ranks run, each on its own parts: how many, an integer.
inline constexpr const char *kRanksAttribute = "dataflow.ranks";

/// Of an operator: a #dataflow.split, to run as so many operators.
inline constexpr const char *kSplitAttribute = "dataflow.split";

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
Expected<uint32_t> findRule(const ProgramOperator &op, llvm::StringRef name, const char *attribute);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_TILINGATTRIBUTES_H
