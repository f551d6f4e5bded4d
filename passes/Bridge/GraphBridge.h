//===- GraphBridge.h - The dataflow dialect as a planner's graph -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PASSES_BRIDGE_GRAPHBRIDGE_H
#define SLUICE_PASSES_BRIDGE_GRAPHBRIDGE_H

#include "dialects/Dataflow/IR/Dataflow.h"
#include "sluice/Graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>
#include <vector>

namespace sluice {

/// An operator whose weights are read into a slot if the data of a step chooses it: see --dataflow-pool-experts.
struct BridgedExpert {
  OperatorId op;
  uint32_t group = 0, element = 0;
  uint32_t mask = 0; ///< The position of the mask among the operator's inputs.
  std::vector<TensorId> weights;
  int64_t bytes = 0; ///< Of the weights in their range of the file, each at a multiple of kArenaAlignment.
};

/// A function and its graph, id by id. One operator of the graph is one
/// operator of the function that moves data: constants and what follows from
/// them alone are parameters, a reshape is its operand under another shape.
struct BridgedGraph {
  Graph graph;
  std::vector<mlir::Operation *> operators; ///< Per operator.
  /// Per operator, per operand: the position of its tensor among the operator's
  /// inputs. Several operands may be one tensor. Inputs behind those of operands are not
  /// read: they make an operator run after one that finds an extent in the step.
  std::vector<std::vector<unsigned>> operandSlots;
  /// Per tensor: the value whose data it is, reshapes looked through.
  std::vector<mlir::Value> values;
  std::vector<TensorId> inputs; ///< The function's arguments.
  /// The function's results; without those that are a state's next value.
  std::vector<TensorId> outputs;
  /// By ascending groups and elements. Their weights are pooled tensors of the graph.
  std::vector<BridgedExpert> experts;
  int64_t expertSlots = 0; ///< Each has room for any of the experts, in whole blocks of 4 KiB.
};

/// The bytes of one slot for experts; 0 without experts.
int64_t expertSlotBytes(llvm::ArrayRef<BridgedExpert> experts);

/// Fails as checkFunction does. Needs results that operators write, each another one (the
/// fuse pass sees to both). The graph passes check(). Operators are named after
/// their model nodes (locations), made unique.
Expected<BridgedGraph> buildGraph(mlir::func::FuncOp function);

/// The graph of a function with the bytes that its tensors have, and what its operators
/// cost, at a point of the symbols of its extents; workspaces are those of the upper
/// bounds, for which kernels are compiled. Ids are the bridge's. Fails where the point is
/// none of the function's.
Expected<Graph> graphAt(mlir::func::FuncOp function, const BridgedGraph &bridge, llvm::ArrayRef<int64_t> point);

/// What a kernel of this operator depends on, as text: name, attributes, types,
/// body and operand slots, without names of values and locations.
std::string kernelKey(mlir::Operation *op, llvm::ArrayRef<unsigned> slots);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_GRAPHBRIDGE_H
