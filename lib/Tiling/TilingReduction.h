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

/// Takes out of a problem what is decided whatever the rest is: rounds of arc
/// consistency (AC-4: Mohr and Henderson 1986) and of joining nodes whose strategies
/// an edge allows only one to one, until nothing changes. Costs of `forbidden` forbid.
class TilingReduction {
public:
  TilingReduction(const TilingProblem &problem, double forbidden);

  using Map = std::vector<uint32_t>; ///< Per strategy, another's.
  /// A node of the problem, and the map of a part's strategies to its.
  struct Member {
    uint32_t node = 0, map = 0;
  };
  /// Nodes that choose as one; of at least two strategies.
  struct Part {
    std::vector<double> costs;
    std::vector<Member> members;
  };
  struct Table {
    size_t columns = 0;
    std::vector<double> costs; ///< Row-major.
  };
  /// At most one between two parts, from < to; rows are from's.
  struct Link {
    uint32_t from = 0, to = 0, table = 0;
  };

  std::vector<Part> parts; ///< By their first members.
  std::vector<Link> links;
  std::vector<Table> tables;
  std::vector<Map> maps;
  std::vector<std::pair<uint32_t, uint32_t>> fixed; ///< Nodes of the problem and their only strategy.
  double offset = 0;                                ///< The cost of what is fixed.
  bool contradictory = false;                       ///< No choice is allowed; the rest is not complete then.

private:
  const double forbidden;
  std::map<Map, uint32_t> mapNumbers;
  std::vector<std::vector<char>> alive;                       ///< Per part and strategy.
  std::vector<std::array<std::vector<uint32_t>, 2>> supports; ///< Per link, end and strategy: partners alive.

  uint32_t number(Map map);
  /// Strategies that some edge has no partner for are no longer alive; true if there were any.
  bool prune();
  /// Per part, which group it joins, and its strategy for each of the group's. Returns the groups' number.
  uint32_t findGroups(std::vector<uint32_t> &groupOf, std::vector<Map> &oldOf) const;
  /// Makes parts of groups; true if any joins several. What is not alive is gone.
  bool contract();
  void contractLinks(const std::vector<uint32_t> &groupOf, const std::vector<Map> &oldOf, std::vector<Part> &joint);
};

} // namespace sluice

#endif // SLUICE_LIB_TILING_TILINGREDUCTION_H
