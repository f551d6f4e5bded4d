//===- LongestIncreasing.h - A longest increasing subsequence ---*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_EXPLAIN_LONGESTINCREASING_H
#define SLUICE_LIB_EXPLAIN_LONGESTINCREASING_H

#include <cstddef>
#include <vector>

namespace sluice {

/// For each of these distinct values: whether it is in one longest increasing subsequence (Schensted 1961). O(n log n).
std::vector<bool> longestIncreasing(const std::vector<size_t> &values);

} // namespace sluice

#endif // SLUICE_LIB_EXPLAIN_LONGESTINCREASING_H
