//===- SizeClassPool.h - SwapAdvisor's memory pools -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A memory cut into objects of a few sizes (Huang, Jin and Li, ASPLOS 2020,
// section 4.3), and the moves of the genetic search over such cuts (section
// 5.3). TS, CLS and CNT are the paper's names; classes count from 1 as there.
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
  std::vector<int32_t> classes; ///< CLS: per size; starts at 1, rises by 0 or 1.
  std::vector<int64_t> counts;  ///< CNT: objects per class; class c at c - 1.

  bool operator==(const PoolConfig &) const = default;
};

Status check(const PoolConfig &pool);

/// Per class: its objects' size, that of its largest member.
std::vector<int64_t> classBytes(const PoolConfig &pool);
/// Sum of counts x sizes, saturating.
int64_t poolBytes(const PoolConfig &pool);
/// The class (0-based) whose objects hold `bytes`; -1 where none does.
int32_t classOf(const PoolConfig &pool, int64_t bytes);

/// Makes CLS valid: an element below its predecessor is raised to it; after a
/// jump of more than one the whole rest is lowered. CNT is left alone.
void repairClasses(std::vector<int32_t> &classes);

/// Lowers CNT until the pool fits. With K classes, each round takes
/// (excess / K) / size objects from a class, rounded up; no class goes below
/// `minimumCounts` (per class; empty: 1). Infeasible says by how much the least
/// pool exceeds the capacity.
Status repairCounts(PoolConfig &pool, int64_t capacityBytes, std::span<const int64_t> minimumCounts = {});

/// One child: CLS and the expanded CNT of `head` up to `point` sizes, of `tail`
/// from there on; CLS repaired, CNT averaged within the new classes (rounded to
/// nearest, at least 1). Both parents have the same sizes. Not yet within any
/// capacity: call repairCounts.
PoolConfig crossover(const PoolConfig &head, const PoolConfig &tail, size_t point);

/// Each step of CLS flips (0 <-> 1) with this probability, shifting the rest;
/// CNT follows the sizes.
void mutateClasses(PoolConfig &pool, double probability, Rng &rng);
/// Each count is redrawn with this probability around its value, with a
/// standard deviation of `relativeSigma` of it (but at least one object).
void mutateCounts(PoolConfig &pool, double probability, double relativeSigma, Rng &rng);

} // namespace sluice

#endif // SLUICE_MEMORY_SIZECLASSPOOL_H
