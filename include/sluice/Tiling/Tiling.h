//===- Tiling.h - Strategies of nodes at minimal cost -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The choice of tilings as an abstract problem. A node is a tensor or an operator. The strategies of a tensor are its
// tilings. The strategies of an operator are the ways to run it on parts of its tensors (its rules, see TilingRule.h).
// An edge has a cost for each pair of strategies of its two nodes: the cost of a conversion. Nodes that are live at the
// same time must fit the memory of a device. This is the problem of the ASPLOS 2025 contest on intra-operator
// parallelism (Moffitt and Fegade). Without the memory limit it is energy minimization of a pairwise Markov random
// field.
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

/// A choice with this cost or more is forbidden. Sums of costs saturate at the limit of int64.
inline constexpr int64_t kForbiddenTilingCost = 1'000'000'000'000'000'000;

struct TilingNode {
  std::string name;
  int64_t lower = 0, upper = 0; ///< The node is live in [lower, upper); never if the interval is empty.
  std::vector<int64_t> costs;   ///< Per strategy, not negative.
  std::vector<int64_t> usages;  ///< Per strategy: bytes of one device's memory that the node takes while it is live.
};

/// The costs of pairs of strategies. Several edges may share a matrix.
struct TilingMatrix {
  uint32_t rows = 0, columns = 0;
  std::vector<int64_t> costs; ///< Row-major, not negative.
};

struct TilingEdge {
  /// The two nodes. Rows of the matrix are strategies of `from`, and columns are strategies of `to`.
  uint32_t from = 0, to = 0;
  uint32_t matrix = 0;
};

/// The problem is to choose a strategy for every node such that the sum of the costs of nodes and
/// edges is minimal, and the usages of live nodes never sum to more than the limit.
struct TilingProblem {
  std::string name;
  std::vector<TilingNode> nodes;
  std::vector<TilingMatrix> matrices;
  std::vector<TilingEdge> edges; ///< The costs of parallel edges are added.
  std::optional<int64_t> usageLimit;

  /// Checks that each node has 1 to 65535 strategies, that matrices have the sizes of the nodes of
  /// their edges, that no number is negative, and that there are at most a million nodes.
  Status check() const;
  /// The cost of a choice; the sum saturates.
  int64_t cost(const std::vector<uint32_t> &choice) const;
};

struct TilingSolution {
  std::vector<uint32_t> choice; ///< Per node: the index of its strategy.
  int64_t cost = 0;
  int64_t bound = 0; ///< No solution costs less.
  std::string solver = {};
  int64_t evaluations = 0;
  bool stoppedByClock = false;

  bool optimal() const { return cost <= bound; }
};

struct TilingParams {
  std::string solver = "best"; ///< One of tilingSolverNames().
  /// Evaluations are solved sub-problems and sweeps of message passing. If `evaluations` is INT64_MAX and there is no
  /// deadline, a default limit applies, which decreases with the size of the problem.
  Budget budget = {};
  uint64_t seed = 1;
  /// In [0, 1). The search ends when the bound proves that no solution is better by more than this fraction of the
  /// cost.
  double gap = 0;
  int threads = 1; ///< The result does not depend on it, unless the clock stops the search.
};

/// The names that solveTiling accepts, the default first.
///  best    First, nodes are joined if an edge allows exactly one partner for each of their
///          strategies. If tables of 2^22 entries suffice, variable elimination (Dechter 1999)
///          finds the optimum without the memory limit. If this optimum is within the limit, it
///          is the result. If it exceeds the limit, or if larger tables are needed, a search
///          through large neighbourhoods improves several starts. If the tables sufficed, branch
///          and bound follows this search. Each neighbourhood is solved by elimination with multipliers
///          for the memory (Polyak's subgradient step). Bounds come from sequential
///          tree-reweighted message passing (Kolmogorov, PAMI 2006)
///  greedy  The baseline: each node takes the strategy that is cheapest with the strategies of
///          the nodes before it. While the memory limit is exceeded, one node gets another
///          strategy. The change with the least cost for each byte that it saves is made
std::vector<std::string> tilingSolverNames();

/// Fails if the problem does not pass check(), if the solver is unknown, if every choice within the memory limit is
/// forbidden, if no choice is within the memory limit, or if the search finds none. In the last two cases, the message
/// says which of the two it is, and names a time at which the limit is exceeded, in the unit of TilingNode::lower. It
/// also has the least sufficient limit for this time, or the number of bytes by which the best choice exceeds the
/// limit. The result passes validateTiling.
Expected<TilingSolution> solveTiling(const TilingProblem &problem, const TilingParams &params = {});

/// Checks a solution independently of the solvers: every node has one of its strategies, the cost
/// is the sum of costs, usages never exceed the limit, and the bound is not above the cost. The
/// message names the first broken condition.
Status validateTiling(const TilingProblem &problem, const TilingSolution &solution);

/// Reads the contest's format: { problem: { name, nodes: { intervals, costs, usages },
/// edges: { nodes, costs }, usage_limit } }. The costs of edges are row-major. Errors name the
/// place in the file. The result passes check().
Expected<TilingProblem> tilingFromJson(const JsonReader &reader);
Json tilingToJson(const TilingProblem &problem);

} // namespace sluice

#endif // SLUICE_TILING_TILING_H
