//===- Splitting.h - Splits by name, and what a plan hangs on ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_COMPILER_SPLITTING_H
#define SLUICE_LIB_COMPILER_SPLITTING_H

#include "passes/Bridge/GraphBridge.h"
#include "passes/Bridge/ProgramBridge.h"
#include "sluice/Compiler/PlanFile.h"
#include "sluice/Tiling/OperatorSplit.h"

namespace sluice {

std::vector<NamedSplit> namesOf(const TensorProgram &program, const std::vector<OperatorSplit> &splits);
/// Fails naming an operator or rule that the program has not, and where checkSplits does.
Expected<std::vector<OperatorSplit>> findSplits(const TensorProgram &program, const std::vector<NamedSplit> &splits);

/// What a plan's time hangs on, in terms of the operators that were marked with their
/// ids before the program was split and fused.
SplitTrial describeTrial(const BridgedGraph &bridge, const Machine &machine, const CostTable &costs, const Plan &plan);

} // namespace sluice

#endif // SLUICE_LIB_COMPILER_SPLITTING_H
