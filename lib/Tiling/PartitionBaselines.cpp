//===- PartitionBaselines.cpp - SoyBean's one cut, Spartan's greedy -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionModel.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace sluice {

namespace {
/// A node's edges, seen from it.
struct Incident {
  uint32_t other = 0;
  const TilingMatrix *matrix = nullptr;
  bool isRow = false; ///< The node's own strategies are the rows.

  int64_t cost(uint32_t own, uint32_t others) const {
    return isRow ? matrix->costs[size_t(own) * matrix->columns + others]
                 : matrix->costs[size_t(others) * matrix->columns + own];
  }
};

std::vector<std::vector<Incident>> incidents(const TilingProblem &problem) {
  std::vector<std::vector<Incident>> result(problem.nodes.size());
  for (const TilingEdge &edge : problem.edges) {
    result[edge.from].push_back({edge.to, &problem.matrices[edge.matrix], true});
    result[edge.to].push_back({edge.from, &problem.matrices[edge.matrix], false});
  }
  return result;
}

/// Operators by their distance from the first; what it does not reach begins anew.
std::vector<uint32_t> levelOrder(const std::vector<std::vector<Incident>> &edges, const std::vector<bool> &isOperator) {
  std::vector<uint32_t> order;
  std::vector<bool> seen(edges.size());
  for (uint32_t start = 0; start < edges.size(); ++start) {
    if (!isOperator[start] || seen[start])
      continue;
    seen[start] = true;
    std::vector<uint32_t> queue{start};
    for (size_t at = 0; at < queue.size(); ++at) {
      if (isOperator[queue[at]])
        order.push_back(queue[at]);
      for (const Incident &edge : edges[queue[at]])
        if (!seen[edge.other]) {
          seen[edge.other] = true;
          queue.push_back(edge.other);
        }
    }
  }
  return order;
}

/// The states between two operators: tilings of the tensors that operators before and after have in common.
class LevelProgram {
public:
  LevelProgram(const TilingProblem &problem, const std::vector<bool> &isOperator)
      : problem(problem), edges(incidents(problem)), order(levelOrder(edges, isOperator)),
        left(problem.nodes.size(), 0) {
    for (uint32_t op : order)
      for (const Incident &edge : edges[op])
        ++left[edge.other];
  }

  std::optional<std::vector<uint32_t>> solve() {
    for (uint32_t op : order)
      if (!step(op))
        return std::nullopt;
    std::vector<uint32_t> choice(problem.nodes.size());
    // Tensors no operator touches.
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      if (edges[node].empty())
        choice[node] = cheapest(problem.nodes[node].costs);
    size_t at = 0; // All tensors are behind: there is one state.
    for (size_t s = history.size(); s-- > 0;) {
      const Trace trace = history[s][at];
      size_t added = trace.added;
      for (const uint32_t node : introduced[s]) {
        choice[node] = static_cast<uint32_t>(added % sizeOf(node));
        added /= sizeOf(node);
      }
      at = trace.parent;
    }
    for (uint32_t op : order)
      choice[op] = bestRule(op, [&](size_t i) { return choice[edges[op][i].other]; }).second;
    return choice;
  }

private:
  static constexpr uint32_t kNone = ~uint32_t(0);
  /// How a state is reached at the least cost.
  struct Trace {
    uint32_t parent; ///< The state before.
    uint32_t added;  ///< The choices of the nodes that the operator introduced; the first node's changes fastest.
  };

  size_t sizeOf(uint32_t node) const { return problem.nodes[node].costs.size(); }
  static uint32_t cheapest(const std::vector<int64_t> &costs) {
    return static_cast<uint32_t>(std::min_element(costs.begin(), costs.end()) - costs.begin());
  }

  /// `choiceOf(i)` is that of the i-th edge's other end.
  template <typename Choice>
  std::pair<int64_t, uint32_t> bestRule(uint32_t op, Choice choiceOf) const {
    std::pair<int64_t, uint32_t> best{std::numeric_limits<int64_t>::max(), 0};
    for (uint32_t r = 0; r < problem.nodes[op].costs.size(); ++r) {
      int64_t sum = problem.nodes[op].costs[r];
      for (size_t i = 0; i < edges[op].size() && sum < best.first; ++i)
        sum = saturatingAdd(sum, edges[op][i].cost(r, choiceOf(i)));
      if (sum < best.first)
        best = {sum, r};
    }
    return best;
  }

  /// The greatest number of pairs of a state and of what an operator adds to it, over all steps.
  static constexpr size_t kMostPairs = 3'000'000;

  /// False if there are too many pairs.
  bool step(uint32_t op) {
    std::vector<uint32_t> added;
    for (const Incident &edge : edges[op])
      if (std::find(frontier.begin(), frontier.end(), edge.other) == frontier.end() &&
          std::find(added.begin(), added.end(), edge.other) == added.end())
        added.push_back(edge.other);
    size_t additions = 1;
    for (const uint32_t node : added)
      if ((additions *= sizeOf(node)) > kMostPairs)
        return false;
    // A state has at least one pair, so that there are no more states than pairs.
    pairs += costs.size() * additions;
    if (pairs > kMostPairs)
      return false;
    std::vector<uint32_t> all = frontier;
    all.insert(all.end(), added.begin(), added.end());
    std::vector<size_t> place; // Per edge.
    for (const Incident &edge : edges[op]) {
      --left[edge.other];
      place.push_back(static_cast<size_t>(std::find(all.begin(), all.end(), edge.other) - all.begin()));
    }
    std::vector<uint32_t> open;
    std::vector<size_t> weight(all.size(), 0); // Of a choice, in the number of the next state.
    size_t numStates = 1;
    for (size_t i = all.size(); i-- > 0;)
      if (left[all[i]] > 0) {
        weight[i] = std::exchange(numStates, numStates * sizeOf(all[i]));
        open.insert(open.begin(), all[i]);
      }

    std::vector<int64_t> next(numStates, std::numeric_limits<int64_t>::max());
    std::vector<Trace> traces(numStates, {kNone, 0});
    std::vector<uint32_t> chosen(all.size(), 0);
    for (size_t state = 0; state < costs.size(); ++state) {
      for (size_t i = frontier.size(), rest = state; i-- > 0; rest /= sizeOf(frontier[i]))
        chosen[i] = static_cast<uint32_t>(rest % sizeOf(frontier[i]));
      for (size_t addition = 0; addition < additions; ++addition) {
        for (size_t i = 0, rest = addition; i < added.size(); rest /= sizeOf(added[i]), ++i)
          chosen[frontier.size() + i] = static_cast<uint32_t>(rest % sizeOf(added[i]));
        int64_t cost = saturatingAdd(costs[state], bestRule(op, [&](size_t i) { return chosen[place[i]]; }).first);
        size_t reached = 0;
        for (size_t i = 0; i < all.size(); ++i) {
          reached += weight[i] * chosen[i];
          if (i >= frontier.size())
            cost = saturatingAdd(cost, problem.nodes[all[i]].costs[chosen[i]]);
        }
        if (traces[reached].parent == kNone || cost < next[reached]) {
          next[reached] = cost;
          traces[reached] = {static_cast<uint32_t>(state), static_cast<uint32_t>(addition)};
        }
      }
    }
    costs = std::move(next);
    history.push_back(std::move(traces));
    introduced.push_back(std::move(added));
    frontier = std::move(open);
    return true;
  }

  const TilingProblem &problem;
  std::vector<std::vector<Incident>> edges;
  std::vector<uint32_t> order, frontier;
  std::vector<size_t> left; ///< Per node: operators still to come.
  /// Per state, which is a choice for each of the frontier's nodes: what led there cost. The last node's choice changes
  /// fastest.
  std::vector<int64_t> costs{0};
  size_t pairs = 0;                              ///< Of states and what an operator adds, looked at.
  std::vector<std::vector<Trace>> history;       ///< Per step, per state after it.
  std::vector<std::vector<uint32_t>> introduced; ///< Per step.
};

/// A node group is a tensor, which Spartan's operators make one of; an operator between two is the cheapest of its
/// rules.
class SpartanGreedy {
public:
  SpartanGreedy(const TilingProblem &problem, size_t tensors, const std::vector<bool> &isView, int64_t duplicationBytes)
      : problem(problem), tensors(tensors), edges(incidents(problem)), ofView(tensors), budget(duplicationBytes) {
    for (const TilingNode &node : problem.nodes) {
      std::vector<uint32_t> all(node.costs.size());
      std::iota(all.begin(), all.end(), 0U);
      remaining.push_back(std::move(all));
    }
    for (size_t op = tensors; op < problem.nodes.size(); ++op)
      if (isView[op] && edges[op].size() == 2) // The second edge is the result's.
        ofView[edges[op][1].other] = true;
  }

  std::vector<uint32_t> solve() {
    // Adjacent groups: tensors that an operator reads or makes beside.
    std::vector<size_t> adjacent(tensors);
    for (uint32_t node = 0; node < tensors; ++node)
      for (const Incident &edge : edges[node])
        adjacent[node] += edges[edge.other].size() - 1;
    std::vector<uint32_t> order(tensors);
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return adjacent[a] > adjacent[b]; });
    for (uint32_t node : order)
      decide(node);
    std::vector<uint32_t> choice;
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      choice.push_back(node < tensors ? remaining[node][0] : cheapestRule(node, kNone, 0).second);
    return choice;
  }

private:
  static constexpr uint32_t kNone = ~uint32_t(0);
  static constexpr int kMostViews = 32; ///< Looked behind, one after the other.

  void decide(uint32_t node) {
    const std::vector<int64_t> &usages = problem.nodes[node].usages;
    int64_t least = *std::min_element(usages.begin(), usages.end()), bestCost = 0;
    std::optional<uint32_t> best;
    for (uint32_t strategy : remaining[node]) {
      if (usages[strategy] - least > budget)
        continue;
      seen.assign(tensors, false);
      int64_t cost = findCost(node, strategy, kNone, 0);
      if (!best || cost < bestCost) {
        best = strategy;
        bestCost = cost;
      }
    }
    budget -= usages[*best] - least;
    remaining[node] = {*best};
  }

  static uint32_t cheapest(const Incident &edge, uint32_t rule, const std::vector<uint32_t> &strategies) {
    return *std::min_element(strategies.begin(), strategies.end(),
                             [&](uint32_t a, uint32_t b) { return edge.cost(rule, a) < edge.cost(rule, b); });
  }
  /// Of an operator one of whose tensors is given, the others any they may still be.
  std::pair<int64_t, uint32_t> cheapestRule(uint32_t op, uint32_t tensor, uint32_t strategy) const {
    std::pair<int64_t, uint32_t> best{std::numeric_limits<int64_t>::max(), 0};
    for (uint32_t rule = 0; rule < problem.nodes[op].costs.size(); ++rule) {
      int64_t sum = problem.nodes[op].costs[rule];
      for (const Incident &edge : edges[op])
        sum = saturatingAdd(
            sum, edge.cost(rule, edge.other == tensor ? strategy : cheapest(edge, rule, remaining[edge.other])));
      if (sum < best.first)
        best = {sum, rule};
    }
    return best;
  }

  int64_t findCost(uint32_t tensor, uint32_t strategy, uint32_t from, int depth) {
    seen[tensor] = true;
    int64_t sum = problem.nodes[tensor].costs[strategy];
    for (const Incident &edge : edges[tensor]) {
      const uint32_t op = edge.other;
      if (op == from)
        continue;
      const auto [cost, rule] = cheapestRule(op, tensor, strategy);
      sum = saturatingAdd(sum, cost);
      // A view is as its source is: what counts lies behind it.
      for (const Incident &behind : edges[op])
        if (!seen[behind.other] && ofView[behind.other] && remaining[behind.other].size() > 1 && depth < kMostViews)
          sum = saturatingAdd(sum,
                              findCost(behind.other, cheapest(behind, rule, remaining[behind.other]), op, depth + 1));
    }
    return sum;
  }

  const TilingProblem &problem;
  size_t tensors;
  std::vector<std::vector<Incident>> edges;
  std::vector<bool> ofView; ///< Per tensor.
  std::vector<bool> seen;   ///< Per tensor: counted for the strategy that is looked at, once where paths meet.
  std::vector<std::vector<uint32_t>> remaining;
  int64_t budget;
};
} // namespace

std::optional<std::vector<uint32_t>> solveByLevels(const TilingProblem &problem, const std::vector<bool> &isOperator) {
  return LevelProgram(problem, isOperator).solve();
}

std::vector<uint32_t> solveSpartan(const TilingProblem &problem, size_t tensors, const std::vector<bool> &isView,
                                   int64_t duplicationBytes) {
  return SpartanGreedy(problem, tensors, isView, duplicationBytes).solve();
}

} // namespace sluice
