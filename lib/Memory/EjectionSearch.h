//===- EjectionSearch.h - Packing by taking others out ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The search changes a packing within the capacity from which some items are missing.
// Each step inserts one missing item where it displaces the items of least cost. The
// displaced items are missing then. The cost of an item grows whenever it was hard to
// place (ejection pools: Nagata and Braysy 2009, for vehicle routing).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_EJECTIONSEARCH_H
#define SLUICE_LIB_MEMORY_EJECTIONSEARCH_H

#include "PlacedItems.h"
#include "sluice/Optimize/Budget.h"
#include "sluice/Support/Rng.h"

#include <queue>

namespace sluice::memory {

/// The cost of displacing an item is a power of its area, times a factor that grows in
/// each step in which the item had to displace others.
struct DisplacementCost {
  double exponent = 0.5;
  double growth = 1.02;
};

class EjectionSearch {
public:
  /// `offsets` (in units, per item) are a packing of any height. Items that end above the capacity are missing at
  /// first. The sections must outlive the object.
  EjectionSearch(const Sections &sections, int64_t capacityBytes, DisplacementCost how, Rng rng,
                 std::vector<int64_t> offsets);

  /// Searches until no item is missing (returns true), or until the evaluations of the budget are used. An evaluation
  /// is a step, or a look at 64 items. Adds the evaluations to `used`.
  bool run(const Budget &budget, int64_t &used);
  /// The offset of each item, once no item is missing.
  const std::vector<int64_t> &packing() const { return offsets; }

private:
  struct Neighbour {
    int64_t offset, end;
    double cost;
    uint32_t id;
  };
  void insert(uint32_t i);

  const std::vector<Item> &items;
  double growth;
  Rng rng;
  std::vector<int64_t> offsets;
  std::vector<int64_t> highest;      ///< Per item: the highest offset within the capacity; negative if there is none.
  std::vector<double> cost, penalty; ///< Per item: the cost of displacing it is the product of both.
  PlacedItems placed;
  std::priority_queue<std::pair<double, uint32_t>> missing;
  std::vector<Neighbour> met;
  std::vector<std::pair<int64_t, double>> tops;
};

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_EJECTIONSEARCH_H
