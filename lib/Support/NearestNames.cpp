//===- NearestNames.cpp - What a name may have meant ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Support/NearestNames.h"

#include <algorithm>
#include <utility>

namespace sluice {

/// Without regard to the case of ASCII letters.
static std::string lowered(std::string_view text) {
  std::string result(text);
  for (char &c : result)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c - 'A' + 'a');
  return result;
}

/// Wagner and Fischer 1974, a row at a time.
static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

std::vector<std::string> nearestNames(std::string_view name, const std::vector<std::string_view> &known, size_t most) {
  constexpr size_t kLongest = 200;
  std::vector<std::pair<size_t, std::string>> found; // By distance, then as known.
  if (name.empty() || name.size() > kLongest)
    return {};
  const std::string wanted = lowered(name);
  const size_t farthest = std::max<size_t>(name.size() / 3, 1);
  for (std::string_view other : known) {
    if (other.size() > kLongest || other.empty())
      continue;
    const std::string given = lowered(other);
    const bool isLikely = std::max(given.size(), wanted.size()) - std::min(given.size(), wanted.size()) <= farthest;
    size_t distance = isLikely ? editDistance(wanted, given) : farthest + 1;
    if (distance > farthest && given.find(wanted) != std::string::npos)
      distance = farthest + given.size();
    else if (distance > farthest)
      continue;
    found.emplace_back(distance, other);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (auto &[distance, other] : found)
    if (names.size() < most && std::find(names.begin(), names.end(), other) == names.end())
      names.push_back(std::move(other));
  return names;
}

} // namespace sluice
