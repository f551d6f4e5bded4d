//===- Buckets.cpp - Sizes that share a plan ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A bucket is a sequence of sizes that ends at the bucket's bound. The cost of a choice is the sum of the costs of its
// buckets. The best choice of k bounds whose last bound is size i therefore consists of a best choice of k - 1 bounds
// that ends at a smaller size j, and of the bucket between j and i: best[k][i] = min over j < i of best[k - 1][j] +
// cost(j, i).
//
//===----------------------------------------------------------------------===//
#include "sluice/Search/Buckets.h"

#include "sluice/Support/Json.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <numeric>

namespace sluice {

namespace {

/// Sums over all steps; compared by time, then by memory.
struct Cost {
  int64_t ns = 0;
  double byteSum = 0;
  auto operator<=>(const Cost &) const = default;
  Cost operator+(const Cost &other) const { return {ns + other.ns, byteSum + other.byteSum}; }
};

struct Entry {
  Cost cost;
  size_t before = 0; ///< The size at which the choice without this bucket ends.
};

} // namespace

std::vector<BucketChoice> chooseBuckets(const BucketProblem &problem, size_t most) {
  const size_t n = problem.sizes.size();
  const int64_t total = std::max<int64_t>(std::accumulate(problem.counts.begin(), problem.counts.end(), int64_t(0)), 1);
  // cost[i][j]: the bucket of sizes j to i.
  std::vector<std::vector<Cost>> cost(n);
  for (size_t i = 0; i < n; ++i) {
    cost[i].resize(i + 1);
    Cost sum;
    for (size_t j = i + 1; j-- > 0;) {
      const Cost own{problem.counts[j] * problem.ns[i][j],
                     static_cast<double>(problem.counts[j]) * static_cast<double>(problem.bytes[i])};
      sum = sum + own;
      cost[i][j] = sum;
    }
  }
  std::vector<std::vector<Entry>> best(1, std::vector<Entry>(n));
  for (size_t i = 0; i < n; ++i)
    best[0][i].cost = cost[i][0];
  for (size_t k = 1; k < std::min(most, n); ++k) {
    best.emplace_back(n);
    for (size_t i = k; i < n; ++i)
      for (size_t j = k - 1; j < i; ++j)
        if (const Cost with = best[k - 1][j].cost + cost[i][j + 1]; j == k - 1 || with < best[k][i].cost)
          best[k][i] = {with, j};
  }
  std::vector<BucketChoice> choices;
  for (size_t k = 0; k < best.size(); ++k) {
    if (k > 0 && !(best[k][n - 1].cost < best[k - 1][n - 1].cost)) {
      // More bounds are no gain.
      best[k][n - 1] = best[k - 1][n - 1];
      choices.push_back(choices.back());
      continue;
    }
    BucketChoice &choice = choices.emplace_back();
    size_t at = n - 1;
    choice.meanNs = static_cast<double>(best[k][at].cost.ns) / static_cast<double>(total);
    choice.meanBytes = best[k][at].cost.byteSum / static_cast<double>(total);
    for (size_t left = k + 1; left-- > 0;) {
      choice.bounds.push_back(problem.sizes[at]);
      at = best[left][at].before;
    }
    std::reverse(choice.bounds.begin(), choice.bounds.end());
  }
  while (choices.size() < most && !choices.empty())
    choices.push_back(choices.back());
  return choices;
}

Expected<std::vector<int64_t>> readSizes(const std::string &path, int64_t least, int64_t most, int64_t step) {
  constexpr int64_t kMostBytes = 64 << 20;
  SLUICE_ASSIGN_OR_RETURN(std::string text, readFile(path, kMostBytes));
  std::vector<int64_t> sizes;
  int64_t line = 1;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    if (end > at) {
      const std::string_view word = std::string_view(text).substr(at, end - at);
      Expected<int64_t> size = parseInteger(word);
      if (!size || *size < least || *size > most || (*size - least) % step != 0)
        return makeError(ErrorCode::InvalidInput, "'", excerpt(word),
                         "' is not an allowed size of the dimension with buckets, line ", line, " of '", path,
                         "', write integers from ", least, " to ", most,
                         step == 1 ? "" : concat(" in steps of ", step));
      sizes.push_back(*size);
    }
    line += end < text.size() && text[end] == '\n' ? 1 : 0;
    at = end + 1;
  }
  if (sizes.empty())
    return makeError(ErrorCode::InvalidInput, "the file has no sizes, '", path, "', write one size for each step");
  if (sizes.size() > static_cast<size_t>(BucketProblem::kMostCounts))
    return makeError(ErrorCode::Unsupported, "'", path, "' has ", sizes.size(), " sizes, and at most ",
                     BucketProblem::kMostCounts, " are supported, leave some sizes out");
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

} // namespace sluice
