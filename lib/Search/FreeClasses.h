//===- FreeClasses.h - Pools with any size in any class ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// SwapAdvisor's ablation (ASPLOS 2020, section 6.4): CLS without the restriction
// that it ascends by 0 or 1. Crossover needs no repair of CLS then; CNT is
// expanded, crossed and averaged as there.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SEARCH_FREECLASSES_H
#define SLUICE_LIB_SEARCH_FREECLASSES_H

#include "sluice/Memory/SizeClassPool.h"
#include "sluice/Swap/SwapPlanner.h"

#include <utility>
#include <vector>

namespace sluice {

struct FreePool {
  std::vector<int64_t> sizes; ///< TS, ascending.
  /// Per size: the size that its class's objects have, at least its own, and one
  /// that is of its own class.
  std::vector<int64_t> objectBytes;
  std::vector<int64_t> counts; ///< Per size: objects of its class.

  bool operator==(const FreePool &) const = default;
};

FreePool freePoolOf(const PoolConfig &pool);

FreePool crossover(const FreePool &head, const FreePool &tail, size_t point);
/// Each size moves to any class, or to one of its own, with this probability;
/// then counts vary as mutateCounts has it.
void mutate(FreePool &pool, double probability, double relativeSigma, Rng &rng);

/// Raises counts to what operators need and lowers them to the capacity; false
/// where that is too little.
bool fit(FreePool &pool, const SwapProblem &problem, MemoryId memory);

std::vector<ObjectClass> layoutOf(const FreePool &pool);
std::vector<std::pair<int64_t, int64_t>> classOfSize(const FreePool &pool);

} // namespace sluice

#endif // SLUICE_LIB_SEARCH_FREECLASSES_H
