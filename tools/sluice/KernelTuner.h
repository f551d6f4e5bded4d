//===- KernelTuner.h - The search for kernels' tunings ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_KERNELTUNER_H
#define SLUICE_TOOLS_SLUICE_KERNELTUNER_H

#include "TuningProgram.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sluice::driver {

/// What is tuned, and how.
struct KernelTuner {
  std::vector<TuningProgram> programs;
  std::string file; ///< Of trials' tunings; each replaces the one before.
  int threads = 1;
  int64_t repeat = 1, rounds = 1; ///< Steps of a trial; trials of a kernel at most.
};

/// Adds what it finds to the tuning: each kernel of the programs that the tuning has no end of, at its fastest, and the
/// operators' times. Ctrl-C ends the search, and what is measured by then is kept. Returns the steps' times, as the
/// compiler chooses and tuned, per program; none where nothing was compared.
Expected<std::vector<std::pair<int64_t, int64_t>>> tuneKernels(const KernelTuner &tuner, Tuning &tuning);

/// A line on a terminal, rewritten.
void showTuningProgress(const std::string &text);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_KERNELTUNER_H
