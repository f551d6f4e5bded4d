//===- Passes.h - From a planned function to a program ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_DATAFLOWTOEXEC_PASSES_H
#define SLUICE_PASSES_DATAFLOWTOEXEC_PASSES_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Exec/Exec.h"
#include "passes/OptionText.h"
#include "sluice/Search/PlanFile.h"
#include "sluice/Tiling/PartitionFile.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace sluice {

#define GEN_PASS_DECL
#include "passes/DataflowToExec/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/DataflowToExec/Passes.h.inc"

/// The decisions of a plan file that passes put on the IR.
struct Decisions {
  Plan plan; ///< Its ids are those of the graph that buildGraph makes of the function.
  std::vector<NamedSplit> splits;
  MeshTiling tiling; ///< Of the program that buildTensorProgram makes of the function.
};

/// As dataflow-apply-plan of a phase, for a plan that is in memory: what the pass
/// reads from its file. The decisions outlive the pass.
std::unique_ptr<mlir::Pass> createApplyPlanPass(const ApplyPlanPassOptions &options, const Decisions *decisions);

/// As exec-attach-machine, for the machine in memory as it is: what the pass makes of its options.
std::unique_ptr<mlir::Pass> createAttachMachinePass(const Machine &machine);

} // namespace sluice

#endif // SLUICE_PASSES_DATAFLOWTOEXEC_PASSES_H
