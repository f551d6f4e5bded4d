//===- CanonicalSearch.h - Exact packing within a capacity ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The search is a depth-first search over packings in canonical form, as in MiniMalloc
// (Moffitt, ASPLOS 2023). If there is a packing, there is also one in which no item can
// be lowered. In it, every item is at its lowest possible offset or directly on top of
// another item. Each node of the search has a lower bound of the offset of every free
// item. It chooses an item below which no other free item fits. The item is either
// placed at its bound, or its bound is raised to the lowest top of a free item that it
// meets. The items of a section share a machine, as jobs do, and the bounds are their
// release times. Bounds of scheduling on one machine therefore prune the search.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_CANONICALSEARCH_H
#define SLUICE_LIB_MEMORY_CANONICALSEARCH_H

#include "Sections.h"
#include "sluice/Optimize/Budget.h"

namespace sluice::memory {

/// The section whose lowest item is decided next. No rule dominates the others.
enum class Branching : uint8_t {
  FewestFirst, ///< The section with the fewest candidates.
  LowestFirst, ///< The section with the lowest floor, which is the skyline order.
};

struct CanonicalParams {
  Branching branching = Branching::FewestFirst;
  /// A permutation of the items. Among the candidates of a section, the one with the
  /// lowest offset comes first. Ties are decided by the least rank.
  std::vector<uint32_t> rank;
  /// Only the rank decides among candidates.
  bool rankFirst = false;
};

enum class Outcome : uint8_t { Found, Infeasible, Stopped };

/// Looks for a packing within `capacityBytes` until the evaluations of the budget are
/// used. An evaluation is a node, or a look at 256 items. Adds the evaluations to `used`.
/// Found fills `offsets` with the offset of each item in units. Infeasible is a proof.
/// The memory is proportional to the sum of the sections of all items. In addition there
/// is a bounded table of failed states.
Outcome searchCanonical(const Sections &sections, int64_t capacityBytes, const CanonicalParams &params,
                        const Budget &budget, int64_t &used, std::vector<int64_t> &offsets);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_CANONICALSEARCH_H
