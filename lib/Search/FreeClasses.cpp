//===- FreeClasses.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "FreeClasses.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sluice {

/// Sizes with one label are one class: its objects are as large as its largest
/// member, their number is the members' average.
static FreePool fromLabels(const std::vector<int64_t> &sizes, const std::vector<int64_t> &labels,
                           const std::vector<int64_t> &counts) {
  struct Members {
    int64_t largest = 0, number = 0;
    double sum = 0;
  };
  std::map<int64_t, Members> classes;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Members &members = classes[labels[i]];
    members.largest = std::max(members.largest, sizes[i]);
    members.sum += static_cast<double>(counts[i]);
    ++members.number;
  }
  FreePool pool;
  pool.sizes = sizes;
  for (int64_t label : labels) {
    const Members &members = classes[label];
    pool.objectBytes.push_back(members.largest);
    pool.counts.push_back(std::max<int64_t>(1, std::llround(members.sum / static_cast<double>(members.number))));
  }
  return pool;
}

FreePool freePoolOf(const PoolConfig &pool) {
  const std::vector<int64_t> bytes = classBytes(pool);
  FreePool result;
  result.sizes = pool.sizes;
  for (int32_t c : pool.classes) {
    result.objectBytes.push_back(bytes[static_cast<size_t>(c) - 1]);
    result.counts.push_back(pool.counts[static_cast<size_t>(c) - 1]);
  }
  return result;
}

FreePool crossover(const FreePool &head, const FreePool &tail, size_t point) {
  // A class is known by its objects' size: no two have the same.
  std::vector<int64_t> labels = tail.objectBytes, counts = tail.counts;
  point = std::min(point, labels.size());
  std::copy_n(head.objectBytes.begin(), point, labels.begin());
  std::copy_n(head.counts.begin(), point, counts.begin());
  return fromLabels(tail.sizes, labels, counts);
}

void mutate(FreePool &pool, double probability, double relativeSigma, Rng &rng) {
  std::vector<int64_t> labels = pool.objectBytes;
  for (int64_t &label : labels)
    if (rng.chance(probability))
      label = pool.sizes[rng.below(pool.sizes.size())];
  pool = fromLabels(pool.sizes, labels, pool.counts);
  std::map<int64_t, int64_t> countOf;
  for (size_t i = 0; i < pool.sizes.size(); ++i)
    countOf[pool.objectBytes[i]] = pool.counts[i];
  PoolConfig counts;
  for (auto [bytes, count] : countOf)
    counts.counts.push_back(count);
  mutateCounts(counts, probability, relativeSigma, rng);
  size_t next = 0;
  for (auto &[bytes, count] : countOf)
    count = counts.counts[next++];
  for (size_t i = 0; i < pool.sizes.size(); ++i)
    pool.counts[i] = countOf[pool.objectBytes[i]];
}

bool fit(FreePool &pool, const SwapProblem &problem, MemoryId memory) {
  std::vector<ObjectClass> classes = layoutOf(pool);
  PoolConfig config;
  for (const ObjectClass &c : classes) {
    config.sizes.push_back(c.bytes);
    config.classes.push_back(static_cast<int32_t>(config.sizes.size()));
    config.counts.push_back(c.count);
  }
  const std::vector<int64_t> least = minimumObjects(problem, memory, config.sizes, classOfSize(pool));
  if (!repairCounts(config, problem.capacityBytes[memory.index()], least))
    return false;
  for (size_t i = 0; i < pool.sizes.size(); ++i) {
    auto at = std::lower_bound(config.sizes.begin(), config.sizes.end(), pool.objectBytes[i]);
    pool.counts[i] = config.counts[static_cast<size_t>(at - config.sizes.begin())];
  }
  return true;
}

std::vector<ObjectClass> layoutOf(const FreePool &pool) {
  std::map<int64_t, int64_t> countOf;
  for (size_t i = 0; i < pool.sizes.size(); ++i)
    countOf[pool.objectBytes[i]] = pool.counts[i];
  std::vector<ObjectClass> classes;
  for (auto [bytes, count] : countOf)
    classes.push_back({bytes, count});
  return classes;
}

std::vector<std::pair<int64_t, int64_t>> classOfSize(const FreePool &pool) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  for (size_t i = 0; i < pool.sizes.size(); ++i)
    pairs.emplace_back(pool.sizes[i], pool.objectBytes[i]);
  return pairs;
}

} // namespace sluice
