//===- FreeClasses.h - Pools with any size in any class ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An ablation of the SwapAdvisor paper (ASPLOS 2020, section 6.4): CLS without the
// restriction that it ascends by 0 or 1. Crossover then needs no repair of CLS. CNT is
// expanded, crossed and averaged as in the paper.
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
  /// For each size: the size of the objects of its class. It is at least the size itself,
  /// and is a size of the same class.
  std::vector<int64_t> objectBytes;
  std::vector<int64_t> counts; ///< For each size: the number of objects of its class.

  bool operator==(const FreePool &) const = default;
};

FreePool freePoolOf(const PoolConfig &pool);

FreePool crossover(const FreePool &head, const FreePool &tail, size_t point);
/// Each size moves with this probability to a random class, or to a class of its own. Counts
/// then vary as in mutateCounts.
void mutate(FreePool &pool, double probability, double relativeSigma, Rng &rng);

/// Raises counts to the needs of operators, and lowers them to the capacity. Returns false
/// if the capacity is too small.
bool fit(FreePool &pool, const SwapProblem &problem, MemoryId memory);

std::vector<ObjectClass> layoutOf(const FreePool &pool);
std::vector<std::pair<int64_t, int64_t>> classOfSize(const FreePool &pool);

} // namespace sluice

#endif // SLUICE_LIB_SEARCH_FREECLASSES_H
