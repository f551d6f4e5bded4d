//===- Model.h - A tiling problem as its solvers see it ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_MODEL_H
#define SLUICE_LIB_TILING_MODEL_H

#include "sluice/Tiling/Tiling.h"

#include <map>
#include <span>

namespace sluice {

/// The same problem with at most one edge between two nodes, costs as doubles (a
/// forbidden one is `forbidden`: more than any allowed choice, and small enough
/// that sums keep the others' digits), and moments in place of times: each is a
/// set of nodes live together that no other moment's set contains.
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

  const TilingProblem &problem;
  double forbidden = 0;
  uint32_t count = 0;   ///< Nodes.
  uint32_t moments = 0; ///< 0 without a limit.
  double limit = 0;

  uint32_t strategies(uint32_t node) const { return first[node + 1] - first[node]; }
  const double *costs(uint32_t node) const { return cost.data() + first[node]; }
  const double *usages(uint32_t node) const { return usage.data() + first[node]; }
  std::span<const Neighbour> neighbours(uint32_t node) const {
    return {adjacent.data() + adjacentFirst[node], adjacentFirst[node + 1] - adjacentFirst[node]};
  }
  size_t edgeEntries() const { return entries; }
  /// The moments a node is live at, [begin, end).
  uint32_t momentBegin(uint32_t node) const { return begin[node]; }
  uint32_t momentEnd(uint32_t node) const { return end[node]; }
  /// A time of the problem in each moment.
  int64_t timeOf(uint32_t moment) const { return time[moment]; }

  double costOf(const std::vector<uint32_t> &choice) const;
  /// Per moment.
  std::vector<double> usageOf(const std::vector<uint32_t> &choice) const;
  /// Nodes live at each moment.
  std::vector<uint32_t> liveAt(uint32_t moment) const;
  /// The sum of `perMoment` up to each moment, moments + 1 numbers: a node's share
  /// of multipliers is the difference between its ends.
  static std::vector<double> prefixSums(const std::vector<double> &perMoment);

private:
  std::vector<uint32_t> first, adjacentFirst, begin, end;
  std::vector<double> cost, usage;
  std::vector<int64_t> time;
  std::vector<Neighbour> adjacent;
  std::vector<std::vector<double>> tables;
  size_t entries = 0;

  void findMoments();
  void joinNodes();
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_MODEL_H
