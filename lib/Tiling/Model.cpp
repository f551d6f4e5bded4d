//===- Model.cpp ----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Model.h"

#include <algorithm>

namespace sluice {

TilingModel::TilingModel(const TilingProblem &problem) : problem(problem) {
  count = static_cast<uint32_t>(problem.nodes.size());
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

  auto value = [&](int64_t c) { return c >= kForbiddenTilingCost ? forbidden : static_cast<double>(c); };
  first.assign(1, 0);
  for (const TilingNode &node : problem.nodes) {
    for (size_t k = 0; k < node.costs.size(); ++k) {
      cost.push_back(value(node.costs[k]));
      usage.push_back(static_cast<double>(node.usages[k]));
    }
    first.push_back(static_cast<uint32_t>(cost.size()));
  }
  joinNodes();
  begin.assign(count, 0);
  end.assign(count, 0);
  if (problem.usageLimit) {
    limit = static_cast<double>(*problem.usageLimit);
    findMoments();
  }
}

void TilingModel::joinNodes() {
  auto value = [&](int64_t c) { return c >= kForbiddenTilingCost ? forbidden : static_cast<double>(c); };
  // Edges between the same two nodes, by the smaller; of a node with itself on its own costs.
  std::map<std::pair<uint32_t, uint32_t>, std::vector<const TilingEdge *>> between;
  for (const TilingEdge &edge : problem.edges) {
    if (edge.from != edge.to) {
      between[std::minmax(edge.from, edge.to)].push_back(&edge);
      continue;
    }
    const TilingMatrix &matrix = problem.matrices[edge.matrix];
    for (uint32_t k = 0; k < matrix.rows; ++k)
      cost[first[edge.from] + k] += value(matrix.costs[size_t(k) * matrix.columns + k]);
  }
  // One table, and its transpose, for each distinct sum of matrices.
  using Terms = std::vector<std::pair<uint32_t, bool>>; // Matrix, whether transposed.
  std::map<Terms, size_t> tableOf;
  struct Link {
    uint32_t a, b;
    size_t table;
  };
  std::vector<Link> links;
  for (const auto &[ends, edges] : between) {
    const uint32_t rows = strategies(ends.first), columns = strategies(ends.second);
    Terms terms;
    for (const TilingEdge *edge : edges)
      terms.emplace_back(edge->matrix, edge->from != ends.first);
    std::sort(terms.begin(), terms.end());
    auto [found, isNew] = tableOf.emplace(std::move(terms), tables.size());
    if (isNew) {
      std::vector<double> forward(size_t(rows) * columns), backward(forward.size());
      for (const auto &[index, flipped] : found->first) {
        const std::vector<int64_t> &costs = problem.matrices[index].costs;
        for (uint32_t r = 0; r < rows; ++r)
          for (uint32_t c = 0; c < columns; ++c) {
            double &sum = forward[size_t(r) * columns + c];
            sum = std::min(sum + value(costs[flipped ? size_t(c) * rows + r : size_t(r) * columns + c]), forbidden);
          }
      }
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t c = 0; c < columns; ++c)
          backward[size_t(c) * rows + r] = forward[size_t(r) * columns + c];
      tables.push_back(std::move(forward));
      tables.push_back(std::move(backward));
    }
    links.push_back({ends.first, ends.second, found->second});
    entries += size_t(rows) * columns;
  }
  adjacentFirst.assign(count + 1, 0);
  for (const Link &link : links) {
    ++adjacentFirst[link.a + 1];
    ++adjacentFirst[link.b + 1];
  }
  for (uint32_t i = 0; i < count; ++i)
    adjacentFirst[i + 1] += adjacentFirst[i];
  adjacent.resize(2 * links.size());
  std::vector<uint32_t> next(adjacentFirst.begin(), adjacentFirst.end() - 1);
  for (const Link &link : links) {
    const double *forward = tables[link.table].data(), *backward = tables[link.table + 1].data();
    adjacent[next[link.a]++] = {link.b, forward, backward};
    adjacent[next[link.b]++] = {link.a, backward, forward};
  }
}

void TilingModel::findMoments() {
  // A live set is the largest of its neighbours where a start is followed by an end.
  std::vector<std::pair<int64_t, bool>> events; // Ends sort before starts.
  for (const TilingNode &node : problem.nodes)
    if (node.lower < node.upper) {
      events.emplace_back(node.lower, true);
      events.emplace_back(node.upper, false);
    }
  std::sort(events.begin(), events.end());
  for (size_t i = 0; i + 1 < events.size(); ++i)
    if (events[i].second && !events[i + 1].second)
      time.push_back(events[i].first);
  moments = static_cast<uint32_t>(time.size());
  for (uint32_t i = 0; i < count; ++i) {
    const TilingNode &node = problem.nodes[i];
    if (node.lower >= node.upper)
      continue;
    begin[i] = static_cast<uint32_t>(std::lower_bound(time.begin(), time.end(), node.lower) - time.begin());
    end[i] = static_cast<uint32_t>(std::lower_bound(time.begin(), time.end(), node.upper) - time.begin());
  }
}

double TilingModel::costOf(const std::vector<uint32_t> &choice) const {
  double sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    sum += costs(i)[choice[i]];
    for (const Neighbour &other : neighbours(i))
      if (other.node > i)
        sum += other.costs[size_t(choice[i]) * strategies(other.node) + choice[other.node]];
  }
  return sum;
}

std::vector<double> TilingModel::usageOf(const std::vector<uint32_t> &choice) const {
  std::vector<double> sum(moments + 1);
  for (uint32_t i = 0; i < count; ++i) {
    sum[begin[i]] += usages(i)[choice[i]];
    sum[end[i]] -= usages(i)[choice[i]];
  }
  for (uint32_t m = 1; m < moments; ++m)
    sum[m] += sum[m - 1];
  sum.resize(moments);
  return sum;
}

std::vector<uint32_t> TilingModel::liveAt(uint32_t moment) const {
  std::vector<uint32_t> live;
  for (uint32_t i = 0; i < count; ++i)
    if (begin[i] <= moment && moment < end[i])
      live.push_back(i);
  return live;
}

std::vector<double> TilingModel::prefixSums(const std::vector<double> &perMoment) {
  std::vector<double> sums(perMoment.size() + 1);
  for (size_t m = 0; m < perMoment.size(); ++m)
    sums[m + 1] = sums[m] + perMoment[m];
  return sums;
}

} // namespace sluice
