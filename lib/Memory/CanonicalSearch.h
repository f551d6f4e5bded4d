//===- CanonicalSearch.h - Exact packing within a capacity ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Depth-first search over packings in canonical form, in the spirit of
// MiniMalloc (Moffitt, ASPLOS 2023): in some packing no item can be lowered, so
// an item lies at its lowest possible offset or on top of another. Each node
// keeps a lower bound of every free item's offset; it takes an item below which
// no other free item fits and either places it at its bound, or lifts the bound
// to the lowest top of a free item that it meets. A section is a machine that
// its items share, with the bounds as release times: that gives the pruning.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_CANONICALSEARCH_H
#define SLUICE_LIB_MEMORY_CANONICALSEARCH_H

#include "Sections.h"
#include "sluice/Optimize/Budget.h"

namespace sluice::memory {

/// Which section's lowest item is decided next. None dominates the others.
enum class Branching : uint8_t {
  FewestFirst, ///< The one with the fewest candidates.
  LowestFirst, ///< The one with the lowest floor: skyline order.
};

struct CanonicalParams {
  Branching branching = Branching::FewestFirst;
  /// Per item: among the candidates for a section, the lowest offset comes
  /// first, then the least rank. A permutation of the items.
  std::vector<uint32_t> rank;
  /// Rank alone decides among candidates.
  bool rankFirst = false;
};

enum class Outcome : uint8_t { Found, Infeasible, Stopped };

/// Looks for a packing within `capacityBytes` until the budget's evaluations are
/// used up: one is a node, or 256 items looked at. Adds them to `used`. Found
/// fills `offsets`, in units, per item. Infeasible is a proof. Memory is O(sections
/// met by the items, summed) and a bounded table of failed states.
Outcome searchCanonical(const Sections &sections, int64_t capacityBytes, const CanonicalParams &params,
                        const Budget &budget, int64_t &used, std::vector<int64_t> &offsets);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_CANONICALSEARCH_H
