//===- DriftMonitor.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Placement/DriftMonitor.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sluice {

static constexpr size_t kLetPass = 2;
/// Of the median: what shares the machine varies by more, from one minute to the
/// next, than a window shows.
static constexpr double kLeastSigma = 0.015;

/// A device of a smaller share gains a new plan nothing by its own change: sigma is that of this share.
static constexpr double kLeastShare = 0.1;

/// Of a normal distribution, its deviation over the median absolute one.
static constexpr double kSigmaOfDeviation = 1.4826;

static double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double DriftMonitor::valueOf(const Iteration &iteration, size_t i) {
  if (i == 0)
    return static_cast<double>(iteration.ns);
  const double work = std::accumulate(iteration.deviceNs.begin(), iteration.deviceNs.end(), 0.0);
  return work > 0 ? static_cast<double>(iteration.deviceNs[i - 1]) / work : 0;
}

template <typename Iterations>
std::vector<double> DriftMonitor::valuesOf(const Iterations &iterations, size_t i) {
  std::vector<double> values;
  for (const Iteration &iteration : iterations)
    values.push_back(valueOf(iteration, i));
  return values;
}

void DriftMonitor::learn() {
  for (size_t i = 0; i <= first.front().deviceNs.size(); ++i) {
    std::vector<double> deviations = valuesOf(first, i);
    const double middle = median(deviations);
    for (double &value : deviations)
      value = std::abs(value - middle);
    const double least = kLeastSigma * (i == 0 ? middle : std::max(middle, kLeastShare));
    const double sigma = std::max(kSigmaOfDeviation * median(std::move(deviations)), least);
    learned.push_back({middle, sigma});
  }
}

template <typename Iterations>
bool DriftMonitor::isOutside(const Iterations &iterations) const {
  for (size_t i = 0; i < learned.size(); ++i)
    if (std::abs(median(valuesOf(iterations, i)) - learned[i].middle) > params.beta * learned[i].sigma)
      return true;
  return false;
}

bool DriftMonitor::observe(int64_t ns, const std::vector<int64_t> &deviceNs) {
  if (passed < kLetPass) {
    ++passed;
    return false;
  }
  Iteration now{ns, deviceNs};
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
    learn();
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
