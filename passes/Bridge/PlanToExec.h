//===- PlanToExec.h - A plan as an exec program -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_PLANTOEXEC_H
#define SLUICE_PASSES_BRIDGE_PLANTOEXEC_H

#include "dialects/Exec/Exec.h"
#include "sluice/Plan/Plan.h"

#include "mlir/IR/Builders.h"

namespace sluice {

/// What a plan does not know of the model it is for.
struct ExecBinding {
  std::string name;
  /// Per operator: the symbol of its kernel.
  std::vector<std::string> kernels;
  /// Per tensor: a parameter's offset in the parameter file, a multiple of
  /// kArenaAlignment; ignored for other tensors.
  std::vector<int64_t> parameterOffsets;
  int64_t parameterBytes = 0;

  struct Port {
    TensorId tensor;
    std::string name; ///< As the model calls it.
    mlir::RankedTensorType type;
  };
  /// In the model's order. An output is a tensor that an operator writes, and
  /// no other output is the same one.
  std::vector<Port> inputs, outputs;
};

/// Builds the program at the builder's position. State tensors get homes in the
/// state store, a new value the home of the one it replaces: the command that
/// writes it waits for all that read the old one. Init loads what the plan keeps
/// on devices. Needs a plan that validatePlan accepts; fails where it has
/// something that exec cannot say, naming the tensor, and if the program does
/// not verify.
Expected<exec::ProgramOp> buildExecProgram(mlir::OpBuilder &builder, const Graph &graph, const Machine &machine,
                                           const Plan &plan, const ExecBinding &binding);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PLANTOEXEC_H
