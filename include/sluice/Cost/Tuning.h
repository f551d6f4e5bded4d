//===- Tuning.h - Measured choices of kernels -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Results of `sluice tune` on one machine: the fastest form of each kernel, the times of the kernels, and, for each
// kind of loop, the estimated time from which several threads are faster than one. docs/formats/tuning.md describes the
// file.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COST_TUNING_H
#define SLUICE_COST_TUNING_H

#include "sluice/Cost/Profile.h"
#include "sluice/Optimize/Crossing.h"
#include "sluice/Support/KernelTuning.h"

#include <map>
#include <string>

namespace sluice {

inline constexpr int kTuningSchema = 1;

/// The fastest form that was found for the kernel of one operator. An empty tuning means that nothing was faster than
/// the compiler's choice.
struct TunedKernel {
  std::string kind;  ///< "matmul" or "conv".
  std::string shape; ///< A description of the shape, for readers.
  KernelTuning tuning;
  /// Time of all launches of the kernel in a step, in the tuned form and in the compiler's form; at least 1.
  int64_t ns = 0, defaultNs = 0;
  int64_t trials = 0;      ///< Number of forms that were measured.
  bool isFinished = false; ///< The search ended because no further change of the kernel gained 1%.
};

/// The shortest estimated loop time at which several threads are faster.
struct Threshold {
  CrossingState state = CrossingState::Unknown;
  int64_t ns = 0; ///< The time if `state` is CrossingState::At (then at least 1).

  bool operator==(const Threshold &) const = default;
};

struct Tuning {
  std::string origin;                          ///< Compiler and processor, as in a profile.
  std::string device;                          ///< The deviceKey() of the device that was measured.
  std::map<std::string, TunedKernel> kernels;  ///< The keys are those of the operators that the kernels compute.
  std::map<std::string, Threshold> thresholds; ///< The keys are kinds of loops, by their names in kRateNames.
  Profile profile;                             ///< The operators' times, of this origin; no links.
};

Json tuningToJson(const Tuning &tuning);
Expected<Tuning> tuningFromJson(const JsonReader &reader);
Expected<Tuning> readTuning(const std::string &path);

/// Describes how the origin or the device of a tuning differs from the given ones: "on device 'cpu/2t', and
/// this computer has 'cpu/8t'". Empty if there is no difference.
std::string tuningDifference(const Tuning &tuning, const std::string &origin, const std::string &device);
/// Fails unless the tuning is of this origin and device. `where` names the file in errors.
Status checkTuning(const Tuning &tuning, const std::string &origin, const std::string &device,
                   const std::string &where);

/// The option `chunks` of dataflow-emit-kernels: half of each threshold, because a divided loop has at least two
/// chunks.
std::string chunkTimes(const Tuning &tuning);

} // namespace sluice

#endif // SLUICE_COST_TUNING_H
