//===- Elimination.h - Parts of a tiling problem, exactly -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_ELIMINATION_H
#define SLUICE_LIB_TILING_ELIMINATION_H

#include "TilingModel.h"
#include "sluice/Support/Rng.h"

namespace sluice {

/// Bucket elimination (Dechter 1999) over a block of nodes, the others' choices
/// given. A block is planned once and solved for any multipliers; a workspace for
/// one thread. Prices are prefixSums of multipliers (empty: none).
class Eliminator {
public:
  explicit Eliminator(const TilingModel &model)
      : model(model), localOf(model.count, kNone), stepOf(model.count, kNone) {}

  struct Limits {
    double table = 4096; ///< Entries of the largest table, a node's own strategies included.
    double total = 4e6;  ///< Of all.
    bool whole = false;  ///< Plan nothing where something would be left out.
  };
  /// Chooses an order by least table, ties and what is left out by `rng`: where a
  /// table would be too large, nodes of it have fewer strategies to choose from,
  /// their choice among them; at last only that. The others' choices stay as they are.
  void plan(std::span<const uint32_t> block, const Limits &limits, const std::vector<uint32_t> &choice,
            const std::vector<double> &prices, Rng &rng);
  /// Those of the block that have something to choose.
  const std::vector<uint32_t> &nodes() const { return order; }
  /// Sets the planned nodes' strategies in `choice` to the best: the least sum of
  /// costs, of edges to the others too, and of usages at their prices, which is returned.
  double solve(std::vector<uint32_t> &choice, const std::vector<double> &prices);
  /// What solve() minimizes, of the s-th planned node, for each of its strategies:
  /// given what `choice` says of later nodes, with the best of earlier ones. Of the
  /// last solve() and its prices, and a whole plan.
  void valuesOf(size_t s, const std::vector<uint32_t> &choice, const std::vector<double> &prices,
                std::vector<double> &values) const;
  /// The planned nodes' costs with edges to all their neighbours, at `choice`.
  double costOf(const std::vector<uint32_t> &choice) const;

private:
  static constexpr uint32_t kNone = ~uint32_t(0);
  struct Factor {
    const double *costs; ///< An edge's, or null.
    size_t index;        ///< Else: of `messages`, or of the first of `compact`.
    bool isMessage;
    std::vector<uint32_t> at;    ///< Positions in the step's scope, slowest first.
    std::vector<size_t> strides; ///< In entries, per position of `at`.
  };
  struct Step {
    uint32_t node;
    std::vector<uint32_t> domain; ///< Strategies to choose from, ascending; all where it is empty.
    std::vector<double> base;     ///< Per strategy of the domain: costs, and of edges to what is not planned.
    std::vector<uint32_t> scope;  ///< Steps of later nodes its optimum depends on, descending.
    std::vector<Factor> factors;
    size_t configurations = 1, best = 0; ///< Of the scope; first entry in `bests`.
  };

  const TilingModel &model;
  std::vector<uint32_t> localOf, stepOf, order;
  std::vector<Step> steps;
  std::vector<std::vector<double>> messages; ///< Per step, over its scope.
  std::vector<uint16_t> bests;
  std::vector<double> compact;  ///< Edges' costs where an end has fewer strategies.
  std::vector<uint32_t> picked; ///< Per step, an index into its domain.

  void eliminateSymbolically(std::span<const uint32_t> block, const Limits &limits, Rng &rng,
                             std::vector<std::vector<uint32_t>> &scopes, std::vector<uint32_t> &sizes);
  uint32_t sizeOf(const Step &step) const { return static_cast<uint32_t>(step.base.size()); }
  /// `size` of a step's strategies.
  void restrict(Step &step, uint32_t size, const std::vector<uint32_t> &choice, const std::vector<double> &prices,
                Rng &rng) const;
  /// Where a step is in a scope.
  static uint32_t positionOf(const std::vector<uint32_t> &scope, uint32_t step);
  void addEdges(size_t s);
  /// A step's base with its memory's price.
  void charged(const Step &step, const std::vector<double> &prices, std::vector<double> &sum) const;
  const double *tableOf(const Factor &factor) const;
  void solveStep(size_t index, const std::vector<double> &prices);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_ELIMINATION_H
