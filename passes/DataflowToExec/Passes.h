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

/// The decisions of a plan file, which passes write to the IR.
struct Decisions {
  Plan plan; ///< Its ids are those of the graph that buildGraph makes of the function.
  std::vector<NamedSplit> splits;
  MeshTiling tiling; ///< Of the program that buildTensorProgram makes of the function.
};

/// The pass dataflow-apply-plan of a phase with decisions in memory, in the place of those that it reads from a file.
/// The decisions must outlive the pass.
std::unique_ptr<mlir::Pass> createApplyPlanPass(const ApplyPlanPassOptions &options, const Decisions *decisions);

/// The pass exec-attach-machine with a machine in memory, in the place of one that it makes from options.
std::unique_ptr<mlir::Pass> createAttachMachinePass(const Machine &machine);

} // namespace sluice

#endif // SLUICE_PASSES_DATAFLOWTOEXEC_PASSES_H
