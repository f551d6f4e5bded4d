//===- Graph.h - The planner's view of a model ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A graph consists of operators and tensors with their sizes. It has no IR and no shapes (types are only text). An
// operator is one unit of scheduling: after fusion, a fused group is one operator.
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
  Parameter,  ///< Constant data. It has a home (a permanent place) in host memory or in a file.
  Input,      ///< The caller passes it in host memory at each step.
  State,      ///< Lives from step to step and has a home in host memory or in a file.
};

struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::Activation;
  /// Unaligned size of the data.
  int64_t bytes = 0;
  /// For a parameter of which operators only look up rows, such as an embedding: an upper bound of the bytes that a
  /// step reads, in whole blocks of 4 KiB. For a parameter of an expert (isPooled, below): its share of the bytes of
  /// all expert slots, in proportion to its size. 0 means that a step may read the whole tensor.
  int64_t touchedBytes = 0;
  /// True for a parameter of an expert. Such a parameter stays in the file. If the data of a step chooses the expert,
  /// the runtime reads the parameter into one of a fixed number of *expert slots* in the host's memory when the
  /// expert's operator is launched.
  bool isPooled = false;
  /// Element type and shape, shown to users: "f32[1,64,56,56]".
  std::string type;
  /// The caller of the step reads this tensor, so the tensor must be in host memory when a step ends.
  bool isOutput = false;
  /// If this tensor is the new value of a state: the state; otherwise invalid. The tensor and the state share one home,
  /// so the operator that writes the new value overwrites the old one. Every other reader of the old value must run
  /// before this operator. The next step starts with the new value.
  TensorId updates;
  /// On a State tensor: its new value; set by the graph.
  TensorId updatedBy;

  /// The number of bytes that the tensor's home takes in a memory into which the parameter file is mapped.
  int64_t homeBytes() const { return touchedBytes > 0 ? touchedBytes : bytes; }

  OperatorId producer;               ///< Invalid unless an operator writes it.
  std::vector<OperatorId> consumers; ///< The operators that read it, ascending, each once.
};

struct Operator {
  std::string name;              ///< Unique; the name of the model's node if there is one.
  std::string kind;              ///< "conv", "matmul", "fused"...: shown to users; the key of Device::efficiency.
  std::vector<TensorId> inputs;  ///< Data read, each tensor once.
  std::vector<TensorId> outputs; ///< Data written, at least one.
  int64_t flops = 0;
  /// Bytes read and written in one execution; 0 means the sum of inputs and outputs.
  int64_t bytesMoved = 0;
  /// Scratch memory in the device's arena that is live while the operator runs.
  int64_t workspaceBytes = 0;
  /// Bytes of pooled parameters that are expected to be read from the file in a step when the operator is launched.
  int64_t demandBytes = 0;
  /// Hash of the computation (body, attributes, types); the key in profiles.
  std::string signature;
  /// Pairs (input position, output position) that may share one buffer if the input is
  /// dead after this operator.
  std::vector<std::pair<uint32_t, uint32_t>> inPlace;
  /// Operators with the same colour run on one device; negative: no colour.
  int32_t colocation = -1;
  /// The operator exchanges data with other ranks. All ranks run such operators in the same
  /// order. They may run at the same time as operators that compute.
  bool communicates = false;
};

class Graph {
public:
  std::string name;
  /// True for the program of one rank of a pipeline: the programs of other ranks wait for its exchanges. Plans keep the
  /// model's order (topologicalOrder()). Each operator that communicates runs exactly once.
  bool keepsOrder = false;

  /// `tensor.updates` may be the id of a tensor that is added later.
  TensorId addTensor(Tensor tensor);
  /// Declares `newValue` as the new value of `state`.
  void setUpdates(TensorId newValue, TensorId state);
  /// Adds an operator and links producers and consumers. Inputs and outputs must exist.
  OperatorId addOperator(Operator op);

  std::span<const Operator> operators() const { return operatorList; }
  std::span<const Tensor> tensors() const { return tensorList; }
  const Operator &op(OperatorId id) const { return operatorList[id.index()]; }
  const Tensor &tensor(TensorId id) const { return tensorList[id.index()]; }
  Operator &mutableOp(OperatorId id) { return operatorList[id.index()]; }
  Tensor &mutableTensor(TensorId id) { return tensorList[id.index()]; }
  size_t numOperators() const { return operatorList.size(); }
  size_t numTensors() const { return tensorList.size(); }

  /// Checks that ids are in range, that a tensor has at most one producer and a parameter
  /// none, that sizes are not negative, and that the graph is acyclic. The message names the
  /// tensor or operator.
  Status check() const;

  /// The direct predecessors of an operator in the dependency graph, each once, by ascending id. They are the producers
  /// of the operator's inputs, and the other readers of the states that the operator updates.
  std::vector<OperatorId> predecessors(OperatorId id) const;
  /// The distinct operators of which this one is a predecessor, by ascending id.
  std::vector<OperatorId> successors(OperatorId id) const;

  /// A topological order by Kahn's algorithm, which always takes the ready operator with the smallest id. If the
  /// model's own order is topological, the result is this order. If the graph has a cycle, the error names one.
  Expected<std::vector<OperatorId>> topologicalOrder() const;
  /// Whether `order` has every operator exactly once, after its predecessors.
  bool isTopological(std::span<const OperatorId> order) const;

  /// Whether the operator may run more than once in a step. This is the case if it writes only activations that are
  /// neither outputs nor new values of states, except for operators that communicate in a graph with keepsOrder.
  bool isRepeatable(OperatorId id) const;

  /// Aligned bytes of inputs, outputs and workspace, which must be in one memory at the same
  /// time when the operator runs.
  int64_t workingSetBytes(OperatorId id) const;

private:
  std::vector<Operator> operatorList;
  std::vector<Tensor> tensorList;
  std::unordered_map<TensorId, TensorId> pendingUpdates; ///< Per state that is not added yet: its new value.
};

} // namespace sluice

#endif // SLUICE_GRAPH_GRAPH_H
