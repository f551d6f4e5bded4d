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
  bool isExhaustive = false;      ///< Measures the whole grid of a kernel's tunings, instead of searching.
};

struct TunedSteps {
  /// Per program, in nanoseconds: a step as the compiler chooses, and tuned. Empty where nothing was compared.
  std::vector<std::pair<int64_t, int64_t>> ns;
  bool isStopped = false; ///< By Ctrl-C.
};

/// Searches every kernel of the programs whose search the tuning has not finished. Adds to the tuning what a last
/// comparison with the compiler's choice confirms, and the operators' times. Ctrl-C ends the search and goes on to the
/// comparison; a second one ends that too, and then the tuning stays as it was.
Expected<TunedSteps> tuneKernels(const KernelTuner &tuner, Tuning &tuning);

/// What a kernel takes with each of two tunings, and as the compiler chooses.
struct TuningComparison {
  std::string kind, shape;
  int64_t defaultNs = 0, ns = 0, otherNs = 0; ///< At least 1.
};

/// Measures all kernels that both tunings have, in turns as the compiler chooses and with each tuning.
Expected<std::vector<TuningComparison>> compareTunings(const KernelTuner &tuner, const Tuning &tuning,
                                                       const Tuning &other);

/// A line on a terminal, rewritten.
void showTuningProgress(const std::string &text);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_KERNELTUNER_H
