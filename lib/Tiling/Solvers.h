//===- Solvers.h - The solvers of tiling problems ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_TILING_SOLVERS_H
#define SLUICE_LIB_TILING_SOLVERS_H

#include "Elimination.h"

namespace sluice {

/// A choice with what it amounts to, kept as it changes.
struct TilingState {
  std::vector<uint32_t> choice;
  std::vector<double> usage; ///< Per moment.
  double cost = 0;
  double excess = 0; ///< The sum over moments of what is above the limit.

  TilingState() = default;
  TilingState(const TilingModel &model, std::vector<uint32_t> choice);
  bool betterThan(const TilingState &other) const {
    return excess != other.excess ? excess < other.excess : cost < other.cost;
  }
};

/// The baseline: may exceed the limit.
TilingState solveTilingGreedily(const TilingModel &model);

struct TilingSearchResult {
  TilingState best; ///< May exceed the limit, where nothing else was found.
  double bound = 0;
  int64_t evaluations = 0;
  bool stoppedByClock = false;
  bool proven = false; ///< Nothing is better: within the limit, or at all.
};

/// Walks through large neighbourhoods, from what message passing finds.
TilingSearchResult searchTilingBlocks(const TilingModel &model, const TilingParams &params);

/// Where elimination takes the whole problem at once: its optimum where that keeps
/// within the limit; else the block search's, then depth-first branch and bound,
/// where the bound of a partial choice is its optimum under the best multipliers.
/// Nothing where tables would be too large.
std::optional<TilingSearchResult> solveTilingExactly(const TilingModel &model, const TilingParams &params);

} // namespace sluice

#endif // SLUICE_LIB_TILING_SOLVERS_H
