//===- StaticLayout.h - Addresses for when all fits -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_STATICLAYOUT_H
#define SLUICE_LIB_SWAP_STATICLAYOUT_H

#include "ProblemIndex.h"

namespace sluice::swap {

/// Lengthens stays by the estimated times of copies in and out and of exchanges with other
/// ranks, if operators run without a pause. No address then has to wait for a copy. In the
/// host's memory nothing is copied.
std::vector<Stay> timedStays(const ProblemIndex &index, MemoryId memory, std::vector<Stay> stays);

struct StaticLayout {
  std::vector<int64_t> offsets; ///< For each stay.
  int64_t peakBytes = 0;
};

/// Packs the stays by first fit in several orders, and returns the lowest packing. Stops
/// early at the lower bound. After the first two orders, also stops within
/// `capacityBytes`. Stays of the whole order go to the bottom. The result may exceed the
/// capacity.
StaticLayout packStays(const ProblemIndex &index, std::span<const Stay> stays, int64_t capacityBytes);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_STATICLAYOUT_H
