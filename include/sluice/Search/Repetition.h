//===- Repetition.h - Graphs of repeated blocks -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A model of 96 equal layers has a graph in which the same block of operators occurs
// 96 times, and its training step has a second block that occurs 96 times in the
// reverse order. This file finds such blocks, and makes a graph with fewer of them,
// whose plans can be extended to all layers:
//
//   embed  F0 F1 F2 ... F94 F95  loss  B95 B94 ... B1 B0     the graph, L = 96
//   embed  F0 F1 F94 F95         loss  B95 B94 B1 B0         folded to 4 layers
//
// In the folded graph, F94 reads what F1 writes, and B1 reads what B94 writes. B1 also reads what F1 writes, as in the
// full graph.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_REPETITION_H
#define SLUICE_SEARCH_REPETITION_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Swap/Recompute.h"

#include <optional>
#include <span>
#include <vector>

namespace sluice {

/// Blocks of `period` operators, one after the other in a topological order, that differ only in their place.
struct BlockRun {
  size_t begin = 0;  ///< Position of the first operator of the first block.
  size_t period = 0; ///< Number of operators of a block, at least 1.
  size_t count = 0;  ///< Number of blocks.
  /// Blocks of several runs with the same layer belong together. Block i has layer `layer` + i, or `layer` - i in a run
  /// that is reversed, such as a backward pass.
  int64_t layer = 0;
  bool isReversed = false;

  size_t end() const { return begin + period * count; }
  int64_t layerOf(size_t block) const {
    return isReversed ? layer - static_cast<int64_t>(block) : layer + static_cast<int64_t>(block);
  }
};

struct Repetition {
  std::vector<OperatorId> order; ///< The result of Graph::topologicalOrder.
  std::vector<BlockRun> runs;    ///< At least one run; runs are ascending and disjoint.
  int64_t layers = 0;            ///< Blocks of the longest run, which has the layers 0 to layers - 1.
};

/// Finds the run of at least `leastBlocks` blocks that covers the most operators. Also finds other runs of blocks that
/// are connected with this run layer by layer. Operators at the same position of two blocks have the same kind, costs,
/// sizes and device. Their computations (Operator::signature) may differ. `placement` has a device per operator, or is
/// empty. Returns nothing if the graph is cyclic or has no such blocks. The result passes check(). This is a heuristic,
/// which considers only the periods that occur most often. O(n log n) for n operators.
std::optional<Repetition> findRepetition(const Graph &graph, const CostTable &costs,
                                         std::span<const DeviceId> placement, size_t leastBlocks);

/// Checks a repetition independently of findRepetition(). Any two consecutive blocks must have equal operators. Their
/// operands must correspond: if an operand of one block is written by an operator of layer i, the same operand of the
/// next block must be written by the same operator of the next layer. An operand that is written outside of all runs
/// must be the same tensor for both blocks. There is an exception: where the other blocks of a run read a tensor of a
/// neighbouring layer, the block at the end of the run has no such neighbour, and may read any tensor. Which
/// parameters, states and inputs a block reads is not compared. The error names two operators that differ.
Status check(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
             const Repetition &repetition);

/// A graph with fewer layers, whose orders and recomputations can be extended to the full graph.
class FoldedGraph {
public:
  /// Keeps `keptLayers` layers, at least 2: half of them at the beginning and half at the end. Operators outside of all
  /// runs lose operands that are left out; an operator that loses all operands that operators write is left out too.
  /// The repetition must pass check(). Returns nothing in three cases. First, the repetition has at most `keptLayers`
  /// layers. Second, a run does not have all layers that are left out and the two layers around them. Third, a kept
  /// block reads a layer that is left out, and no kept layer can stand for it.
  static std::optional<FoldedGraph> of(const Graph &graph, const CostTable &costs, const Repetition &repetition,
                                       int64_t keptLayers);

  const Graph &graph() const { return folded; }
  const CostTable &costs() const { return table; }
  std::vector<DeviceId> placement(std::span<const DeviceId> full) const;

  /// Extends a topological order of the folded graph to the full graph. Layers that are left out follow each other at
  /// equal distances. The distance, in positions of `order`, is that between the last kept layer before them and the
  /// first kept layer after them. Here and in expandRecomputation(), a layer that is left out gets the decisions of the
  /// last kept layer before it.
  std::vector<OperatorId> expandOrder(std::span<const OperatorId> order) const;
  Recomputation expandRecomputation(const Recomputation &recomputation) const;

private:
  FoldedGraph(const Graph &full, const Repetition &repetition, int64_t keptLayers)
      : full(full), repetition(repetition), keptLayers(keptLayers) {}
  /// The blocks of a run that are left out: [first, last).
  struct Cut {
    size_t first = 0, last = 0;
  };
  bool cutRuns();
  bool build(const CostTable &costs);
  std::optional<TensorId> redirected(TensorId tensor) const;
  OperatorId sourceOf(OperatorId op) const;

  const Graph &full;
  const Repetition &repetition;
  int64_t keptLayers, leftOut = 0;
  std::vector<Cut> cuts;          ///< Per run: where it is cut.
  std::vector<int32_t> runOf;     ///< Per operator of the full graph: its run; negative if it is in no run.
  std::vector<size_t> positionOf; ///< Per operator of the full graph: its position in Repetition::order.
  /// Per operator of the full graph: its id in the folded graph; invalid if it is left out.
  std::vector<OperatorId> foldedOf;
  std::vector<OperatorId> originalOf; ///< Per operator of the folded graph: its id in the full graph.
  Graph folded;
  CostTable table;
};

} // namespace sluice

#endif // SLUICE_SEARCH_REPETITION_H
