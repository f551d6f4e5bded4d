//===- PartitionBaselines.cpp - SoyBean's one cut, Spartan's greedy -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "PartitionModel.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

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

/// The states between two operators.
class LevelProgram {
public:
  LevelProgram(const TilingProblem &problem, const std::vector<bool> &isOperator, size_t mostStates)
      : problem(problem), edges(incidents(problem)), mostStates(mostStates) {
    order = levelOrder(edges, isOperator);
    left.resize(problem.nodes.size());
    for (uint32_t op : order)
      for (const Incident &edge : edges[op])
        ++left[edge.other];
    // As many on a long program as on a short one, in all.
    constexpr size_t kPairs = 50'000'000, kFewest = 1000, kMost = size_t(1) << 16;
    mostPairs = std::clamp(kPairs / (order.size() + 1), kFewest, kMost);
  }

  std::vector<uint32_t> solve() {
    states = {{{}, 0, {}}};
    for (uint32_t op : order)
      step(op);
    std::vector<uint32_t> choice(problem.nodes.size());
    // Tensors no operator touches.
    for (uint32_t node = 0; node < problem.nodes.size(); ++node)
      if (edges[node].empty())
        choice[node] = cheapest(problem.nodes[node].costs);
    size_t at = 0;
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
  /// Of a set of nodes with their choices: the sum of theirs, so that nodes come and go.
  struct Fingerprint {
    uint64_t low = 0, high = 0;

    static Fingerprint of(uint32_t node, uint16_t choice) {
      const uint64_t id = uint64_t(node) << 16 | choice;
      return {mix(2 * id + 1), mix(2 * id + 2)};
    }
    Fingerprint operator+(Fingerprint other) const { return {low + other.low, high + other.high}; }
    Fingerprint operator-(Fingerprint other) const { return {low - other.low, high - other.high}; }
    bool operator==(const Fingerprint &) const = default;

  private:
    static uint64_t mix(uint64_t x) { // SplitMix64 (Steele et al. 2014).
      x *= 0x9e3779b97f4a7c15;
      x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
      x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
      return x ^ (x >> 31);
    }
  };
  struct FingerprintHash {
    size_t operator()(Fingerprint of) const { return static_cast<size_t>(of.low); }
  };
  struct State {
    std::vector<uint16_t> choices; ///< Of the frontier's nodes.
    int64_t cost;
    Fingerprint fingerprint;
  };
  struct Trace {
    size_t parent;
    std::vector<uint16_t> added; ///< Of the nodes this operator introduced.
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

  /// Strategies of the tensors that an operator introduces, all tuples or, where there are too
  /// many beside the states, those that cost least with it.
  std::vector<std::vector<uint16_t>> choicesOf(uint32_t op, const std::vector<uint32_t> &added) const {
    const size_t most = std::max<size_t>(1, mostPairs / states.size());
    std::vector<std::vector<uint16_t>> tuples{{}};
    for (size_t first = added.size(); first-- > 0;) {
      std::vector<std::vector<uint16_t>> longer;
      for (const std::vector<uint16_t> &tuple : tuples)
        for (size_t c = 0; c < problem.nodes[added[first]].costs.size(); ++c) {
          longer.push_back({static_cast<uint16_t>(c)});
          longer.back().insert(longer.back().end(), tuple.begin(), tuple.end());
        }
      tuples = std::move(longer);
      if (tuples.size() <= most)
        continue;
      std::vector<std::pair<int64_t, size_t>> rank;
      for (size_t t = 0; t < tuples.size(); ++t) {
        int64_t cost = 0;
        for (size_t i = 0; i < tuples[t].size(); ++i)
          cost = saturatingAdd(cost, problem.nodes[added[first + i]].costs[tuples[t][i]]);
        rank.emplace_back(saturatingAdd(cost, leastWith(op, added, first, tuples[t])), t);
      }
      std::nth_element(rank.begin(), rank.begin() + static_cast<ptrdiff_t>(most), rank.end());
      rank.resize(most);
      std::sort(rank.begin(), rank.end(), [](const auto &a, const auto &b) { return a.second < b.second; });
      longer.clear();
      for (const auto &[cost, t] : rank)
        longer.push_back(std::move(tuples[t]));
      tuples = std::move(longer);
    }
    return tuples;
  }

  /// What the operator's best rule costs along the edges to added[first] and later ones.
  int64_t leastWith(uint32_t op, const std::vector<uint32_t> &added, size_t first,
                    const std::vector<uint16_t> &tuple) const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (uint32_t r = 0; r < problem.nodes[op].costs.size(); ++r) {
      int64_t sum = problem.nodes[op].costs[r];
      for (const Incident &edge : edges[op]) {
        const auto at = std::find(added.begin() + static_cast<ptrdiff_t>(first), added.end(), edge.other);
        if (at != added.end())
          sum = saturatingAdd(sum, edge.cost(r, tuple[static_cast<size_t>(at - added.begin()) - first]));
      }
      least = std::min(least, sum);
    }
    return least;
  }

  void step(uint32_t op) {
    std::vector<uint32_t> added;
    for (const Incident &edge : edges[op])
      if (std::find(frontier.begin(), frontier.end(), edge.other) == frontier.end() &&
          std::find(added.begin(), added.end(), edge.other) == added.end())
        added.push_back(edge.other);
    std::vector<uint32_t> all = frontier;
    all.insert(all.end(), added.begin(), added.end());
    for (const Incident &edge : edges[op])
      --left[edge.other];
    std::vector<size_t> kept;
    for (size_t i = 0; i < all.size(); ++i)
      if (left[all[i]] > 0)
        kept.push_back(i);
    std::vector<size_t> place; // Per edge.
    for (const Incident &edge : edges[op])
      place.push_back(static_cast<size_t>(std::find(all.begin(), all.end(), edge.other) - all.begin()));

    const std::vector<std::vector<uint16_t>> tuples = choicesOf(op, added);
    struct Next {
      size_t parent, tuple;
      int64_t cost;
      Fingerprint fingerprint;
    };
    // Frontiers are wide, and few of these become states: what a tuple adds is looked at alone.
    std::vector<Next> ofTuple;
    for (size_t t = 0; t < tuples.size(); ++t) {
      Next next{0, t, 0, {}};
      for (size_t i = 0; i < added.size(); ++i) {
        next.cost = saturatingAdd(next.cost, problem.nodes[added[i]].costs[tuples[t][i]]);
        if (left[added[i]] > 0)
          next.fingerprint = next.fingerprint + Fingerprint::of(added[i], tuples[t][i]);
      }
      ofTuple.push_back(next);
    }
    std::unordered_map<Fingerprint, size_t, FingerprintHash> known;
    std::vector<Next> next;
    for (size_t s = 0; s < states.size(); ++s) {
      const std::vector<uint16_t> &choices = states[s].choices;
      Fingerprint staying = states[s].fingerprint;
      for (size_t i = 0; i < frontier.size(); ++i)
        if (left[frontier[i]] == 0)
          staying = staying - Fingerprint::of(frontier[i], choices[i]);
      for (Next each : ofTuple) {
        auto choiceOf = [&](size_t i) {
          return place[i] < frontier.size() ? choices[place[i]] : tuples[each.tuple][place[i] - frontier.size()];
        };
        each.parent = s;
        each.cost = saturatingAdd(saturatingAdd(states[s].cost, each.cost), bestRule(op, choiceOf).first);
        each.fingerprint = each.fingerprint + staying;
        auto [entry, isNew] = known.try_emplace(each.fingerprint, next.size());
        if (isNew)
          next.push_back(each);
        else if (each.cost < next[entry->second].cost)
          next[entry->second] = each;
      }
    }
    std::stable_sort(next.begin(), next.end(), [](const Next &a, const Next &b) { return a.cost < b.cost; });
    next.resize(std::min(next.size(), mostStates));
    std::vector<State> after;
    history.emplace_back();
    for (const Next &each : next) {
      State state{{}, each.cost, each.fingerprint};
      for (size_t i : kept)
        state.choices.push_back(i < frontier.size() ? states[each.parent].choices[i]
                                                    : tuples[each.tuple][i - frontier.size()]);
      after.push_back(std::move(state));
      history.back().push_back({each.parent, tuples[each.tuple]});
    }
    states = std::move(after);
    introduced.push_back(std::move(added));
    frontier.clear();
    for (size_t i : kept)
      frontier.push_back(all[i]);
  }

  const TilingProblem &problem;
  std::vector<std::vector<Incident>> edges;
  size_t mostStates, mostPairs; ///< Pairs: states times tuples looked at for one operator.
  std::vector<uint32_t> order, frontier;
  std::vector<size_t> left; ///< Per node: operators still to come.
  std::vector<State> states;
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

std::vector<uint32_t> solveByLevels(const TilingProblem &problem, const std::vector<bool> &isOperator,
                                    size_t mostStates) {
  return LevelProgram(problem, isOperator, mostStates).solve();
}

std::vector<uint32_t> solveSpartan(const TilingProblem &problem, size_t tensors, const std::vector<bool> &isView,
                                   int64_t duplicationBytes) {
  return SpartanGreedy(problem, tensors, isView, duplicationBytes).solve();
}

} // namespace sluice
