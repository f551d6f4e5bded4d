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

/// What is known of the sizes that a dimension will have, and of a step at each. Entry i is of sizes[i].
struct BucketProblem {
  std::vector<int64_t> sizes;  ///< Ascending. Each may be a bound; the last one is, in every choice.
  std::vector<int64_t> counts; ///< Frequency of each size, in any unit, not negative; their sum is at most kMostCounts.
  std::vector<int64_t> bytes;  ///< Memory that the plan for each bound uses.
  /// ns[i][j]: time of a step of sizes[j] with the plan for bound sizes[i], j <= i; at most kMostNs.
  std::vector<std::vector<int64_t>> ns;

  static constexpr int64_t kMostCounts = int64_t(1) << 20, kMostNs = int64_t(1) << 42;
};

struct BucketChoice {
  std::vector<int64_t> bounds; ///< Ascending, of the problem's sizes.
  double meanNs = 0;           ///< Expected time of a step.
  double meanBytes = 0;        ///< Expected memory of a step.
};

/// The best choices of a dimension's bounds, by their number.
struct BucketTable {
  std::string symbol; ///< The dimension.
  std::vector<BucketChoice> choices;
};

/// The best choices of at most 1, 2, ..., `most` bounds; entry k - 1 has at most k bounds. A choice has the smallest
/// expected time, and among choices with this time the smallest expected memory. Exact, by dynamic programming over the
/// sizes, O(most x sizes^2). Requires at least one size.
std::vector<BucketChoice> chooseBuckets(const BucketProblem &problem, size_t most);

/// Reads the sizes of a file: integers separated by white space, each as often as it occurs in practice. A size must be
/// one of `least`, `least` + `step` and so on to `most`. Fails, naming the line, on anything else, and on a file
/// without sizes.
Expected<std::vector<int64_t>> readSizes(const std::string &path, int64_t least, int64_t most, int64_t step);

} // namespace sluice

#endif // SLUICE_SEARCH_BUCKETS_H
