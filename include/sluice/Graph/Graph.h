//===- Graph.h - The planner's view of a model ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operators, tensors and their sizes; no shapes to compute with and no IR. An
// operator here is one schedulable unit: a fused group after fusion.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_GRAPH_GRAPH_H
#define SLUICE_GRAPH_GRAPH_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Ids.h"

#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sluice {

enum class TensorKind : uint8_t {
  Activation, ///< Written by one operator, dead after its last reader.
  Parameter,  ///< Constant data with a home in host memory; never dirty.
  Input,      ///< Given by the caller in host memory at each step; never dirty.
  State,      ///< Lives across steps; home in host memory; dirty once updated.
};

struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::Activation;
  /// Unaligned size of the data.
  int64_t bytes = 0;
  /// Of a parameter of which all readers look some rows up, as an embedding's: the blocks of 4 KiB, in bytes, that a step
  /// reads of it at most. 0: all of it.
  int64_t touchedBytes = 0;
  /// For display and cost keys: "f32[1,64,56,56]".
  std::string type;
  /// The step's caller reads it: it must be in host memory when a step ends.
  bool isOutput = false;
  /// Set on the new value of a State tensor: the tensor it replaces when the
  /// step ends. One place holds both, so every other reader of the old value
  /// comes before the operator that writes the new one.
  TensorId updates;
  /// The other way round, of a State tensor; set by the graph.
  TensorId updatedBy;

  /// What its home takes of a memory into which a file is mapped.
  int64_t homeBytes() const { return touchedBytes > 0 ? touchedBytes : bytes; }

  OperatorId producer;               ///< Invalid unless an operator writes it.
  std::vector<OperatorId> consumers; ///< Ascending, each once.
};

struct Operator {
  std::string name;              ///< Unique; after the model's node where there is one.
  std::string kind;              ///< "conv", "matmul", "fused"...: display and efficiency class.
  std::vector<TensorId> inputs;  ///< Data read, each tensor once.
  std::vector<TensorId> outputs; ///< Data written, at least one.
  int64_t flops = 0;
  /// Memory traffic of one execution. Zero: the sum of inputs and outputs.
  int64_t bytesMoved = 0;
  /// Scratch that lives while the operator runs, in its device's arena.
  int64_t workspaceBytes = 0;
  /// Content hash of what is computed (body, attributes, types): profile key.
  std::string signature;
  /// (input position, output position) pairs that may share one buffer when
  /// the input dies here.
  std::vector<std::pair<uint32_t, uint32_t>> inPlace;
  /// Operators with the same non-negative colour stay on one device.
  int32_t colocation = -1;
  /// Exchanges data with other ranks, which come to such operators in one order:
  /// may run beside what computes.
  bool communicates = false;
};

class Graph {
public:
  std::string name;

  /// `tensor.updates` may be a tensor added later.
  TensorId addTensor(Tensor tensor);
  /// Makes `newValue` what replaces `state`.
  void setUpdates(TensorId newValue, TensorId state);
  /// Links producers and consumers; inputs and outputs must exist already.
  OperatorId addOperator(Operator op);

  std::span<const Operator> operators() const { return operatorList; }
  std::span<const Tensor> tensors() const { return tensorList; }
  const Operator &op(OperatorId id) const { return operatorList[id.index()]; }
  const Tensor &tensor(TensorId id) const { return tensorList[id.index()]; }
  Operator &mutableOp(OperatorId id) { return operatorList[id.index()]; }
  Tensor &mutableTensor(TensorId id) { return tensorList[id.index()]; }
  size_t numOperators() const { return operatorList.size(); }
  size_t numTensors() const { return tensorList.size(); }

  /// Checks the input: ids in range, one producer a tensor, sizes not negative,
  /// parameters without producer, acyclic. The message names what is wrong.
  Status check() const;

  /// Distinct operators that run before this one, ascending: those producing its
  /// inputs, and the other readers of the states that its outputs update.
  std::vector<OperatorId> predecessors(OperatorId id) const;
  /// Distinct operators that this one is a predecessor of, ascending.
  std::vector<OperatorId> successors(OperatorId id) const;

  /// Kahn's order, smallest id first among the ready: the model's own order
  /// where that is topological. Fails naming one cycle.
  Expected<std::vector<OperatorId>> topologicalOrder() const;
  /// True iff `order` has every operator once, after its predecessors.
  bool isTopological(std::span<const OperatorId> order) const;

  /// True where the operator may run more than once in a step: it writes
  /// activations alone, none of which the step returns or keeps.
  bool isRepeatable(OperatorId id) const;

  /// Aligned bytes of inputs, outputs and workspace: what must be in one memory
  /// at once for the operator to run.
  int64_t workingSetBytes(OperatorId id) const;

private:
  std::vector<Operator> operatorList;
  std::vector<Tensor> tensorList;
  std::unordered_map<TensorId, TensorId> pendingUpdates; ///< Of states not added yet.
};

} // namespace sluice

#endif // SLUICE_GRAPH_GRAPH_H
