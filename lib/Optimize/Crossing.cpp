//===- Crossing.cpp -------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Optimize/Crossing.h"

#include <algorithm>
#include <cmath>

namespace sluice {

std::vector<double> logSpaced(double least, double most, size_t count) {
  std::vector<double> sizes;
  for (size_t i = 0; i < count; ++i)
    sizes.push_back(least * std::pow(most / least, static_cast<double>(i) / static_cast<double>(count - 1)));
  return sizes;
}

Crossing findCrossing(const std::vector<double> &sizes, const std::function<std::optional<double>(double)> &gain,
                      double precision, double noise) {
  std::vector<bool> gains;
  for (double size : sizes) {
    const std::optional<double> measured = gain(size);
    if (!measured)
      return {};
    gains.push_back(*measured > 1);
  }
  const auto firstGain = std::find(gains.begin(), gains.end(), true);
  if (gains.empty())
    return {};
  if (firstGain == gains.end())
    return {CrossingState::Never, 0};
  if (!gains.back())
    return {};
  const auto behindLoss = std::find(gains.rbegin(), gains.rend(), false).base();
  const size_t lowest = firstGain - gains.begin(), from = behindLoss - gains.begin();
  if (sizes[from] > noise * sizes[lowest])
    return {};
  if (from == 0)
    return {CrossingState::At, sizes.front()};
  double low = sizes[from - 1], high = sizes[from];
  while (high > precision * low) {
    const double middle = std::sqrt(low * high);
    const std::optional<double> measured = gain(middle);
    if (!measured)
      return {};
    (*measured > 1 ? high : low) = middle;
  }
  return {CrossingState::At, high};
}

} // namespace sluice
