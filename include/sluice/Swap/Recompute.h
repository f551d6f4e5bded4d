//===- Recompute.h - Running operators again --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Rematerialization: a tensor may be dropped and computed again, instead of being kept or swapped. The swap planners
// need no support for this. The graph gets a second copy of an operator, with results of its own, and the later readers
// (*late* operators) read these results, as in XLA's and PyTorch's rematerialization. The plan for this graph is then
// translated into a plan for the original graph, in which some operators are launched twice.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SWAP_RECOMPUTE_H
#define SLUICE_SWAP_RECOMPUTE_H

#include "sluice/Plan/Plan.h"
#include "sluice/Swap/SwapProblem.h"

#include <span>
#include <vector>

namespace sluice {

struct Recomputation {
  /// The operators that run a second time, ascending. All are repeatable.
  std::vector<OperatorId> again;
  /// Per operator: whether the operator reads the second results of the operators in `again` instead of the first
  /// results. No operator of `again` is late.
  std::vector<bool> late;

  bool operator==(const Recomputation &) const = default;
};

/// The recomputation in a valid plan: the operators that it launches again, and the
/// operators that read the second results. An operator that the plan launches more than twice is also listed once.
Recomputation recomputationOf(const Graph &graph, const Plan &plan);

struct RecomputeParams {
  /// The order is divided into stretches. In each stretch, operators produce about this many bytes that late operators
  /// need. Tensors that pass from one stretch to the next are kept.
  int64_t stretchBytes = 0;
  /// Price of a byte: the nanoseconds of recomputation that are accepted to avoid keeping or copying one byte.
  double nsPerByte = 0;
};

/// Chooses the operators to run again, so that operators after the peak of live bytes in `memory` read fewer tensors
/// that were made before the peak. Minimizes the time of the second runs plus nsPerByte for each byte that is still
/// kept. Within a stretch, the minimum is a minimum cut, as in Zheng and Dathathri's partitioner (PyTorch, functorch's
/// min_cut_rematerialization_partition). The division into stretches follows Chen, Xu, Zhang and Guestrin (arXiv
/// 1604.06174). Requires a problem that passes check().
Recomputation chooseRecomputation(const SwapProblem &problem, MemoryId memory, const RecomputeParams &params);

/// A graph in which each run of an operator is an operator of its own: an operator that is launched k times occurs k
/// times. Operators and tensors of the original graph keep their ids.
class RecomputedGraph {
public:
  /// `graph` passes Graph::check(). An operator of `recomputation` runs again only if a late
  /// operator, or the second run of another operator, reads its second results.
  RecomputedGraph(const Graph &graph, const CostTable &costs, const Recomputation &recomputation);
  /// `runs` has every operator of the graph at least once, and repeatable operators any number of times, in an order
  /// in which each run reads the latest results of the operators before it.
  RecomputedGraph(const Graph &graph, const CostTable &costs, std::span<const OperatorId> runs);

  /// The operators that run again, as ids of the original graph. With the first constructor, they are ascending. With
  /// the second, there is one entry for each repetition, in the order of the runs.
  const std::vector<OperatorId> &again() const { return firstOperator; }
  const Graph &graph() const { return twice; }
  const CostTable &costs() const { return table; }
  /// Extends a topological order of the original graph: the second run of an operator comes right before the first
  /// operator that needs its results.
  std::vector<OperatorId> order(std::span<const OperatorId> first) const;
  /// For a graph that was made from runs: the order of these runs. Otherwise empty.
  const std::vector<OperatorId> &orderOfRuns() const { return runOrder; }
  /// Extends a placement of the original graph: second runs use the device of the first.
  std::vector<DeviceId> placement(std::span<const DeviceId> first) const;
  /// Translates a plan for graph() into a plan for the original graph.
  Plan planOfFirst(Plan plan) const;

private:
  /// Copies the tensors of the original graph.
  void addTensors(const Graph &graph);
  /// Adds a tensor for one more result.
  TensorId addResult(const Graph &graph, TensorId first, const std::string &suffix);
  /// Adds an operator for one more run of an operator of the original graph.
  void addRun(const CostTable &costs, OperatorId first, Operator op);

  size_t numOperators, numTensors;       ///< Numbers in the original graph.
  std::vector<OperatorId> firstOperator; ///< Per repeated run: the operator of the original graph.
  std::vector<TensorId> firstTensor;     ///< Per repeated result: the tensor of the original graph.
  std::vector<OperatorId> runOrder;      ///< Empty unless the graph was made from runs.
  Graph twice;
  CostTable table;
};

} // namespace sluice

#endif // SLUICE_SWAP_RECOMPUTE_H
