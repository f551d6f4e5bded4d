//===- AddressMap.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AddressMap.h"

#include <algorithm>
#include <array>

using namespace sluice;
using namespace sluice::swap;

size_t AddressMap::find(int64_t offset) const {
  auto after = std::upper_bound(pieces.begin(), pieces.end(), offset,
                                [](int64_t value, const Extent &extent) { return value < extent.offset; });
  return static_cast<size_t>(after - pieces.begin()) - 1;
}

void AddressMap::occupy(int64_t offset, int64_t end, ResidencyId occupant, std::vector<ResidencyId> &displaced) {
  if (offset == end)
    return;
  peak = std::max(peak, end);
  size_t first = find(offset), last = first;
  while (pieces[last].end < end)
    ++last;
  for (size_t i = first; i <= last; ++i)
    if (pieces[i].occupant.valid())
      displaced.push_back(pieces[i].occupant);

  std::array<Extent, 3> replacement;
  size_t count = 0;
  if (pieces[first].offset < offset)
    replacement[count++] = {pieces[first].offset, offset, pieces[first].occupant};
  replacement[count++] = {offset, end, occupant};
  if (end < pieces[last].end)
    replacement[count++] = {end, pieces[last].end, pieces[last].occupant};

  size_t old = last - first + 1;
  auto at = pieces.begin() + static_cast<std::ptrdiff_t>(first);
  size_t common = std::min(old, count);
  std::copy_n(replacement.begin(), common, at);
  at += static_cast<std::ptrdiff_t>(common);
  if (count > old)
    pieces.insert(at, replacement.begin() + static_cast<std::ptrdiff_t>(common),
                  replacement.begin() + static_cast<std::ptrdiff_t>(count));
  else
    pieces.erase(at, at + static_cast<std::ptrdiff_t>(old - count));
}
