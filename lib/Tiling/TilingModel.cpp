//===- TilingModel.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TilingModel.h"

#include "TilingReduction.h"

#include <algorithm>
#include <map>

namespace sluice {

TilingModel::TilingModel(const TilingProblem &problem) : problem(problem) {
  // What no allowed choice can cost more than: the largest allowed costs together.
  double most = 1;
  auto largest = [](const std::vector<int64_t> &costs) {
    int64_t value = 0;
    for (int64_t c : costs)
      if (c < kForbiddenTilingCost)
        value = std::max(value, c);
    return static_cast<double>(value);
  };
  for (const TilingNode &node : problem.nodes)
    most += largest(node.costs);
  std::vector<double> largestOf;
  for (const TilingMatrix &matrix : problem.matrices)
    largestOf.push_back(largest(matrix.costs));
  for (const TilingEdge &edge : problem.edges)
    most += largestOf[edge.matrix];
  forbidden = std::min(2 * most, static_cast<double>(kForbiddenTilingCost));

  TilingReduction reduction(problem, forbidden);
  if (reduction.contradictory) {
    contradictory = true;
    return;
  }
  offset = reduction.offset;
  count = static_cast<uint32_t>(reduction.parts.size());
  origins.resize(problem.nodes.size());
  for (auto [node, strategy] : reduction.fixed)
    origins[node] = {count, {strategy}};
  first.assign(1, 0);
  for (uint32_t i = 0; i < count; ++i) {
    const TilingReduction::Part &part = reduction.parts[i];
    cost.insert(cost.end(), part.costs.begin(), part.costs.end());
    first.push_back(static_cast<uint32_t>(cost.size()));
    for (const TilingReduction::Member &member : part.members)
      origins[member.node] = {i, reduction.maps[member.map]};
  }
  for (TilingReduction::Table &table : reduction.tables) {
    std::vector<double> transposed;
    transposed.reserve(table.costs.size());
    for (size_t column = 0; column < table.columns; ++column)
      for (size_t at = column; at < table.costs.size(); at += table.columns)
        transposed.push_back(table.costs[at]);
    tables.push_back(std::move(table.costs));
    tables.push_back(std::move(transposed));
  }
  std::vector<std::vector<Neighbour>> near(count);
  for (const TilingReduction::Link &link : reduction.links) {
    const double *forward = tables[2 * link.table].data(), *backward = tables[2 * link.table + 1].data();
    near[link.from].push_back({link.to, forward, backward});
    near[link.to].push_back({link.from, backward, forward});
    entries += tables[2 * link.table].size();
  }
  adjacentFirst.assign(1, 0);
  for (const std::vector<Neighbour> &others : near) {
    adjacent.insert(adjacent.end(), others.begin(), others.end());
    adjacentFirst.push_back(static_cast<uint32_t>(adjacent.size()));
  }
  lifeFirst.assign(count + 1, 0);
  if (problem.usageLimit)
    findMoments(static_cast<double>(*problem.usageLimit));
}

void TilingModel::findMoments(double limit) {
  // A node's members that live together use together.
  std::vector<std::map<std::pair<int64_t, int64_t>, std::vector<double>>> usesOf(count);
  std::vector<int64_t> times;
  for (size_t i = 0; i < problem.nodes.size(); ++i) {
    const TilingNode &node = problem.nodes[i];
    if (node.lower >= node.upper)
      continue;
    times.push_back(node.lower);
    times.push_back(node.upper);
    const Origin &origin = origins[i];
    if (origin.node == count)
      continue;
    std::vector<double> &sum = usesOf[origin.node][{node.lower, node.upper}];
    sum.resize(origin.strategies.size());
    for (size_t k = 0; k < sum.size(); ++k)
      sum[k] += static_cast<double>(node.usages[origin.strategies[k]]);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  auto indexOf = [&](int64_t at) { return std::lower_bound(times.begin(), times.end(), at) - times.begin(); };

  // Per time: what all choices use from there on, what they may use more, and whether some may start or end.
  std::vector<double> least(times.size() + 1), most(times.size() + 1);
  std::vector<char> starts(times.size()), ends(times.size());
  for (size_t i = 0; i < problem.nodes.size(); ++i)
    if (const TilingNode &node = problem.nodes[i]; node.lower < node.upper && origins[i].node == count) {
      const double bytes = static_cast<double>(node.usages[origins[i].strategies[0]]);
      least[indexOf(node.lower)] += bytes;
      least[indexOf(node.upper)] -= bytes;
    }
  for (auto &uses : usesOf)
    for (auto use = uses.begin(); use != uses.end();) {
      const auto begin = indexOf(use->first.first), end = indexOf(use->first.second);
      const auto [low, high] = std::minmax_element(use->second.begin(), use->second.end());
      const double bytes = *low, more = *high - *low;
      least[begin] += bytes;
      least[end] -= bytes;
      if (more == 0) {
        use = uses.erase(use);
        continue;
      }
      for (double &usage : use->second)
        usage -= bytes;
      most[begin] += more;
      most[end] -= more;
      starts[begin] = ends[end] = 1;
      ++use;
    }

  // Of neighbours where nothing starts or nothing ends between them, the one with more live and less room implies the
  // other.
  struct Moment {
    size_t at;
    double room, most;
    bool starts, ends; // Since the one before.
  };
  std::vector<Moment> kept;
  double used = 0, more = 0;
  bool started = true, ended = true;
  for (size_t t = 0; t + 1 < times.size(); ++t) {
    used += least[t];
    more += most[t];
    started |= starts[t] != 0;
    ended |= ends[t] != 0;
    Moment moment{t, limit - used, more, started, ended};
    while (!kept.empty() && !moment.ends && moment.room <= kept.back().room) {
      moment.starts |= kept.back().starts;
      moment.ends |= kept.back().ends;
      kept.pop_back();
    }
    started = moment.starts;
    ended = moment.ends;
    if (!kept.empty() && !moment.starts && kept.back().room <= moment.room)
      continue;
    kept.push_back(moment);
    started = ended = false;
  }
  // Sums of what starts and ends leave rounding behind.
  std::erase_if(kept, [](const Moment &moment) { return moment.most <= moment.room * (1 - 1e-12); });
  moments = static_cast<uint32_t>(kept.size());
  for (const Moment &moment : kept) {
    room.push_back(moment.room);
    time.push_back(times[moment.at]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    for (auto &[interval, usage] : usesOf[i]) {
      const auto begin = std::lower_bound(time.begin(), time.end(), interval.first) - time.begin();
      const auto end = std::lower_bound(time.begin(), time.end(), interval.second) - time.begin();
      if (begin == end)
        continue;
      usages.push_back(std::move(usage));
      life.push_back({static_cast<uint32_t>(begin), static_cast<uint32_t>(end), usages.back().data()});
    }
    lifeFirst[i + 1] = static_cast<uint32_t>(life.size());
  }
}

double TilingModel::costOf(const std::vector<uint32_t> &choice) const {
  double sum = offset;
  for (uint32_t i = 0; i < count; ++i) {
    sum += costs(i)[choice[i]];
    for (const Neighbour &other : neighbours(i))
      if (other.node > i)
        sum += other.costs[size_t(choice[i]) * strategies(other.node) + choice[other.node]];
  }
  return sum;
}

void TilingModel::use(uint32_t node, uint32_t strategy, double factor, std::vector<double> &difference) const {
  for (const Life &part : lives(node)) {
    difference[part.begin] += factor * part.usages[strategy];
    difference[part.end] -= factor * part.usages[strategy];
  }
}

void TilingModel::charge(uint32_t node, const std::vector<double> &prices, std::vector<double> &sum) const {
  for (const Life &part : lives(node))
    if (const double price = prices[part.end] - prices[part.begin]; price != 0)
      for (size_t k = 0; k < sum.size(); ++k)
        sum[k] += price * part.usages[k];
}

std::vector<double> TilingModel::usageOf(const std::vector<uint32_t> &choice) const {
  std::vector<double> sum(moments + 1);
  for (uint32_t i = 0; i < count; ++i)
    use(i, choice[i], 1, sum);
  for (uint32_t m = 1; m < moments; ++m)
    sum[m] += sum[m - 1];
  sum.resize(moments);
  return sum;
}

std::vector<uint32_t> TilingModel::expand(const std::vector<uint32_t> &choice) const {
  std::vector<uint32_t> result;
  for (const Origin &origin : origins)
    result.push_back(origin.strategies[origin.node == count ? 0 : choice[origin.node]]);
  return result;
}

std::vector<double> TilingModel::prefixSums(const std::vector<double> &perMoment) {
  std::vector<double> sums(perMoment.size() + 1);
  for (size_t m = 0; m < perMoment.size(); ++m)
    sums[m + 1] = sums[m] + perMoment[m];
  return sums;
}

} // namespace sluice
