//===- Footprint.h - What a step has, without reuse -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Bytes, operators and tensor sizes as SwapAdvisor (Huang, Jin, Li, ASPLOS'20,
// Table 1) states them of training graphs: at the grain of the framework's
// nodes, of which a graph's operators may be pieces.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_GRAPH_FOOTPRINT_H
#define SLUICE_GRAPH_FOOTPRINT_H

#include "sluice/Graph/Graph.h"

namespace sluice {

struct Footprint {
  /// Operators at the grain of nodes: those of one name count once, "conv1" and
  /// "conv1#2" alike, and "conv1.gradient" as another. Adding up the gradients
  /// of a tensor that several nodes read is one more, from eight readers on one
  /// for each (MXNet's AggregateGradient).
  size_t operators = 0;
  /// Every tensor once, without reuse. Left out: what lies inside a node; what
  /// an operator may write in place of an operand that no other node reads; a
  /// state's new value, which replaces the old one.
  int64_t bytes = 0;
  /// Of these, parameters' and states'.
  int64_t stateBytes = 0;
  /// Distinct sizes of the tensors counted, ascending.
  std::vector<int64_t> tensorSizes;
};

/// Counts a graph as it comes from the bridge: before fusion, as a fused
/// operator is of several nodes. Fails where the graph has a cycle. Bytes
/// saturate.
Expected<Footprint> countFootprint(const Graph &graph);

} // namespace sluice

#endif // SLUICE_GRAPH_FOOTPRINT_H
