//===- ThresholdProbe.h - From which time on threads gain -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_THRESHOLDPROBE_H
#define SLUICE_TOOLS_SLUICE_THRESHOLDPROBE_H

#include "TuningProgram.h"

namespace sluice::driver {

/// The settings for the probes of one machine.
struct ProbeSetting {
  CompilerOptions options;
  std::string origin, device; ///< The origin and device of a tuning.
  int threads = 1;
  std::string file;  ///< The file for programs and tunings; each replaces the one before.
  int64_t steps = 1; ///< The steps of each turn.
};

/// Whether code of the target has loops of rate number `rate` of kRateNames.
bool hasRate(const TargetSpec &target, size_t rate);

/// Measures loops of this rate, of 2 to 300 us by the emitters' estimate, as one chunk and as two, and returns the
/// crossing of their times. The result is Unknown with one thread, or if Ctrl-C comes before the end.
Expected<Threshold> measureThreshold(const ProbeSetting &setting, size_t rate);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_THRESHOLDPROBE_H
