//===- TilingModel.h - A tiling problem as its solvers see it ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_TILINGMODEL_H
#define SLUICE_LIB_TILING_TILINGMODEL_H

#include "sluice/Tiling/Tiling.h"

#include <span>

namespace sluice {

/// The same problem with fewer nodes: strategies without an allowed partner on some
/// edge are gone (arc consistency, Mackworth 1977), nodes whose allowed strategies
/// an edge joins one to one are one node, and those with one strategy none. At most
/// one edge joins two nodes; costs are doubles, a forbidden one is `forbidden`: more
/// than any allowed choice, and small enough that sums keep the others' digits.
/// Moments are in place of times, each a set of nodes live together with the room
/// they have; those that another implies or that nothing can exceed are left out.
class TilingModel {
public:
  explicit TilingModel(const TilingProblem &problem);

  struct Neighbour {
    uint32_t node = 0;
    /// costs[own strategy * the neighbour's strategies + its strategy].
    const double *costs = nullptr;
    /// The same, transposed: costs from the neighbour's side.
    const double *transposed = nullptr;
  };
  /// What a node uses in moments [begin, end), per strategy, above its least.
  struct Life {
    uint32_t begin = 0, end = 0;
    const double *usages = nullptr;
  };

  const TilingProblem &problem;
  double forbidden = 0;
  bool contradictory = false; ///< No choice is allowed; nothing else is set then.
  double offset = 0;          ///< What every choice costs.
  uint32_t count = 0;         ///< Nodes.
  uint32_t moments = 0;       ///< 0 without a limit.
  std::vector<double> room;   ///< Per moment: the limit less what every choice uses.

  uint32_t strategies(uint32_t node) const { return first[node + 1] - first[node]; }
  const double *costs(uint32_t node) const { return cost.data() + first[node]; }
  std::span<const Neighbour> neighbours(uint32_t node) const {
    return {adjacent.data() + adjacentFirst[node], adjacentFirst[node + 1] - adjacentFirst[node]};
  }
  std::span<const Life> lives(uint32_t node) const {
    return {life.data() + lifeFirst[node], lifeFirst[node + 1] - lifeFirst[node]};
  }
  size_t edgeEntries() const { return entries; }
  /// A time of the problem in each moment.
  int64_t timeOf(uint32_t moment) const { return time[moment]; }

  double costOf(const std::vector<uint32_t> &choice) const;
  /// Per moment.
  std::vector<double> usageOf(const std::vector<uint32_t> &choice) const;
  /// Adds `factor` times a node's usage to what each moment differs by from the one before.
  void use(uint32_t node, uint32_t strategy, double factor, std::vector<double> &difference) const;
  /// Adds to each strategy its usage at the moments' prices, whose prefixSums are given.
  void charge(uint32_t node, const std::vector<double> &prices, std::vector<double> &sum) const;
  /// The sum of `perMoment` up to each moment, moments + 1 numbers: a life's share
  /// of multipliers is the difference between its ends.
  static std::vector<double> prefixSums(const std::vector<double> &perMoment);
  /// The problem's choice.
  std::vector<uint32_t> expand(const std::vector<uint32_t> &choice) const;

private:
  /// Of a node of the problem: the node it is part of, and what each of its strategies means.
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
  std::vector<Origin> origins; ///< `node` is count where there is but one strategy.
  size_t entries = 0;

  void findMoments(double limit);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_TILINGMODEL_H
