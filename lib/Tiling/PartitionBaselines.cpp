//===- PartitionBaselines.cpp - SoyBean's one cut, Spartan's greedy -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionModel.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

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
      const Trace &trace = history[s][at];
      for (size_t i = 0; i < trace.added.size(); ++i)
        choice[introduced[s][i]] = trace.added[i];
      at = trace.parent;
    }
    for (uint32_t op : order)
      choice[op] = bestRule(op, [&](size_t i) { return choice[edges[op][i].other]; }).second;
    return choice;
  }

private:
  using Choices = std::vector<uint16_t>;

  struct Trace {
    size_t parent;
    Choices added; ///< Of the nodes this operator introduced.
  };
  struct Best {
    int64_t cost;
    Trace trace;
  };

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

  /// The next choice of these nodes; false after the last.
  bool advance(const std::vector<uint32_t> &nodes, Choices &choices) const {
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (++choices[i] < problem.nodes[nodes[i]].costs.size())
        return true;
      choices[i] = 0;
    }
    return false;
  }

  bool step(uint32_t op) {
    std::vector<uint32_t> added;
    for (const Incident &edge : edges[op])
      if (std::find(frontier.begin(), frontier.end(), edge.other) == frontier.end() &&
          std::find(added.begin(), added.end(), edge.other) == added.end())
        added.push_back(edge.other);
    std::vector<uint32_t> all = frontier;
    all.insert(all.end(), added.begin(), added.end());
    std::vector<size_t> place; // Per edge.
    for (const Incident &edge : edges[op]) {
      --left[edge.other];
      place.push_back(static_cast<size_t>(std::find(all.begin(), all.end(), edge.other) - all.begin()));
    }
    std::vector<size_t> kept;
    for (size_t i = 0; i < all.size(); ++i)
      if (left[all[i]] > 0)
        kept.push_back(i);

    std::map<Choices, Best> next;
    for (size_t s = 0; s < states.size(); ++s) {
      Choices adding(added.size());
      do {
        constexpr int64_t kMostPairs = 3'000'000;
        if (++pairs > kMostPairs)
          return false;
        auto choiceOf = [&](size_t i) {
          return i < frontier.size() ? states[s].first[i] : adding[i - frontier.size()];
        };
        int64_t cost =
            saturatingAdd(states[s].second, bestRule(op, [&](size_t i) { return choiceOf(place[i]); }).first);
        for (size_t i = 0; i < added.size(); ++i)
          cost = saturatingAdd(cost, problem.nodes[added[i]].costs[adding[i]]);
        Choices choices;
        for (size_t i : kept)
          choices.push_back(choiceOf(i));
        auto [best, isNew] = next.try_emplace(std::move(choices), Best{cost, {s, adding}});
        if (!isNew && cost < best->second.cost)
          best->second = {cost, {s, adding}};
      } while (advance(added, adding));
    }
    states.clear();
    history.emplace_back();
    for (auto &[choices, best] : next) {
      states.emplace_back(choices, best.cost);
      history.back().push_back(std::move(best.trace));
    }
    introduced.push_back(std::move(added));
    std::vector<uint32_t> open;
    for (size_t i : kept)
      open.push_back(all[i]);
    frontier = std::move(open);
    return true;
  }

  const TilingProblem &problem;
  std::vector<std::vector<Incident>> edges;
  std::vector<uint32_t> order, frontier;
  std::vector<size_t> left;                                 ///< Per node: operators still to come.
  std::vector<std::pair<Choices, int64_t>> states{{{}, 0}}; ///< Of the frontier's nodes, and what led there cost.
  int64_t pairs = 0;                                        ///< Of states and what an operator adds, looked at.
  std::vector<std::vector<Trace>> history;                  ///< Per step, per state after it.
  std::vector<std::vector<uint32_t>> introduced;            ///< Per step.
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
