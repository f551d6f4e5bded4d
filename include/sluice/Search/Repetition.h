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
// F94 then reads what F1 writes, B1 what B94 writes, and B1 what F1 writes, as before.
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
  size_t period = 0; ///< Operators of a block, at least 1.
  size_t count = 0;  ///< Blocks.
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
  std::vector<OperatorId> order; ///< Graph::topologicalOrder.
  std::vector<BlockRun> runs;    ///< Ascending and disjoint, at least one.
  int64_t layers = 0;            ///< Blocks of the longest run, which has the layers 0 to layers - 1.
};

/// Finds the blocks that cover the most operators, with at least `leastBlocks` of them, and other runs of blocks that
/// are connected with these layer by layer. Operators of the same place in two blocks have the same kind, costs,
/// sizes and device; they may compute different things.
/// `placement` has a device per operator, or is empty. Nothing if the graph is cyclic or has no such blocks. What is
/// found passes check(). A heuristic: it considers the periods that occur most often. O(n log n) for n operators.
std::optional<Repetition> findRepetition(const Graph &graph, const CostTable &costs,
                                         std::span<const DeviceId> placement, size_t leastBlocks);

/// Checks a repetition independently of how it was found: each two blocks that follow each other have equal operators,
/// and each operand that an operator writes comes from the same place, relative to the block. First blocks may read
/// something else where a block before them would be. Which parameters, states and inputs a block reads is not
/// compared. Fails naming the operator that differs.
Status check(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
             const Repetition &repetition);

/// A graph with fewer layers, and the way back.
class FoldedGraph {
public:
  /// Keeps `keptLayers` layers, at least 2: half of them at the begin and half at the end. Operators outside of all
  /// runs lose operands that are left out, and are left out themselves if they have no other operands. Nothing if the
  /// repetition has no more layers than that, if a run does not have all layers that are left out and one on either
  /// side, or if a block reads from so many layers before it that these are left out. The repetition passes check().
  static std::optional<FoldedGraph> of(const Graph &graph, const CostTable &costs, const Repetition &repetition,
                                       int64_t keptLayers);

  const Graph &graph() const { return folded; }
  const CostTable &costs() const { return table; }
  std::vector<DeviceId> placement(std::span<const DeviceId> full) const;

  /// A topological order of the full graph, of one of the folded graph. A layer that is left out follows the one before
  /// it at the distance at which kept layers follow each other. Here and below, layers that are left out take the
  /// decisions of the last layer before them.
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
  std::vector<Cut> cuts;              ///< Per run.
  std::vector<int32_t> runOf;         ///< Per operator of the full graph; negative: of none.
  std::vector<size_t> positionOf;     ///< Per operator of the full graph: in the order.
  std::vector<OperatorId> foldedOf;   ///< Per operator of the full graph; invalid if it is left out.
  std::vector<OperatorId> originalOf; ///< Per operator of the folded graph.
  Graph folded;
  CostTable table;
};

} // namespace sluice

#endif // SLUICE_SEARCH_REPETITION_H
