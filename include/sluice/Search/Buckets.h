//===- Buckets.h - Sizes that share a plan ----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_BUCKETS_H
#define SLUICE_SEARCH_BUCKETS_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice {

/// The problem of choosing buckets for one dimension. A bucket is a set of sizes that has a plan of its own; its bound
/// is the largest of these sizes. The problem has the sizes that the dimension can have, their frequencies, and the
/// memory and times of steps. Entry i of each list belongs to sizes[i].
struct BucketProblem {
  std::vector<int64_t> sizes;  ///< Ascending. Every size may be a bound. The last size is a bound in every choice.
  std::vector<int64_t> counts; ///< Frequency of each size, in any unit, not negative; their sum is at most kMostCounts.
  std::vector<int64_t> bytes;  ///< Memory that the plan for the bound sizes[i] uses.
  /// ns[i][j]: time of a step of size sizes[j] with the plan for the bound sizes[i], j <= i; at most kMostNs.
  std::vector<std::vector<int64_t>> ns;

  static constexpr int64_t kMostCounts = int64_t(1) << 20, kMostNs = int64_t(1) << 42;
};

struct BucketChoice {
  std::vector<int64_t> bounds; ///< Sizes of the problem, ascending.
  double meanNs = 0;           ///< Expected time of a step.
  double meanBytes = 0;        ///< Expected memory of a step.
};

/// The best choices of bounds for one dimension, by the number of bounds.
struct BucketTable {
  std::string symbol; ///< The dimension.
  std::vector<BucketChoice> choices;
};

/// The best choices of at most 1, 2, ..., `most` bounds; entry k - 1 has at most k bounds. The best choice has the
/// smallest expected time. Tie-break: the smallest expected memory. The result is exact, by dynamic programming over
/// the sizes in O(most x sizes^2). Requires at least one size.
std::vector<BucketChoice> chooseBuckets(const BucketProblem &problem, size_t most);

/// Reads a file of sizes: integers separated by white space, where each size is repeated as often as it occurs in
/// practice. Returns them in ascending order. A size must be one of `least`, `least` + `step` and so on to `most`.
/// Fails, naming the line, on anything else. Also fails on a file without sizes or with more than
/// BucketProblem::kMostCounts of them.
Expected<std::vector<int64_t>> readSizes(const std::string &path, int64_t least, int64_t most, int64_t step);

} // namespace sluice

#endif // SLUICE_SEARCH_BUCKETS_H
