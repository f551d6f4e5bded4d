//===- Timing.h - What benchmarks share -------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_TIMING_H
#define SLUICE_TOOLS_SLUICEBENCH_TIMING_H

#include <vector>

namespace sluice::bench {

/// Of at least one value; the upper one of the two in the middle.
double median(std::vector<double> values);
/// Processor time of this thread, so that other processes disturb less.
double threadSeconds();
/// Of all threads together.
double processSeconds();

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_TIMING_H
