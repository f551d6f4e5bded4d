//===- TilingReduction.h - A tiling problem with fewer nodes ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_TILINGREDUCTION_H
#define SLUICE_LIB_TILING_TILINGREDUCTION_H

#include "sluice/Tiling/Tiling.h"

#include <array>
#include <map>

namespace sluice {

/// Removes the decisions that do not depend on the rest of a problem. Rounds of arc
/// consistency (AC-4: Mohr and Henderson 1986) alternate with joining nodes whose
/// strategies an edge allows only one to one, until nothing changes. A cost of `forbidden`
/// or more forbids a pair.
class TilingReduction {
public:
  TilingReduction(const TilingProblem &problem, double forbidden);

  using Map = std::vector<uint32_t>; ///< A strategy of another node for each strategy.
  /// A node of the problem, and the map from strategies of the part to its strategies.
  struct Member {
    uint32_t node = 0, map = 0;
  };
  /// Nodes that have one choice together, with at least two strategies.
  struct Part {
    std::vector<double> costs;
    std::vector<Member> members;
  };
  struct Table {
    size_t columns = 0;
    std::vector<double> costs; ///< Row-major.
  };
  /// There is at most one link between two parts, with from < to. Rows belong to `from`.
  struct Link {
    uint32_t from = 0, to = 0, table = 0;
  };

  std::vector<Part> parts; ///< In the order of their first members.
  std::vector<Link> links;
  std::vector<Table> tables;
  std::vector<Map> maps;
  std::vector<std::pair<uint32_t, uint32_t>> fixed; ///< Nodes of the problem and their only strategy.
  double offset = 0;                                ///< The cost of the fixed nodes.
  bool contradictory = false;                       ///< No choice is allowed. The rest is not complete then.

private:
  const double forbidden;
  std::map<Map, uint32_t> mapNumbers;
  std::vector<std::vector<char>> alive; ///< For each part and strategy.
  std::vector<std::array<std::vector<uint32_t>, 2>>
      supports; ///< For each link, end and strategy: the number of partners that are alive.

  uint32_t number(Map map);
  /// Marks strategies without a partner on some edge as not alive. Returns whether there were any.
  bool prune();
  /// Finds the group of each part, and its strategy for each strategy of the group. Returns the number of groups.
  uint32_t findGroups(std::vector<uint32_t> &groupOf, std::vector<Map> &oldOf) const;
  /// Makes a part of each group, without strategies that are not alive. Returns whether any group joins several parts.
  bool contract();
  void contractLinks(const std::vector<uint32_t> &groupOf, const std::vector<Map> &oldOf, std::vector<Part> &joint);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_TILINGREDUCTION_H
