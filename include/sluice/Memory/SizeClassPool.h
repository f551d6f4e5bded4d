//===- SizeClassPool.h - SwapAdvisor's memory pools -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A memory cut into objects of a few sizes (Huang, Jin and Li, ASPLOS 2020,
// section 4.3), and the moves of the genetic search over such cuts (section
// 5.3). TS, CLS and CNT are the paper's names. In PoolConfig::classes, classes are numbered
// from 1 as in the paper; all functions number them from 0.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_MEMORY_SIZECLASSPOOL_H
#define SLUICE_MEMORY_SIZECLASSPOOL_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Rng.h"

#include <span>
#include <vector>

namespace sluice {

struct PoolConfig {
  std::vector<int64_t> sizes;   ///< TS: tensor sizes in bytes, ascending, each once.
  std::vector<int32_t> classes; ///< CLS: per size its class, from 1; each entry equals its predecessor or is one more.
  std::vector<int64_t> counts;  ///< CNT: objects per class; class c of CLS has the index c - 1.

  bool operator==(const PoolConfig &) const = default;
};

Status check(const PoolConfig &pool);

/// Per class: the size of its objects in bytes, which is the largest size in the class.
std::vector<int64_t> classBytes(const PoolConfig &pool);
/// Sum of counts x sizes, saturating.
int64_t poolBytes(const PoolConfig &pool);
/// The index (from 0) of the class whose objects can hold `bytes`; -1 if there is none.
int32_t classOf(const PoolConfig &pool, int64_t bytes);

/// Makes CLS valid. An element that is smaller than its predecessor is set equal to it. If an element exceeds its
/// predecessor by more than 1, this element and all later ones are lowered by the same number, so that this element
/// exceeds its predecessor by 1. CNT does not change.
void repairClasses(std::vector<int32_t> &classes);

/// Raises CNT to `minimumCounts` (per class; all are 1 if empty), and then lowers it until the pool fits. With K
/// classes, each round removes (excess / K) / size objects, rounded up, from each class, but not below `minimumCounts`.
/// The excess is the number of bytes above the capacity. Fails with Infeasible, giving the bytes by which the pool with
/// `minimumCounts` exceeds the capacity.
Status repairCounts(PoolConfig &pool, int64_t capacityBytes, std::span<const int64_t> minimumCounts = {});

/// Makes one child. First, CNT of both parents is expanded: each size gets the count of its class. The child takes
/// CLS and CNT of `head` for the first `point` sizes, and those of `tail` for the others. CLS is repaired, and CNT is
/// averaged within the new classes (rounded to nearest, at least 1). Both parents must have the same sizes. The child
/// may exceed the capacity: call repairCounts.
PoolConfig crossover(const PoolConfig &head, const PoolConfig &tail, size_t point);

/// Each entry of CLS is equal to its predecessor or one more. With the given probability, an entry changes from one of
/// these two cases to the other, and all later entries change by one. CNT is recomputed so that each size keeps about
/// its number of objects.
void mutateClasses(PoolConfig &pool, double probability, Rng &rng);
/// Changes each count with the given probability: the new count is drawn from a normal distribution around the old one.
/// The standard deviation is `relativeSigma` times the old count, but at least one object.
void mutateCounts(PoolConfig &pool, double probability, double relativeSigma, Rng &rng);

} // namespace sluice

#endif // SLUICE_MEMORY_SIZECLASSPOOL_H
