//===- Elimination.h - Parts of a tiling problem, exactly -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_ELIMINATION_H
#define SLUICE_LIB_TILING_ELIMINATION_H

#include "TilingModel.h"
#include "sluice/Support/Rng.h"

namespace sluice {

/// Bucket elimination (Dechter 1999) over a block of nodes, where the choices of all
/// other nodes are given. A block is planned once, and can then be solved for any
/// multipliers. An object is the workspace of one thread. Prices are prefixSums of
/// multipliers. Empty prices stand for multipliers of zero.
class Eliminator {
public:
  explicit Eliminator(const TilingModel &model)
      : model(model), localOf(model.count, kNone), stepOf(model.count, kNone) {}

  struct Limits {
    double table = 4096; ///< The entries of the largest table, including the strategies of the node itself.
    double total = 4e6;  ///< The entries of all tables.
    bool whole = false;  ///< True: plan nothing if a node would be left out.
  };
  /// Chooses an order of elimination by the least table, with ties decided by `rng`. If a
  /// table would be too large, random nodes of it get fewer strategies, which include
  /// their present choice. In the end only this choice is left, and the node is left out.
  /// The choices of all other nodes stay.
  void plan(std::span<const uint32_t> block, const Limits &limits, const std::vector<uint32_t> &choice,
            const std::vector<double> &prices, Rng &rng);
  /// The nodes of the block that have more than one strategy.
  const std::vector<uint32_t> &nodes() const { return order; }
  /// Sets the strategies of the planned nodes in `choice` to the best ones, and returns
  /// their value: the sum of costs of nodes and of all their edges, and of usages at their
  /// prices.
  double solve(std::vector<uint32_t> &choice, const std::vector<double> &prices);
  /// The value that solve() minimizes, for each strategy of the s-th planned node. Later
  /// nodes have their strategies in `choice`, and earlier nodes the best ones. Requires a
  /// plan of all nodes, and the prices of the last solve().
  void valuesOf(size_t s, const std::vector<uint32_t> &choice, const std::vector<double> &prices,
                std::vector<double> &values) const;
  /// The costs of the planned nodes and of the edges to all their neighbours for `choice`.
  double costOf(const std::vector<uint32_t> &choice) const;

private:
  static constexpr uint32_t kNone = ~uint32_t(0);
  struct Factor {
    const double *costs; ///< The costs of an edge, or null.
    size_t index;        ///< If `costs` is null: an index into `messages`, or the first index into `compact`.
    bool isMessage;
    std::vector<uint32_t> at;    ///< Positions in the scope of the step, the slowest first.
    std::vector<size_t> strides; ///< For each position of `at`, in entries.
  };
  struct Step {
    uint32_t node;
    std::vector<uint32_t> domain; ///< The strategies to choose from, ascending. Empty stands for all.
    std::vector<double> base; ///< For each strategy of the domain: its costs, with edges to nodes that are not planned.
    std::vector<uint32_t> scope; ///< The steps of later nodes on which its optimum depends, descending.
    std::vector<Factor> factors;
    size_t configurations = 1, best = 0; ///< The configurations of the scope, and the first entry in `bests`.
  };

  const TilingModel &model;
  std::vector<uint32_t> localOf, stepOf, order;
  std::vector<Step> steps;
  std::vector<std::vector<double>> messages; ///< For each step, over its scope.
  std::vector<uint16_t> bests;
  std::vector<double> compact;  ///< The costs of edges with an end that has fewer strategies.
  std::vector<uint32_t> picked; ///< For each step, an index into its domain.

  void eliminateSymbolically(std::span<const uint32_t> block, const Limits &limits, Rng &rng,
                             std::vector<std::vector<uint32_t>> &scopes, std::vector<uint32_t> &sizes);
  uint32_t sizeOf(const Step &step) const { return static_cast<uint32_t>(step.base.size()); }
  /// Restricts a step to `size` strategies.
  void restrict(Step &step, uint32_t size, const std::vector<uint32_t> &choice, const std::vector<double> &prices,
                Rng &rng) const;
  /// The position of a step in a scope.
  static uint32_t positionOf(const std::vector<uint32_t> &scope, uint32_t step);
  void addEdges(size_t s);
  /// The base of a step plus the price of its memory.
  void charged(const Step &step, const std::vector<double> &prices, std::vector<double> &sum) const;
  const double *tableOf(const Factor &factor) const;
  void solveStep(size_t index, const std::vector<double> &prices);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_ELIMINATION_H
