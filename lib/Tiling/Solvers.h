//===- Solvers.h - The solvers of tiling problems ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_SOLVERS_H
#define SLUICE_LIB_TILING_SOLVERS_H

#include "Elimination.h"

namespace sluice {

/// A choice with its usage, cost and excess, which are updated with it.
struct TilingState {
  std::vector<uint32_t> choice;
  std::vector<double> usage; ///< For each moment.
  double cost = 0;
  double excess = 0; ///< The sum of usage above the limit over all moments.

  TilingState() = default;
  TilingState(const TilingModel &model, std::vector<uint32_t> choice);
  bool betterThan(const TilingState &other) const {
    return excess != other.excess ? excess < other.excess : cost < other.cost;
  }
};

/// The baseline. The result may exceed the limit.
TilingState solveTilingGreedily(const TilingModel &model);

struct TilingSearchResult {
  TilingState best; ///< Exceeds the limit if no other choice was found.
  double bound = 0;
  int64_t evaluations = 0;
  bool stoppedByClock = false;
  bool proven = false; ///< No choice within the limit is better, or no choice at all.
};

/// Searches large neighbourhoods, from choices that message passing finds.
TilingSearchResult searchTilingBlocks(const TilingModel &model, const TilingParams &params);

/// Solves problems that elimination can take whole. If the optimum without a limit is within the limit, it is the
/// result. Otherwise the block search runs first, followed by depth-first branch and bound. The bound of a partial
/// choice is its optimum under the best multipliers. Returns nothing if tables would be too large.
std::optional<TilingSearchResult> solveTilingExactly(const TilingModel &model, const TilingParams &params);

} // namespace sluice

#endif // SLUICE_LIB_TILING_SOLVERS_H
