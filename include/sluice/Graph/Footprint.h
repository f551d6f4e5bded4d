//===- Footprint.h - Bytes and operators of a step --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Numbers of bytes, operators and tensor sizes of a training graph, as Table 1 of SwapAdvisor (Huang, Jin and Li,
// ASPLOS 2020) counts them. The table counts nodes of the framework; one node may consist of several operators of the
// graph.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_GRAPH_FOOTPRINT_H
#define SLUICE_GRAPH_FOOTPRINT_H

#include "sluice/Graph/Graph.h"

namespace sluice {

struct Footprint {
  /// Number of operators, counted by nodes of the model: "conv1" and "conv1#2" are one
  /// operator, and "conv1.gradient" is another one. If a tensor has two to seven readers,
  /// the sum of their gradients counts as one more operator. From eight readers on, the sum
  /// counts as one operator for each reader, as MXNet's AggregateGradient does.
  size_t operators = 0;
  /// Bytes of all tensors, each once, without reuse of memory. Three kinds of tensors do not
  /// count: tensors between the operators of one node, results that may overwrite an operand that no other node reads,
  /// and new values of states.
  int64_t bytes = 0;
  /// The part of `bytes` that belongs to parameters and states.
  int64_t stateBytes = 0;
  /// Distinct sizes of the counted tensors in bytes, ascending.
  std::vector<int64_t> tensorSizes;
};

/// `graph` must be a graph before fusion (passes/Bridge/GraphBridge.h), because a fused operator belongs to several
/// nodes. Sums saturate. Fails if the graph has a cycle.
Expected<Footprint> countFootprint(const Graph &graph);

} // namespace sluice

#endif // SLUICE_GRAPH_FOOTPRINT_H
