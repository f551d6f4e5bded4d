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

/// The facts about a model that its plan does not contain.
struct ExecBinding {
  std::string name;
  /// Per operator: the symbol of its kernel.
  std::vector<std::string> kernels;
  /// Per tensor: the offset of a parameter in the parameter file, or of a state in the state store, a multiple of
  /// kArenaAlignment; ignored for other tensors.
  std::vector<int64_t> homeOffsets;
  int64_t parameterBytes = 0, stateBytes = 0;
  /// The offset of the state store's first contents in the parameter file, which extend to the file's end; -1 if they
  /// are all zero.
  int64_t stateInitial = -1;

  struct Port {
    TensorId tensor;
    std::string name; ///< The model's name for it.
    mlir::RankedTensorType type;
    /// The bytes of an input that can have one value only; else empty.
    std::vector<int8_t> fixed = {};
    /// The attribute exec.range of an input of indices; else null.
    mlir::Attribute range = {};
    /// Dimension, count and stride of each cut, for a state of which each rank has a part; else empty.
    std::vector<int64_t> cuts = {};
    std::vector<int64_t> cutBlocks = {}; ///< The number of blocks of each cut; empty if all have one block.
    /// The #dataflow.extents of the length of a state that grows; else null.
    mlir::Attribute length = {};
  };
  /// In the model's order. Each output is a tensor that an operator writes, and no two outputs are the same tensor.
  std::vector<Port> inputs, outputs;
  /// States that callers may read and write between steps.
  std::vector<Port> states;
  /// The #dataflow.symbols that kernels depend on; null if there are none. The types of inputs and outputs need not
  /// have them.
  mlir::Attribute symbols = {};
  /// An operator that reads its weights into a slot if the step chooses it.
  struct Expert {
    OperatorId op;
    int64_t group = 0, element = 0, mask = 0; ///< `mask`: an input of the operator.
    int64_t offset = 0, bytes = 0;            ///< The range in the parameter file.
  };
  std::vector<Expert> experts; ///< The experts by ascending groups and elements.
  int64_t expertSlots = 0;
  /// Per rank: the bytes that a step sends to other ranks; empty if the program runs on one rank.
  std::vector<int64_t> bytesSent;
};

/// A plan, and the graph that it is for.
struct PlannedStep {
  const Graph *graph = nullptr;
  const Plan *plan = nullptr;
  /// The values of the symbols at which the graph has its bytes; empty for the upper bounds.
  std::vector<int64_t> bounds = {};
};

/// Builds the program at the builder's position. State tensors get homes in the state store. A state's new value has
/// the home of the old one, so the command that writes it waits for all that read the old value. Inits load the tensors
/// that the plans keep on devices. The graphs of the steps may differ only in bytes, and the last step has no bounds.
/// Needs plans that validatePlan accepts. Fails and names the tensor if exec cannot express a plan. Fails if the
/// program does not verify.
Expected<exec::ProgramOp> buildExecProgram(mlir::OpBuilder &builder, const Machine &machine,
                                           llvm::ArrayRef<PlannedStep> steps, const ExecBinding &binding);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PLANTOEXEC_H
