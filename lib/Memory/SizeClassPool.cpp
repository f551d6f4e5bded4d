//===- SizeClassPool.cpp - SwapAdvisor's memory pools ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Memory/SizeClassPool.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>

using namespace sluice;

Status sluice::check(const PoolConfig &pool) {
  if (pool.sizes.size() != pool.classes.size())
    return makeError(ErrorCode::InvalidInput, "the pool has ", pool.sizes.size(), " sizes and ", pool.classes.size(),
                     " class entries, give one entry for each size");
  int32_t numClasses = pool.classes.empty() ? 0 : pool.classes.back();
  for (size_t i = 0; i < pool.sizes.size(); ++i) {
    if (pool.sizes[i] <= 0 || (i > 0 && pool.sizes[i] <= pool.sizes[i - 1]))
      return makeError(ErrorCode::InvalidInput, "pool size ", pool.sizes[i], " at position ", i,
                       " is not positive or not above the previous size, give positive ascending sizes");
    int64_t step = i == 0 ? int64_t(pool.classes[0]) - 1 : int64_t(pool.classes[i]) - pool.classes[i - 1];
    if (step < 0 || step > (i == 0 ? 0 : 1))
      return makeError(ErrorCode::InvalidInput, "pool class ", pool.classes[i], " at position ", i,
                       " is out of order, give classes that start at 1 and rise by 0 or 1");
  }
  if (pool.counts.size() != static_cast<size_t>(numClasses))
    return makeError(ErrorCode::InvalidInput, "the pool has ", pool.counts.size(), " counts for ", numClasses,
                     " classes, give one count for each class");
  for (int64_t count : pool.counts)
    if (count < 0)
      return makeError(ErrorCode::InvalidInput, "the pool has a class with ", count,
                       " objects, give each class at least 0");
  return {};
}

std::vector<int64_t> sluice::classBytes(const PoolConfig &pool) {
  std::vector<int64_t> bytes(pool.classes.empty() ? 0 : static_cast<size_t>(pool.classes.back()), 0);
  for (size_t i = 0; i < pool.sizes.size(); ++i)
    bytes[static_cast<size_t>(pool.classes[i]) - 1] = pool.sizes[i];
  return bytes;
}

static int64_t totalBytes(std::span<const int64_t> counts, std::span<const int64_t> bytes) {
  int64_t total = 0;
  for (size_t c = 0; c < counts.size(); ++c)
    total = saturatingAdd(total, saturatingMul(counts[c], bytes[c]));
  return total;
}

int64_t sluice::poolBytes(const PoolConfig &pool) { return totalBytes(pool.counts, classBytes(pool)); }

int32_t sluice::classOf(const PoolConfig &pool, int64_t bytes) {
  auto at = std::lower_bound(pool.sizes.begin(), pool.sizes.end(), bytes);
  return at == pool.sizes.end() ? -1 : pool.classes[static_cast<size_t>(at - pool.sizes.begin())] - 1;
}

void sluice::repairClasses(std::vector<int32_t> &classes) {
  int64_t shift = 0;
  int32_t previous = 1;
  for (size_t i = 0; i < classes.size(); ++i) {
    int64_t value = int64_t(classes[i]) + shift;
    int32_t limit = i == 0 ? 1 : previous + 1;
    if (value > limit) {
      shift -= value - limit;
      value = limit;
    }
    previous = static_cast<int32_t>(std::max<int64_t>(value, previous));
    classes[i] = previous;
  }
}

Status sluice::repairCounts(PoolConfig &pool, int64_t capacityBytes, std::span<const int64_t> minimumCounts) {
  std::vector<int64_t> bytes = classBytes(pool);
  size_t numClasses = bytes.size();
  std::vector<int64_t> minimum(minimumCounts.begin(), minimumCounts.end());
  minimum.resize(numClasses, 1);
  int64_t least = totalBytes(minimum, bytes);
  if (least > capacityBytes)
    return makeError(ErrorCode::Infeasible, "the smallest pool of ", numClasses, " classes needs ", formatBytes(least),
                     ", which is ", least - capacityBytes, " bytes more than the capacity of ",
                     formatBytes(capacityBytes), ", raise the capacity");
  for (size_t c = 0; c < numClasses; ++c)
    pool.counts[c] = std::max(pool.counts[c], minimum[c]);
  // Each round takes at least one object while any class is above its minimum,
  // and about 1/K of the excess: at most K + log rounds matter.
  for (;;) {
    int64_t excess = totalBytes(pool.counts, bytes) - capacityBytes;
    if (excess <= 0)
      return {};
    for (size_t c = 0; c < numClasses; ++c) {
      double share = static_cast<double>(excess) / static_cast<double>(numClasses) / static_cast<double>(bytes[c]);
      int64_t taken = static_cast<int64_t>(std::ceil(std::min(share, 9e18)));
      pool.counts[c] -= std::min(taken, pool.counts[c] - minimum[c]);
    }
  }
}

/// Fills CNT from one count a size: the average over each class.
static void averageCounts(PoolConfig &pool, std::span<const double> countOfSize) {
  size_t numClasses = pool.classes.empty() ? 0 : static_cast<size_t>(pool.classes.back());
  std::vector<double> sum(numClasses, 0);
  std::vector<int64_t> members(numClasses, 0);
  for (size_t i = 0; i < pool.classes.size(); ++i) {
    size_t c = static_cast<size_t>(pool.classes[i]) - 1;
    sum[c] += countOfSize[i];
    ++members[c];
  }
  pool.counts.assign(numClasses, 1);
  for (size_t c = 0; c < numClasses; ++c)
    pool.counts[c] = std::max<int64_t>(1, std::llround(sum[c] / static_cast<double>(members[c])));
}

static std::vector<double> expandCounts(const PoolConfig &pool) {
  std::vector<double> counts(pool.sizes.size());
  for (size_t i = 0; i < counts.size(); ++i)
    counts[i] = static_cast<double>(pool.counts[static_cast<size_t>(pool.classes[i]) - 1]);
  return counts;
}

PoolConfig sluice::crossover(const PoolConfig &head, const PoolConfig &tail, size_t point) {
  PoolConfig child = tail;
  point = std::min(point, head.classes.size());
  std::copy_n(head.classes.begin(), point, child.classes.begin());
  repairClasses(child.classes);
  std::vector<double> counts = expandCounts(tail), headCounts = expandCounts(head);
  std::copy_n(headCounts.begin(), point, counts.begin());
  averageCounts(child, counts);
  return child;
}

void sluice::mutateClasses(PoolConfig &pool, double probability, Rng &rng) {
  std::vector<double> counts = expandCounts(pool);
  int32_t shift = 0, previousOld = 1;
  for (size_t i = 1; i < pool.classes.size(); ++i) {
    int32_t old = pool.classes[i];
    if (rng.chance(probability))
      shift += old == previousOld ? 1 : -1;
    pool.classes[i] = old + shift;
    previousOld = old;
  }
  averageCounts(pool, counts);
}

void sluice::mutateCounts(PoolConfig &pool, double probability, double relativeSigma, Rng &rng) {
  for (int64_t &count : pool.counts) {
    if (!rng.chance(probability))
      continue;
    double sigma = std::max(1.0, relativeSigma * static_cast<double>(count));
    double drawn = static_cast<double>(count) + sigma * rng.normal();
    count = std::llround(std::clamp(drawn, 1.0, 1e15));
  }
}
