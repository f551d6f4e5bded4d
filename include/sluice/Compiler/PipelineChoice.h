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
  std::vector<PipelineCandidate> candidates; ///< By ascending number of stages.
  size_t best = 0;                           ///< The fastest one that can run; of equal ones, the one of fewest stages.

  const PipelineCandidate &chosen() const { return candidates[best]; }
};

/// Weighs all ways to run the training step of a model on the ranks of options.training->pipeline. All candidates have
/// the same inputs, microbatches and result. A candidate whose ranks need more memory than the limit is planned, and
/// its step takes the time of the planned copies too. Fails if no candidate can run, and if a memory limit is a
/// percentage, which would be another limit for each candidate.
Expected<PipelineChoice> choosePipeline(const std::string &modelPath, const CompilerOptions &options);

} // namespace sluice

#endif // SLUICE_COMPILER_PIPELINECHOICE_H
