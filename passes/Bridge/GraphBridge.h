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
  /// The bytes of the weights' range of the file, in which each weight begins at a multiple of kArenaAlignment.
  int64_t bytes = 0;
};

/// A function and its graph, id by id. Each operator of the graph is an operator of the function that moves data.
/// Constants, and values that follow from constants alone, are parameters. A reshape is the same tensor as its operand.
struct BridgedGraph {
  Graph graph;
  std::vector<mlir::Operation *> operators; ///< Per operator.
  /// Per operator and operand: the position of the operand's tensor among the operator's inputs. Several operands may
  /// be one tensor. Inputs after those of operands are not read; they order the operator after one that finds an extent
  /// in the step.
  std::vector<std::vector<unsigned>> operandSlots;
  /// Per tensor: the value whose data it is, never the result of a reshape.
  std::vector<mlir::Value> values;
  std::vector<TensorId> inputs; ///< The function's arguments.
  /// The function's results, except those that are a state's next value.
  std::vector<TensorId> outputs;
  /// The experts by ascending groups and elements. Their weights are pooled tensors of the graph.
  std::vector<BridgedExpert> experts;
  int64_t expertSlots = 0; ///< The number of slots. Each has room for any expert, in whole blocks of 4 KiB.
};

/// The bytes of one slot for experts; 0 without experts.
int64_t expertSlotBytes(llvm::ArrayRef<BridgedExpert> experts);

/// Builds the graph of a function, which passes Graph::check(). Each result must be written by an operator and be
/// returned once; the pass dataflow-fuse ensures both. Operators get the names of their model nodes (locations), made
/// unique. Fails like checkFunction().
Expected<BridgedGraph> buildGraph(mlir::func::FuncOp function);

/// The graph of a function at values `point` of the symbols, which determine the bytes of tensors and the costs of
/// operators. Workspaces have their bytes at the upper bounds, for which kernels are compiled. The ids are those of
/// `bridge`. Fails if `point` does not fit the function's symbols.
Expected<Graph> graphAt(mlir::func::FuncOp function, const BridgedGraph &bridge, llvm::ArrayRef<int64_t> point);

/// A text of all properties that a kernel of this operator depends on: name, attributes, types, body and operand slots,
/// without names of values and locations.
std::string kernelKey(mlir::Operation *op, llvm::ArrayRef<unsigned> slots);

} // namespace sluice

#endif // SLUICE_PASSES_BRIDGE_GRAPHBRIDGE_H
