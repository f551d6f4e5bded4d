//===- Tiling.cpp - The problem, its validator, the choice of solver ------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Solvers.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice {

Status TilingProblem::check() const {
  constexpr size_t kMostNodes = 1'000'000, kMostStrategies = 65535;
  auto bad = [&](const auto &...what) -> Status {
    return makeError(ErrorCode::InvalidInput, what..., ", instance '", name, "', correct the instance");
  };
  if (nodes.empty() || nodes.size() > kMostNodes)
    return bad("the instance has ", nodes.size(), " nodes, 1 to ", kMostNodes, " are allowed");
  if (usageLimit && *usageLimit < 0)
    return bad("the usage limit is ", *usageLimit, ", which is negative");
  auto negative = [](const std::vector<int64_t> &values) {
    return std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; });
  };
  for (const TilingNode &node : nodes) {
    if (node.costs.empty() || node.costs.size() > kMostStrategies)
      return bad("node '", node.name, "' has ", node.costs.size(), " strategies, 1 to ", kMostStrategies,
                 " are allowed");
    if (node.usages.size() != node.costs.size())
      return bad("node '", node.name, "' has ", node.costs.size(), " costs and ", node.usages.size(), " usages");
    if (negative(node.costs) || negative(node.usages))
      return bad("node '", node.name, "' has a negative cost or usage");
  }
  for (size_t m = 0; m < matrices.size(); ++m) {
    if (matrices[m].costs.size() != size_t(matrices[m].rows) * matrices[m].columns)
      return bad("matrix ", m, " has ", matrices[m].costs.size(), " costs for ", matrices[m].rows, " x ",
                 matrices[m].columns);
    if (negative(matrices[m].costs))
      return bad("matrix ", m, " has a negative cost");
  }
  for (size_t e = 0; e < edges.size(); ++e) {
    const TilingEdge &edge = edges[e];
    if (edge.from >= nodes.size() || edge.to >= nodes.size() || edge.matrix >= matrices.size())
      return bad("edge ", e, " names a node or a matrix that does not exist");
    if (matrices[edge.matrix].rows != nodes[edge.from].costs.size() ||
        matrices[edge.matrix].columns != nodes[edge.to].costs.size())
      return bad("edge ", e, " has a matrix of ", matrices[edge.matrix].rows, " x ", matrices[edge.matrix].columns,
                 " for ", nodes[edge.from].costs.size(), " x ", nodes[edge.to].costs.size(), " strategies");
  }
  return {};
}

int64_t TilingProblem::cost(const std::vector<uint32_t> &choice) const {
  int64_t sum = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    sum = saturatingAdd(sum, nodes[i].costs[choice[i]]);
  for (const TilingEdge &edge : edges) {
    const TilingMatrix &matrix = matrices[edge.matrix];
    sum = saturatingAdd(sum, matrix.costs[size_t(choice[edge.from]) * matrix.columns + choice[edge.to]]);
  }
  return sum;
}

Status validateTiling(const TilingProblem &problem, const TilingSolution &solution) {
  auto fail = [](const auto &...parts) -> Status { return makeError(ErrorCode::Internal, parts...); };
  if (solution.choice.size() != problem.nodes.size())
    return fail(solution.choice.size(), " choices for ", problem.nodes.size(), " nodes");
  // Per time, what changes there: ends and starts at one time cancel as they must.
  std::map<int64_t, std::pair<int64_t, int64_t>> changes; // Starts, ends.
  int64_t cost = 0;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const TilingNode &node = problem.nodes[i];
    if (solution.choice[i] >= node.costs.size())
      return fail("node '", node.name, "' has strategy ", solution.choice[i], ", and there are only ",
                  node.costs.size());
    cost = saturatingAdd(cost, node.costs[solution.choice[i]]);
    if (node.lower < node.upper) {
      auto &start = changes[node.lower].first, &end = changes[node.upper].second;
      start = saturatingAdd(start, node.usages[solution.choice[i]]);
      end = saturatingAdd(end, node.usages[solution.choice[i]]);
    }
  }
  for (const TilingEdge &edge : problem.edges) {
    const TilingMatrix &matrix = problem.matrices[edge.matrix];
    cost = saturatingAdd(cost,
                         matrix.costs[size_t(solution.choice[edge.from]) * matrix.columns + solution.choice[edge.to]]);
  }
  if (cost != solution.cost)
    return fail("the solution states a cost of ", solution.cost, ", and its cost is ", cost);
  if (solution.bound > solution.cost)
    return fail("bound ", solution.bound, " is above the cost ", solution.cost);
  if (!problem.usageLimit)
    return {};
  __int128 live = 0; // A million of int64 do not overflow it.
  for (const auto &[time, change] : changes) {
    live += change.first;
    live -= change.second;
    if (live > *problem.usageLimit)
      return fail("usage at ", time, " is above the limit of ", *problem.usageLimit, " by ",
                  static_cast<int64_t>(live - *problem.usageLimit));
  }
  return {};
}

/// Fails where `usage`, per moment, has no room: the least there is, or what was found.
static Status checkLimit(const TilingModel &model, const std::vector<double> &usage, bool least) {
  double worst = 0;
  int64_t time = 0;
  for (uint32_t m = 0; m < model.moments; ++m)
    if (usage[m] - model.room[m] > worst) {
      worst = usage[m] - model.room[m];
      time = model.timeOf(m);
    }
  if (worst == 0)
    return {};
  const int64_t over = static_cast<int64_t>(std::min(std::ceil(worst), 0x1p62));
  if (least)
    return makeError(ErrorCode::Infeasible, "every combination of strategies exceeds the usage limit of ",
                     *model.problem.usageLimit, " at time ", time, " of '", model.problem.name,
                     "', raise the limit to at least ", saturatingAdd(*model.problem.usageLimit, over));
  return makeError(ErrorCode::Infeasible, "no combination of strategies found keeps within the usage limit of ",
                   *model.problem.usageLimit, ", the best one exceeds it by ", over, " at time ", time, " of '",
                   model.problem.name, "', search longer or raise the limit");
}

std::vector<std::string> tilingSolverNames() { return {"best", "greedy"}; }

Expected<TilingSolution> solveTiling(const TilingProblem &problem, const TilingParams &params) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  if (!(params.gap >= 0 && params.gap < 1))
    return makeError(ErrorCode::InvalidInput, "the solver of tilings cannot leave a gap of ", params.gap,
                     ", give at least 0 and less than 1");
  const std::vector<std::string> names = tilingSolverNames();
  if (std::find(names.begin(), names.end(), params.solver) == names.end())
    return makeError(ErrorCode::NotFound, "solver '", params.solver, "' of tilings is unknown, use '", names.front(),
                     "'");
  const TilingModel model(problem);
  if (model.contradictory)
    return makeError(ErrorCode::Infeasible, "no combination of strategies is allowed, instance '", problem.name,
                     "', allow more pairs of strategies");
  SLUICE_RETURN_IF_ERROR(checkLimit(model, std::vector<double>(model.moments), true));

  TilingSearchResult result;
  if (params.solver == "greedy")
    result.best = solveTilingGreedily(model);
  else if (std::optional<TilingSearchResult> exact = solveTilingExactly(model, params))
    result = std::move(*exact);
  else
    result = searchTilingBlocks(model, params);
  SLUICE_RETURN_IF_ERROR(checkLimit(model, result.best.usage, result.proven));

  TilingSolution solution;
  solution.choice = model.expand(result.best.choice);
  solution.cost = problem.cost(solution.choice);
  if (solution.cost >= kForbiddenTilingCost) {
    if (result.proven)
      return makeError(ErrorCode::Infeasible,
                       "no combination of strategies is allowed within the usage limit, instance '", problem.name,
                       "', raise the limit or allow more pairs of strategies");
    return makeError(ErrorCode::Infeasible, "no allowed combination of strategies was found, instance '", problem.name,
                     "', search longer or raise the usage limit");
  }
  // Below by what rounding may have added.
  solution.bound =
      result.proven
          ? solution.cost
          : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(result.bound * (1 - 1e-9) - 1e-3)), 0, solution.cost);
  solution.solver = params.solver;
  solution.evaluations = result.evaluations;
  solution.stoppedByClock = result.stoppedByClock;
  SLUICE_RETURN_IF_ERROR(validateTiling(problem, solution));
  return solution;
}

} // namespace sluice
