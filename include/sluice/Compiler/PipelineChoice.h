//===- PipelineChoice.h - How many stages a pipeline has --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_PIPELINECHOICE_H
#define SLUICE_COMPILER_PIPELINECHOICE_H

#include "sluice/Compiler/Options.h"

#include <string>
#include <vector>

namespace sluice {

struct PipelineChoice {
  std::vector<PipelineCandidate> candidates; ///< The candidates by ascending number of stages.
  size_t best = 0; ///< The fastest candidate that can run; of equally fast ones, the one with the fewest stages.

  const PipelineCandidate &chosen() const { return candidates[best]; }
};

/// Compares all ways to run the training step of a model on the ranks of options.training->pipeline. All candidates
/// have the same inputs, microbatches and result. If the ranks of a candidate need more memory than the limit, the
/// candidate is planned, and its time includes the planned copies. Fails if no candidate can run. Also fails if a
/// memory limit is a percentage, because its value in bytes would differ between candidates.
Expected<PipelineChoice> choosePipeline(const std::string &modelPath, const CompilerOptions &options);

} // namespace sluice

#endif // SLUICE_COMPILER_PIPELINECHOICE_H
