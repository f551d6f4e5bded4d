//===- ThresholdProbe.h - From which time on threads gain -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_THRESHOLDPROBE_H
#define SLUICE_TOOLS_SLUICE_THRESHOLDPROBE_H

#include "TuningProgram.h"

namespace sluice::driver {

/// Where the probes of one machine are compiled and run.
struct ProbeSetting {
  CompilerOptions options;
  std::string origin, device; ///< As a tuning's.
  int threads = 1;
  std::string file;  ///< For programs and tunings; each replaces the one before.
  int64_t steps = 1; ///< Of each turn.
};

/// Whether code of the target has loops of rate number `rate` of kRateNames.
bool hasRate(const TargetSpec &target, size_t rate);

/// Measures loops of this rate, of 2 to 300 us by the emitters' estimate, as one chunk and as two: the crossing of
/// their times. Unknown with one thread, and where Ctrl-C comes before the end.
Expected<Threshold> measureThreshold(const ProbeSetting &setting, size_t rate);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_THRESHOLDPROBE_H
