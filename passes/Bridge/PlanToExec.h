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
  /// Per tensor: a parameter's offset in the parameter file, a state's in the
  /// state store, multiples of kArenaAlignment; ignored for other tensors.
  std::vector<int64_t> homeOffsets;
  int64_t parameterBytes = 0, stateBytes = 0;
  /// Where in the parameter file the state store's first content begins, which
  /// goes on to the file's end; -1: all of it is zero.
  int64_t stateInitial = -1;

  struct Port {
    TensorId tensor;
    std::string name; ///< As the model calls it.
    mlir::RankedTensorType type;
    /// Of an input that has one value only: its bytes. Else empty.
    std::vector<int8_t> fixed = {};
    /// Of an input of indices: what exec.range has. Else null.
    mlir::Attribute range = {};
    /// Of a state that each rank has a part of: dimension, count and stride of each cut. Else empty.
    std::vector<int64_t> cuts = {};
    std::vector<int64_t> cutBlocks = {}; ///< Per cut, if some cut has several blocks. Else empty.
    /// Of a state that grows: the #dataflow.extents of its length. Else null.
    mlir::Attribute length = {};
  };
  /// In the model's order. An output is a tensor that an operator writes, and
  /// no other output is the same one.
  std::vector<Port> inputs, outputs;
  /// States that callers may read and write between steps.
  std::vector<Port> states;
  /// The #dataflow.symbols of kernels, where the types of inputs and outputs need not have them; else null.
  mlir::Attribute symbols = {};
  /// An operator that reads its weights into a slot if the step chooses it.
  struct Expert {
    OperatorId op;
    int64_t group = 0, element = 0, mask = 0; ///< `mask`: an input of the operator.
    int64_t offset = 0, bytes = 0;            ///< In the parameter file.
  };
  std::vector<Expert> experts; ///< By ascending groups and elements.
  int64_t expertSlots = 0;
  /// Per rank: bytes a step sends to others. Empty: the program runs alone.
  std::vector<int64_t> bytesSent;
};

/// A plan that a step follows.
struct PlannedStep {
  const Graph *graph = nullptr;
  const Plan *plan = nullptr;
  /// A value for each symbol, at which the graph has its bytes; empty: the upper bounds.
  std::vector<int64_t> bounds = {};
};

/// Builds the program at the builder's position. State tensors get homes in the
/// state store, a new value the home of the one it replaces: the command that
/// writes it waits for all that read the old one. Inits load what the plans keep
/// on devices. The graphs differ in bytes alone; the last step is the one without
/// bounds. Needs plans that validatePlan accepts; fails where one has something that
/// exec cannot say, naming the tensor, and if the program does not verify.
Expected<exec::ProgramOp> buildExecProgram(mlir::OpBuilder &builder, const Machine &machine,
                                           llvm::ArrayRef<PlannedStep> steps, const ExecBinding &binding);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_PLANTOEXEC_H
