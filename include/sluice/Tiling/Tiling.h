//===- Tiling.h - One strategy a node, the least cost -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// How to split tensors over devices, as choices: a node (a tensor, or an operator)
// has strategies (tilings, or aligned forms), an edge has the cost of each pair of
// its ends' strategies (a conversion), and what is live at once must fit a device.
// The problem of the ASPLOS 2025 contest on intra-operator parallelism (Moffitt and
// Fegade); without the memory, energy minimization of a pairwise random field.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_TILING_H
#define SLUICE_TILING_TILING_H

#include "sluice/Optimize/Budget.h"
#include "sluice/Support/Error.h"
#include "sluice/Support/Json.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice {

/// Costs from here on forbid a choice; sums stick at the end of int64.
inline constexpr int64_t kForbiddenTilingCost = 1'000'000'000'000'000'000;

struct TilingNode {
  std::string name;
  int64_t lower = 0, upper = 0; ///< Live in [lower, upper); never where that is empty.
  std::vector<int64_t> costs;   ///< Per strategy, not negative.
  std::vector<int64_t> usages;  ///< Bytes of one device's memory per strategy, while live.
};

/// Costs of pairs of strategies; many edges share one.
struct TilingMatrix {
  uint32_t rows = 0, columns = 0;
  std::vector<int64_t> costs; ///< Row-major, not negative.
};

struct TilingEdge {
  uint32_t from = 0, to = 0; ///< Nodes: strategies of `from` are the matrix's rows.
  uint32_t matrix = 0;
};

/// Choose a strategy for every node: the least sum of the nodes' and edges' costs
/// such that at no time the usages of live nodes sum to more than the limit.
struct TilingProblem {
  std::string name;
  std::vector<TilingNode> nodes;
  std::vector<TilingMatrix> matrices;
  std::vector<TilingEdge> edges; ///< Parallel edges add.
  std::optional<int64_t> usageLimit;

  /// Each node has 1 to 65535 strategies; edges join nodes with matrices of their
  /// sizes; numbers are not negative; at most a million nodes.
  Status check() const;
  /// Saturating.
  int64_t cost(const std::vector<uint32_t> &choice) const;
};

struct TilingSolution {
  std::vector<uint32_t> choice; ///< Per node.
  int64_t cost = 0;
  int64_t bound = 0; ///< No solution costs less.
  std::string solver = {};
  int64_t evaluations = 0;
  bool stoppedByClock = false;

  bool optimal() const { return cost <= bound; }
};

struct TilingParams {
  std::string solver = "best"; ///< One of tilingSolverNames().
  /// Evaluations: sub-problems solved and sweeps of message passing. At their
  /// greatest: a number that falls with the problem's size.
  Budget budget = {};
  uint64_t seed = 1;
  /// The search ends once nothing can be better by more than this part of the cost, in [0, 1).
  double gap = 0;
  int threads = 1; ///< The result is the same on any number, unless the clock stops it.
};

/// Names solveTiling knows, the default first.
///  best    exact by variable elimination (Dechter 1999) where tables of 2^22
///          entries do and the memory does not bind, and by branch and bound from
///          there where it does and little is open; otherwise walks from several
///          starts through large neighbourhoods, solved by elimination under the
///          memory's multipliers (Polyak's subgradient step), with bounds by
///          sequential tree-reweighted message passing (Kolmogorov, PAMI 2006).
///          First, nodes whose strategies an edge allows only one to one become one
///  greedy  each node's cheapest strategy given those before it, then less memory
///          where it is exceeded, the cheapest a byte first: the baseline
std::vector<std::string> tilingSolverNames();

/// Fails on a problem that does not pass check(), on an unknown solver, where no
/// choice keeps within the memory (naming the time and what is missing) or every
/// such choice is forbidden, and where none was found. The result passes validateTiling.
Expected<TilingSolution> solveTiling(const TilingProblem &problem, const TilingParams &params = {});

/// Independent of the solvers: every node has one of its strategies, the cost is
/// the sum, usages keep within the limit at all times, the bound is not above the
/// cost. Names the first rule broken.
Status validateTiling(const TilingProblem &problem, const TilingSolution &solution);

/// The contest's format: { problem: { name, nodes: { intervals, costs, usages },
/// edges: { nodes, costs }, usage_limit } }; edges' costs row-major. Fails naming
/// what is wrong; the result passes check().
Expected<TilingProblem> tilingFromJson(const JsonReader &reader);
Json tilingToJson(const TilingProblem &problem);

} // namespace sluice

#endif // SLUICE_TILING_TILING_H
