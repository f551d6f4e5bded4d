//===- LongestIncreasing.cpp - A longest increasing subsequence -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "LongestIncreasing.h"

#include <algorithm>

namespace sluice {

std::vector<bool> longestIncreasing(const std::vector<size_t> &values) {
  std::vector<size_t> tails, previous(values.size(), values.size()); // Indices; of equal lengths the least value.
  for (size_t i = 0; i < values.size(); ++i) {
    auto at = std::lower_bound(tails.begin(), tails.end(), values[i],
                               [&](size_t index, size_t value) { return values[index] < value; });
    if (at != tails.begin())
      previous[i] = *std::prev(at);
    if (at == tails.end())
      tails.push_back(i);
    else
      *at = i;
  }
  std::vector<bool> chosen(values.size(), false);
  for (size_t i = tails.empty() ? values.size() : tails.back(); i < values.size(); i = previous[i])
    chosen[i] = true;
  return chosen;
}

} // namespace sluice
