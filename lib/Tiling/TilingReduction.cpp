//===- TilingReduction.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "TilingReduction.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace sluice {

static constexpr uint32_t kNone = ~uint32_t(0);

TilingReduction::TilingReduction(const TilingProblem &problem, double forbidden) : forbidden(forbidden) {
  auto values = [&](const std::vector<int64_t> &costs) {
    std::vector<double> result;
    result.reserve(costs.size());
    for (int64_t c : costs)
      result.push_back(c >= kForbiddenTilingCost ? forbidden : static_cast<double>(c));
    return result;
  };
  for (uint32_t i = 0; i < problem.nodes.size(); ++i) {
    Map same(problem.nodes[i].costs.size());
    std::iota(same.begin(), same.end(), 0);
    parts.push_back({values(problem.nodes[i].costs), {{i, number(std::move(same))}}});
  }
  for (const TilingMatrix &matrix : problem.matrices)
    tables.push_back({matrix.columns, values(matrix.costs)});
  for (const TilingEdge &edge : problem.edges)
    links.push_back({edge.from, edge.to, edge.matrix});
  // The first round joins parallel edges, whether or not there is more to do.
  bool changed = true;
  for (bool first = true; changed && !contradictory; first = false) {
    changed = prune() || first;
    changed |= contract();
  }
}

uint32_t TilingReduction::number(Map map) {
  auto [found, isNew] = mapNumbers.emplace(std::move(map), static_cast<uint32_t>(maps.size()));
  if (isNew)
    maps.push_back(found->first);
  return found->second;
}

bool TilingReduction::prune() {
  alive.clear();
  for (const Part &part : parts)
    alive.emplace_back(part.costs.size(), 1);
  std::vector<std::vector<uint32_t>> linksOf(parts.size());
  std::vector<std::array<std::vector<uint32_t>, 2>> supportsOf(tables.size());
  supports.clear();
  for (uint32_t e = 0; e < links.size(); ++e) {
    const Link &link = links[e];
    const Table &table = tables[link.table];
    std::array<std::vector<uint32_t>, 2> &counts = supportsOf[link.table];
    if (counts[0].empty()) {
      counts = {std::vector<uint32_t>(table.costs.size() / table.columns), std::vector<uint32_t>(table.columns)};
      for (size_t i = 0; i < table.costs.size(); ++i)
        if (table.costs[i] < forbidden) {
          ++counts[0][i / table.columns];
          ++counts[1][i % table.columns];
        }
    }
    supports.push_back(counts);
    if (link.from == link.to) // Of one strategy with itself: a cost of its own.
      continue;
    linksOf[link.from].push_back(e);
    linksOf[link.to].push_back(e);
  }
  std::vector<std::pair<uint32_t, uint32_t>> dead;
  auto kill = [&](uint32_t part, uint32_t strategy) {
    if (alive[part][strategy])
      dead.emplace_back(part, strategy);
    alive[part][strategy] = 0;
  };
  for (uint32_t p = 0; p < parts.size(); ++p) {
    for (uint32_t k = 0; k < parts[p].costs.size(); ++k)
      if (parts[p].costs[k] >= forbidden)
        kill(p, k);
    for (uint32_t e : linksOf[p])
      for (uint32_t k = 0; k < parts[p].costs.size(); ++k)
        if (supports[e][links[e].from == p ? 0 : 1][k] == 0)
          kill(p, k);
  }
  for (size_t next = 0; next < dead.size(); ++next) {
    const auto [part, strategy] = dead[next];
    for (uint32_t e : linksOf[part]) {
      const Link &link = links[e];
      const Table &table = tables[link.table];
      const bool isFrom = link.from == part;
      std::vector<uint32_t> &counts = supports[e][isFrom ? 1 : 0];
      for (uint32_t k = 0; k < counts.size(); ++k)
        if (table.costs[isFrom ? strategy * table.columns + k : k * table.columns + strategy] < forbidden &&
            --counts[k] == 0)
          kill(isFrom ? link.to : link.from, k);
    }
  }
  for (const std::vector<char> &strategies : alive)
    contradictory |= std::find(strategies.begin(), strategies.end(), 1) == strategies.end();
  return !dead.empty();
}

uint32_t TilingReduction::findGroups(std::vector<uint32_t> &groupOf, std::vector<Map> &oldOf) const {
  std::vector<std::vector<uint32_t>> joining(parts.size());
  for (uint32_t e = 0; e < links.size(); ++e) {
    auto onlyOne = [&](uint32_t part, size_t end) {
      for (uint32_t k = 0; k < alive[part].size(); ++k)
        if (alive[part][k] && supports[e][end][k] != 1)
          return false;
      return true;
    };
    if (links[e].from != links[e].to && onlyOne(links[e].from, 0) && onlyOne(links[e].to, 1)) {
      joining[links[e].from].push_back(e);
      joining[links[e].to].push_back(e);
    }
  }
  groupOf.assign(parts.size(), kNone);
  oldOf.assign(parts.size(), {});
  uint32_t groups = 0;
  for (uint32_t root = 0; root < parts.size(); ++root) {
    if (groupOf[root] != kNone)
      continue;
    for (uint32_t k = 0; k < alive[root].size(); ++k)
      if (alive[root][k])
        oldOf[root].push_back(k);
    std::vector<uint32_t> reached{root};
    groupOf[root] = groups;
    for (size_t next = 0; next < reached.size(); ++next)
      for (uint32_t e : joining[reached[next]]) {
        const bool isFrom = links[e].from == reached[next];
        const uint32_t other = isFrom ? links[e].to : links[e].from;
        if (groupOf[other] != kNone)
          continue;
        const Table &table = tables[links[e].table];
        for (size_t k : oldOf[reached[next]]) {
          uint32_t partner = 0;
          while (!alive[other][partner] ||
                 table.costs[isFrom ? k * table.columns + partner : partner * table.columns + k] >= forbidden)
            ++partner;
          oldOf[other].push_back(partner);
        }
        groupOf[other] = groups;
        reached.push_back(other);
      }
    ++groups;
  }
  return groups;
}

bool TilingReduction::contract() {
  if (contradictory)
    return false;
  std::vector<uint32_t> groupOf;
  std::vector<Map> oldOf;
  std::vector<Part> joint(findGroups(groupOf, oldOf));
  const bool joined = joint.size() < parts.size();
  for (uint32_t p = 0; p < parts.size(); ++p) {
    Part &group = joint[groupOf[p]];
    group.costs.resize(oldOf[p].size());
    for (size_t k = 0; k < oldOf[p].size(); ++k)
      group.costs[k] += parts[p].costs[oldOf[p][k]];
    for (const Member &member : parts[p].members) {
      Map map;
      for (uint32_t k : oldOf[p])
        map.push_back(maps[member.map][k]);
      group.members.push_back({member.node, number(std::move(map))});
    }
  }
  contractLinks(groupOf, oldOf, joint);
  // What has no choice left is no part.
  std::vector<uint32_t> newOf(joint.size(), kNone);
  parts.clear();
  for (size_t g = 0; g < joint.size(); ++g) {
    if (joint[g].costs.size() > 1) {
      newOf[g] = static_cast<uint32_t>(parts.size());
      parts.push_back(std::move(joint[g]));
      continue;
    }
    contradictory |= joint[g].costs[0] >= forbidden;
    offset += joint[g].costs[0];
    for (const Member &member : joint[g].members)
      fixed.emplace_back(member.node, maps[member.map][0]);
  }
  for (Link &link : links)
    link = {newOf[link.from], newOf[link.to], link.table};
  return joined;
}

void TilingReduction::contractLinks(const std::vector<uint32_t> &groupOf, const std::vector<Map> &oldOf,
                                    std::vector<Part> &joint) {
  // Table, whether transposed, the maps of the sum's rows and columns.
  using Term = std::tuple<uint32_t, bool, uint32_t, uint32_t>;
  std::map<std::pair<uint32_t, uint32_t>, std::vector<Term>> between;
  for (const Link &link : links) {
    const uint32_t a = groupOf[link.from], b = groupOf[link.to];
    const Map &rows = oldOf[link.from], &columns = oldOf[link.to];
    if (a != b && rows.size() > 1 && columns.size() > 1) {
      const uint32_t from = number(rows), to = number(columns);
      between[std::minmax(a, b)].emplace_back(link.table, a > b, a > b ? to : from, a > b ? from : to);
      continue;
    }
    // Within a group, or to where there is no choice: a cost of the other end.
    const Table &table = tables[link.table];
    std::vector<double> &costs = joint[rows.size() > 1 ? a : b].costs;
    for (size_t k = 0; k < costs.size(); ++k)
      costs[k] += table.costs[rows[rows.size() > 1 ? k : 0] * table.columns + columns[columns.size() > 1 ? k : 0]];
  }
  // One table for each distinct sum.
  std::map<std::vector<Term>, uint32_t> tableOf;
  std::vector<Table> sums;
  links.clear();
  for (auto &[ends, terms] : between) {
    std::sort(terms.begin(), terms.end());
    auto [found, isNew] = tableOf.emplace(std::move(terms), static_cast<uint32_t>(sums.size()));
    links.push_back({ends.first, ends.second, found->second});
    if (!isNew)
      continue;
    const size_t rows = joint[ends.first].costs.size(), columns = joint[ends.second].costs.size();
    Table sum{columns, std::vector<double>(rows * columns)};
    for (const auto &[index, transposed, rowMap, columnMap] : found->first) {
      const Table &table = tables[index];
      for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) {
          const size_t row = maps[rowMap][r], column = maps[columnMap][c];
          double &value = sum.costs[r * columns + c];
          value = std::min(
              value + table.costs[transposed ? column * table.columns + row : row * table.columns + column], forbidden);
        }
    }
    sums.push_back(std::move(sum));
  }
  tables = std::move(sums);
}

} // namespace sluice
