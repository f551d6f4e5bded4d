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
  std::vector<int64_t> counts; ///< How often a size comes, in any unit, not negative; at most kMostCounts together.
  std::vector<int64_t> bytes;  ///< Memory that the plan for a bound takes.
  /// ns[i][j]: a step of sizes[j] by the plan for bound sizes[i], j <= i; at most kMostNs.
  std::vector<std::vector<int64_t>> ns;

  static constexpr int64_t kMostCounts = int64_t(1) << 20, kMostNs = int64_t(1) << 42;
};

struct BucketChoice {
  std::vector<int64_t> bounds; ///< Ascending, of the problem's sizes.
  double meanNs = 0;           ///< Expected time of a step.
  double meanBytes = 0;        ///< Expected memory of a step.
};

/// The choices of a dimension's bounds, by how many there may be.
struct BucketTable {
  std::string symbol; ///< The dimension.
  std::vector<BucketChoice> choices;
};

/// The best choices of one bound, of at most two, and so on to `most`: none of so many bounds has a smaller expected
/// time, nor, at this time, smaller expected memory. Exact, by dynamic programming over the sizes, O(most x sizes^2).
/// Entry k - 1 is that of at most k bounds. Needs a size.
std::vector<BucketChoice> chooseBuckets(const BucketProblem &problem, size_t most);

/// The sizes of a file, integers with white space between them, each as often as it comes. Fails naming the line of
/// what is no size of `least`, `least` + `step` and so on to `most`, and on a file without sizes.
Expected<std::vector<int64_t>> readSizes(const std::string &path, int64_t least, int64_t most, int64_t step);

} // namespace sluice

#endif // SLUICE_SEARCH_BUCKETS_H
