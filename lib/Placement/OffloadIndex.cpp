//===- OffloadIndex.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OffloadIndex.h"

#include <algorithm>
#include <map>
#include <queue>

namespace sluice {

/// Reach takes a bit for every pair of nodes, twice.
static constexpr uint32_t kMostForReach = 16'384;

/// Strongly connected components in topological order (Tarjan 1972, without
/// recursion: graphs may be deep).
static void findGroups(const std::vector<std::vector<uint32_t>> &next, std::vector<uint32_t> &order,
                       std::vector<uint32_t> &groupOf) {
  const uint32_t count = static_cast<uint32_t>(next.size());
  constexpr uint32_t kNew = ~uint32_t(0);
  std::vector<uint32_t> number(count, kNew), low(count), at(count), path, stack;
  std::vector<uint8_t> open(count);
  groupOf.assign(count, 0);
  uint32_t numbers = 0, groups = 0;
  for (uint32_t root = 0; root < count; ++root) {
    if (number[root] != kNew)
      continue;
    path.push_back(root);
    while (!path.empty()) {
      const uint32_t u = path.back();
      if (number[u] == kNew) {
        number[u] = low[u] = numbers++;
        stack.push_back(u);
        open[u] = 1;
      }
      if (at[u] < next[u].size()) {
        const uint32_t v = next[u][at[u]++];
        if (number[v] == kNew)
          path.push_back(v);
        else if (open[v])
          low[u] = std::min(low[u], number[v]);
        continue;
      }
      path.pop_back();
      if (!path.empty())
        low[path.back()] = std::min(low[path.back()], low[u]);
      if (low[u] != number[u])
        continue;
      for (uint32_t v = kNew; v != u;) {
        v = stack.back();
        stack.pop_back();
        open[v] = 0;
        groupOf[v] = groups;
        order.push_back(v);
      }
      ++groups;
    }
  }
  // Components are found last first.
  std::reverse(order.begin(), order.end());
}

OffloadIndex::OffloadIndex(const OffloadProblem &problem)
    : problem(problem), count(static_cast<uint32_t>(problem.nodes.size())), out(count), in(count), unitOf(count) {
  // Parallel edges are one: the most expensive.
  std::vector<OffloadEdge> edges = problem.edges;
  std::stable_sort(edges.begin(), edges.end(), [](const OffloadEdge &a, const OffloadEdge &b) {
    return std::pair(a.from, a.to) != std::pair(b.from, b.to) ? std::pair(a.from, a.to) < std::pair(b.from, b.to)
                                                              : a.cost > b.cost;
  });
  for (const OffloadEdge &edge : edges)
    if (out[edge.from].empty() || out[edge.from].back().node != edge.to) {
      out[edge.from].push_back({edge.to, edge.cost});
      in[edge.to].push_back({edge.from, edge.cost});
    }
  std::vector<size_t> missing(count);
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t i = 0; i < count; ++i)
    if ((missing[i] = in[i].size()) == 0)
      ready.push(i);
  while (!ready.empty()) {
    const uint32_t node = ready.top();
    ready.pop();
    topological.push_back(node);
    for (const Half &half : out[node])
      if (--missing[half.node] == 0)
        ready.push(half.node);
  }

  std::map<int32_t, uint32_t> unitOfColour;
  for (uint32_t node : topological) {
    const int32_t colour = problem.nodes[node].colour;
    uint32_t unit = static_cast<uint32_t>(units.size());
    if (colour >= 0)
      unit = unitOfColour.emplace(colour, unit).first->second;
    if (unit == units.size()) {
      units.emplace_back();
      unitSupported.push_back(1);
    }
    unitOf[node] = unit;
    units[unit].push_back(node);
    unitSupported[unit] &= problem.nodes[node].supported;
  }
  std::vector<std::vector<uint32_t>> next(units.size());
  for (uint32_t u = 0; u < count; ++u)
    for (const Half &half : out[u])
      if (unitOf[u] != unitOf[half.node])
        next[unitOf[u]].push_back(unitOf[half.node]);
  findGroups(next, unitOrder, groupOf);

  if (count > kMostForReach)
    return;
  const NodeSet empty((count + 63) / 64);
  descendants.assign(count, empty);
  ancestors.assign(count, empty);
  auto gather = [](NodeSet &set, const NodeSet &more) {
    for (size_t w = 0; w < set.size(); ++w)
      set[w] |= more[w];
  };
  for (uint32_t node : topological) {
    insert(ancestors[node], node);
    for (const Half &half : in[node])
      gather(ancestors[node], ancestors[half.node]);
  }
  for (size_t i = count; i-- > 0;) {
    const uint32_t node = topological[i];
    insert(descendants[node], node);
    for (const Half &half : out[node])
      gather(descendants[node], descendants[half.node]);
  }
}

Closure::Closure(const OffloadIndex &index)
    : index(index), set((index.count + 63) / 64), after(set.size()), before(set.size()) {}

void Closure::clear() {
  for (NodeSet *bits : {&set, &after, &before})
    std::fill(bits->begin(), bits->end(), 0);
  list.clear();
}

bool Closure::add(uint32_t first) {
  open.clear();
  auto enter = [&](uint32_t node) {
    if (contains(set, node))
      return;
    insert(set, node);
    open.push_back(node);
  };
  enter(first);
  while (!open.empty()) {
    while (!open.empty()) {
      const uint32_t node = open.back();
      open.pop_back();
      list.push_back(node);
      if (!index.problem.nodes[node].supported)
        return false;
      for (size_t w = 0; w < set.size(); ++w) {
        after[w] |= index.descendants[node][w];
        before[w] |= index.ancestors[node][w];
      }
      for (uint32_t mate : index.units[index.unitOf[node]])
        enter(mate);
    }
    for (size_t w = 0; w < set.size(); ++w)
      for (uint64_t more = after[w] & before[w] & ~set[w]; more != 0; more &= more - 1)
        enter(static_cast<uint32_t>(w * 64) + static_cast<uint32_t>(__builtin_ctzll(more)));
  }
  return true;
}

OffloadTimer::OffloadTimer(const OffloadIndex &index)
    : index(index), ready(index.count + index.problem.accelerators), load(index.problem.accelerators),
      bytes(index.problem.accelerators), missing(index.count + index.problem.accelerators), members(index.count),
      firstMember(index.problem.accelerators + 1), stamp(index.problem.accelerators) {
  queue.reserve(ready.size());
}

double OffloadTimer::latency(std::span<const int32_t> part) {
  const uint32_t count = index.count, accelerators = index.problem.accelerators;
  std::fill(ready.begin(), ready.end(), 0);
  std::fill(load.begin(), load.end(), 0);
  std::fill(bytes.begin(), bytes.end(), 0);
  std::fill(missing.begin(), missing.end(), 0);
  std::fill(firstMember.begin(), firstMember.end(), 0);
  std::fill(stamp.begin(), stamp.end(), ~uint32_t(0));
  auto groupOf = [&](uint32_t node) { return part[node] < 0 ? node : count + static_cast<uint32_t>(part[node]); };
  for (uint32_t node = 0; node < count; ++node)
    if (part[node] >= 0) {
      const size_t a = static_cast<size_t>(part[node]);
      load[a] += index.problem.nodes[node].accelTime;
      bytes[a] += index.problem.nodes[node].bytes;
      ++firstMember[a + 1];
    }
  for (uint32_t a = 0; a < accelerators; ++a) {
    if (bytes[a] > index.problem.accelBytes)
      return -1;
    firstMember[a + 1] += firstMember[a];
  }
  std::vector<uint32_t> &fill = queue; // Not in use yet.
  fill.assign(firstMember.begin(), firstMember.end() - 1);
  for (uint32_t node = 0; node < count; ++node)
    if (part[node] >= 0)
      members[fill[static_cast<size_t>(part[node])]++] = node;
  for (uint32_t node = 0; node < count; ++node) {
    double leaving = 0;
    for (size_t i = 0; i < index.out[node].size(); ++i) {
      const auto [to, cost] = index.out[node][i];
      if (part[to] == part[node] && part[to] >= 0)
        continue;
      ++missing[groupOf(to)];
      leaving = std::max(leaving, cost);
      if (part[to] < 0 || stamp[static_cast<size_t>(part[to])] == node)
        continue;
      stamp[static_cast<size_t>(part[to])] = node;
      double entering = cost;
      for (size_t j = i + 1; j < index.out[node].size(); ++j)
        if (part[index.out[node][j].node] == part[to])
          entering = std::max(entering, index.out[node][j].cost);
      load[static_cast<size_t>(part[to])] += entering;
    }
    if (part[node] >= 0)
      load[static_cast<size_t>(part[node])] += leaving;
  }

  queue.clear();
  uint32_t groups = 0;
  for (uint32_t node = 0; node < count; ++node)
    if (part[node] < 0) {
      ++groups;
      if (missing[node] == 0)
        queue.push_back(node);
    }
  for (uint32_t a = 0; a < accelerators; ++a)
    if (firstMember[a] < firstMember[a + 1]) {
      ++groups;
      if (missing[count + a] == 0)
        queue.push_back(count + a);
    }
  double latest = 0;
  for (size_t next = 0; next < queue.size(); ++next) {
    const uint32_t group = queue[next];
    const bool isCpu = group < count;
    const double end = ready[group] + (isCpu ? index.problem.nodes[group].cpuTime : load[group - count]);
    latest = std::max(latest, end);
    auto release = [&](uint32_t node) {
      for (const auto &[to, cost] : index.out[node]) {
        const uint32_t other = groupOf(to);
        if (other == group)
          continue;
        ready[other] = std::max(ready[other], end);
        if (--missing[other] == 0)
          queue.push_back(other);
      }
    };
    if (isCpu)
      release(group);
    else
      for (uint32_t i = firstMember[group - count]; i < firstMember[group - count + 1]; ++i)
        release(members[i]);
  }
  return queue.size() == groups ? latest : -1;
}

} // namespace sluice
