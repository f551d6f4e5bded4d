//===- Timing.cpp - What benchmarks share ---------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Timing.h"
#include <algorithm>
#include <ctime>

namespace sluice::bench {

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

static double secondsOf(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double threadSeconds() { return secondsOf(CLOCK_THREAD_CPUTIME_ID); }

double processSeconds() { return secondsOf(CLOCK_PROCESS_CPUTIME_ID); }

} // namespace sluice::bench
