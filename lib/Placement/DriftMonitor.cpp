//===- DriftMonitor.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/DriftMonitor.h"

#include <algorithm>
#include <cmath>

namespace sluice {

static constexpr size_t kLetPass = 2;
/// Of the median: what shares the machine varies by more, from one minute to the
/// next, than a window shows.
static constexpr double kLeastSigma = 0.015;

/// Of a normal distribution, its deviation over the median absolute one.
static constexpr double kSigmaOfDeviation = 1.4826;

static double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

template <typename Iterations>
static std::vector<double> timesOf(const Iterations &iterations) {
  std::vector<double> times;
  for (const auto &iteration : iterations)
    times.push_back(static_cast<double>(iteration.ns));
  return times;
}

bool DriftMonitor::observe(int64_t ns, const std::vector<int64_t> &deviceNs) {
  if (passed < kLetPass) {
    ++passed;
    return false;
  }
  Iteration now{ns, deviceNs};
  auto isOutside = [&](const auto &iterations) {
    return std::abs(median(timesOf(iterations)) - middle) > params.beta * sigma;
  };
  if (left) {
    change.push_back(std::move(now));
    if (change.size() < std::max<size_t>(params.window / 4, 3))
      return false;
    if (isOutside(change))
      return true;
    left = false;
    change.clear();
    return false;
  }
  if (first.size() < params.window) {
    first.push_back(std::move(now));
    if (first.size() < params.window)
      return false;
    std::vector<double> deviations = timesOf(first);
    middle = median(deviations);
    for (double &time : deviations)
      time = std::abs(time - middle);
    sigma = std::max(kSigmaOfDeviation * median(std::move(deviations)), kLeastSigma * middle);
    last.assign(first.begin(), first.end());
    return false;
  }
  last.pop_front();
  last.push_back(std::move(now));
  left = isOutside(last);
  return false;
}

std::vector<double> DriftMonitor::slowdowns() const {
  auto workNs = [](const std::vector<Iteration> &iterations, size_t device) {
    std::vector<double> times;
    for (const Iteration &iteration : iterations)
      times.push_back(static_cast<double>(iteration.deviceNs[device]));
    return median(std::move(times));
  };
  std::vector<double> factors(change.empty() ? 0 : change.front().deviceNs.size(), 1);
  std::vector<size_t> working;
  for (size_t device = 0; device < factors.size(); ++device)
    if (const double before = workNs(first, device); before > 0) {
      working.push_back(device);
      factors[device] = std::max(workNs(change, device), 1.0) / before;
    }
  if (working.size() < 2)
    return factors;
  const double common = factors[*std::min_element(working.begin(), working.end(), [&](size_t a, size_t b) {
    return std::abs(std::log(factors[a])) < std::abs(std::log(factors[b]));
  })];
  for (size_t device : working)
    factors[device] /= common;
  return factors;
}

void DriftMonitor::restart() { *this = DriftMonitor(params); }

} // namespace sluice
