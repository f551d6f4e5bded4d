//===- EjectionSearch.h - Packing by taking others out ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A packing within the capacity that lacks some items. Each step inserts one
// of those where it displaces least; what it displaced is missing then. What is
// hard to place grows dearer to displace (ejection pools: Nagata and Braysy
// 2009, for vehicle routing).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_EJECTIONSEARCH_H
#define SLUICE_LIB_MEMORY_EJECTIONSEARCH_H

#include "Sections.h"
#include "sluice/Optimize/Budget.h"
#include "sluice/Support/Rng.h"

namespace sluice::memory {

/// Starts with `offsets` (units, per item, a packing of any height; what ends
/// above the capacity is missing at first) and goes on until the budget's
/// evaluations are used up: one is a step, or 64 items looked at. Adds them to
/// `used`. True: `offsets` are a packing within the capacity.
bool searchByEjection(const Sections &sections, int64_t capacityBytes, const Budget &budget, Rng &rng, int64_t &used,
                      std::vector<int64_t> &offsets);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_EJECTIONSEARCH_H
