//===- TilingModel.h - A tiling problem as its solvers see it ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_TILINGMODEL_H
#define SLUICE_LIB_TILING_TILINGMODEL_H

#include "sluice/Tiling/Tiling.h"

#include <span>

namespace sluice {

/// The same problem with fewer nodes. Strategies without an allowed partner on some edge
/// are removed (arc consistency, Mackworth 1977). Nodes whose allowed strategies an edge
/// joins one to one become one node. Nodes with one strategy are removed. At most one edge
/// joins two nodes. Costs are doubles. The cost of a forbidden pair is `forbidden`, which
/// is more than the cost of any allowed choice, and so small that sums keep the digits of
/// the other costs. Moments replace times. A moment is a set of nodes that are live
/// together, and their room. Moments that another moment implies, or that no choice can
/// exceed, are left out.
class TilingModel {
public:
  explicit TilingModel(const TilingProblem &problem);

  struct Neighbour {
    uint32_t node = 0;
    /// costs[own strategy * number of the neighbour's strategies + its strategy].
    const double *costs = nullptr;
    /// The same, transposed: costs from the neighbour's side.
    const double *transposed = nullptr;
  };
  /// The usage of a node in the moments [begin, end), for each strategy, above the usage of
  /// its least strategy.
  struct Life {
    uint32_t begin = 0, end = 0;
    const double *usages = nullptr;
  };

  const TilingProblem &problem;
  double forbidden = 0;
  bool contradictory = false; ///< No choice is allowed. Nothing else is set then.
  double offset = 0;          ///< The cost that every choice has.
  uint32_t count = 0;         ///< The number of nodes.
  uint32_t moments = 0;       ///< 0 without a limit.
  std::vector<double> room;   ///< For each moment: the limit minus the usage that every choice has.

  uint32_t strategies(uint32_t node) const { return first[node + 1] - first[node]; }
  const double *costs(uint32_t node) const { return cost.data() + first[node]; }
  std::span<const Neighbour> neighbours(uint32_t node) const {
    return {adjacent.data() + adjacentFirst[node], adjacentFirst[node + 1] - adjacentFirst[node]};
  }
  std::span<const Life> lives(uint32_t node) const {
    return {life.data() + lifeFirst[node], lifeFirst[node + 1] - lifeFirst[node]};
  }
  size_t edgeEntries() const { return entries; }
  /// A time of the problem within the moment.
  int64_t timeOf(uint32_t moment) const { return time[moment]; }

  double costOf(const std::vector<uint32_t> &choice) const;
  /// The usage at each moment.
  std::vector<double> usageOf(const std::vector<uint32_t> &choice) const;
  /// Adds `factor` times the usage of a node to `difference`, which has the differences between successive moments.
  void use(uint32_t node, uint32_t strategy, double factor, std::vector<double> &difference) const;
  /// Adds the value of its usage to each strategy. `prices` are prefixSums of the prices of moments.
  void charge(uint32_t node, const std::vector<double> &prices, std::vector<double> &sum) const;
  /// The sums of `perMoment` before each moment, and the total: moments + 1 numbers. The
  /// sum over a life is the difference between the numbers at its ends.
  static std::vector<double> prefixSums(const std::vector<double> &perMoment);
  /// The choice for the nodes of the problem.
  std::vector<uint32_t> expand(const std::vector<uint32_t> &choice) const;

private:
  /// For a node of the problem: the node of the model that contains it, and its own strategy for each strategy there.
  struct Origin {
    uint32_t node = 0;
    std::vector<uint32_t> strategies;
  };

  std::vector<uint32_t> first, adjacentFirst, lifeFirst;
  std::vector<double> cost;
  std::vector<int64_t> time;
  std::vector<Neighbour> adjacent;
  std::vector<Life> life;
  std::vector<std::vector<double>> tables, usages;
  std::vector<Origin> origins; ///< `node` is count if there is only one strategy.
  size_t entries = 0;

  void findMoments(double limit);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_TILINGMODEL_H
