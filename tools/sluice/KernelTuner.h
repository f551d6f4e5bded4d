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

/// The parameters of the tuning.
struct KernelTuner {
  std::vector<TuningProgram> programs;
  std::string file; ///< The file for tunings of trials; each replaces the one before.
  int threads = 1;
  int64_t repeat = 1, rounds = 1; ///< The steps of a trial, and the most trials of a kernel.
  bool isExhaustive = false;      ///< Whether to measure the whole grid of a kernel's tunings instead of searching.
};

struct TunedSteps {
  /// Per program: the time of a step in nanoseconds by the compiler's choices, and tuned. Empty if nothing was
  /// compared.
  std::vector<std::pair<int64_t, int64_t>> ns;
  bool isStopped = false; ///< Whether Ctrl-C ended the search.
};

/// Searches all kernels of the programs that the tuning does not mark as finished. Adds the results that a last
/// comparison with the compiler's choice confirms, and the operators' times. Ctrl-C ends the search, and the comparison
/// follows; a second Ctrl-C ends that too, and leaves the tuning unchanged.
Expected<TunedSteps> tuneKernels(const KernelTuner &tuner, Tuning &tuning);

/// The times of a kernel with each of two tunings, and by the compiler's choice.
struct TuningComparison {
  std::string kind, shape;
  int64_t defaultNs = 0, ns = 0, otherNs = 0; ///< At least 1.
};

/// Measures all kernels that both tunings have, in turns by the compiler's choice and with each tuning.
Expected<std::vector<TuningComparison>> compareTunings(const KernelTuner &tuner, const Tuning &tuning,
                                                       const Tuning &other);

/// A line on a terminal, rewritten.
void showTuningProgress(const std::string &text);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_KERNELTUNER_H
