//===- SwapModels.h - SwapAdvisor's evaluation ------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_SWAPMODELS_H
#define SLUICE_TOOLS_SLUICEBENCH_SWAPMODELS_H

#include "ModelBuilders.h"
#include "sluice/Search/ProblemJson.h"
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::bench {

/// A training step of the paper (Huang, Jin and Li, ASPLOS 2020, figures 6 to 8)
/// and what is asked of ours, as fractions of the ideal's throughput.
struct TrainingCase {
  std::string model;
  int64_t batch = 0; ///< 0: not a model of the builders.
  /// The paper's; the upper end where it gives a range. Absent: not given.
  std::optional<double> paper;
  std::optional<double> target;
};
std::span<const TrainingCase> trainingCases();
/// Names in trainingCases(), each once.
std::vector<std::string> trainingModels();

/// ResNet-152's inference (Table 2): seconds an iteration, by budget and batch.
struct InferenceCase {
  int64_t megabytes = 0, batch = 0;
  std::optional<double> seconds; ///< Absent: does not fit.
};
std::span<const InferenceCase> inferenceCases();

/// The step as a planner takes it: built, imported, differentiated (momentum),
/// fused.
Expected<ProblemFile> trainingProblem(const ModelBuilders &builders, const std::string &model, int64_t batch,
                                      const std::string &machine);
/// ResNet-152. `unfused`: an operator a kernel, as the paper's framework ran it.
Expected<ProblemFile> inferenceProblem(const ModelBuilders &builders, int64_t batch, const std::string &machine,
                                       bool unfused);

/// Compute, not memory and links, so many times as fast; the kernels' fixed
/// times stay. Costs become the roofline model's.
void scaleComputeRate(ProblemFile &problem, double rate);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_SWAPMODELS_H
