//===- Recompute.h - Running operators again --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Instead of being kept or copied out and back, a tensor may be dropped and made
// again. Planners need not know: the graph gets a second operator with results of
// its own, which late readers read (as XLA's and PyTorch's rematerialization do);
// the plan made for it is then one of the first graph, in which some operators
// are launched twice.
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
  /// Ascending: these run a second time. All are repeatable.
  std::vector<OperatorId> again;
  /// Per operator: it reads second results where there are such. None of `again`
  /// is late.
  std::vector<bool> late;

  bool operator==(const Recomputation &) const = default;
};

/// What a valid plan runs again, and which operators read what it made then.
/// Operators that a plan runs more than twice count once.
Recomputation recomputationOf(const Graph &graph, const Plan &plan);

struct RecomputeParams {
  /// Operators run again in stretches of the order, each of which makes about so
  /// many bytes that late readers need; what passes from one to the next is kept.
  int64_t stretchBytes = 0;
  /// Nanoseconds of computing that a byte neither kept nor copied is worth.
  double nsPerByte = 0;
};

/// Chooses what to run again so that operators after the moment with most live
/// bytes in `memory` need fewer tensors from before it. Least sum of the time of
/// running again and nsPerByte of what is kept all the same: a minimum cut, as in
/// Zheng and Dathathri's partitioner (PyTorch, functorch's
/// min_cut_rematerialization_partition), within stretches as Chen, Xu, Zhang and
/// Guestrin (arXiv 1604.06174) divide the network. Needs a checked problem.
Recomputation chooseRecomputation(const SwapProblem &problem, MemoryId memory, const RecomputeParams &params);

/// A graph in which the operators of a recomputation are there twice. The first
/// graph's operators and tensors keep their ids.
class RecomputedGraph {
public:
  /// `graph` passes Graph::check(). What no late operator needs, directly or for
  /// another second run, does not run again.
  RecomputedGraph(const Graph &graph, const CostTable &costs, const Recomputation &recomputation);

  /// Ascending, of the first graph.
  const std::vector<OperatorId> &again() const { return firstOperator; }
  const Graph &graph() const { return twice; }
  const CostTable &costs() const { return table; }
  /// A topological order of the first graph, with every second run right before
  /// the first operator that needs it.
  std::vector<OperatorId> order(std::span<const OperatorId> first) const;
  /// Second runs are where the first are.
  std::vector<DeviceId> placement(std::span<const DeviceId> first) const;
  /// A plan for graph() as one of the first graph.
  Plan planOfFirst(Plan plan) const;

private:
  size_t numOperators, numTensors;       ///< Of the first graph.
  std::vector<OperatorId> firstOperator; ///< Per second run.
  std::vector<TensorId> firstTensor;     ///< Per second result.
  Graph twice;
  CostTable table;
};

} // namespace sluice

#endif // SLUICE_SWAP_RECOMPUTE_H
