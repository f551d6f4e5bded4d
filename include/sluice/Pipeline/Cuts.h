//===- Cuts.h - Where a program is cut into stages --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A pipeline runs a program as stages: contiguous pieces of its operators, in their order. Every stage has at least
// one operator. In the steady state the slowest stage, or the slowest transfer between two stages, sets the pace.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PIPELINE_CUTS_H
#define SLUICE_PIPELINE_CUTS_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <vector>

namespace sluice {

struct CutProblem {
  /// Per operator: its time for one microbatch, forward and backward together.
  std::vector<int64_t> workNs;
  /// Per operator: bytes of one microbatch that cross a cut before this operator, in one direction. The first is 0.
  std::vector<int64_t> crossingBytes;
  int64_t stages = 1;
  double bytesPerSec = 1e10; ///< Rate of a transfer between two stages.
  int64_t latencyNs = 0;     ///< Latency of a transfer.
  /// Cuts whose pace is at most this fraction above the best pace count as equally fast.
  double slack = 0.02;

  Status check() const;
  /// Time of a microbatch's two transfers over a cut before operator `before`: activations forward, and gradients back.
  int64_t transferNs(size_t before) const;
};

struct CutSolution {
  std::vector<size_t> firsts; ///< Per stage: its first operator. Ascending, from 0.
  int64_t paceNs = 0;         ///< Time of the slowest stage or transfer for one microbatch.
  int64_t bytes = 0;          ///< Bytes that cross all cuts, in one direction.
};

/// Finds the least possible pace. Among all cuts whose pace is within the slack, returns those that the fewest bytes
/// cross. Both steps are exact dynamic programs, O(stages x operators^2). Tie-break: the last stage begins as early as
/// possible, then the stage before it, and so on. Fails if there are fewer operators than stages, if sums exceed 2^60,
/// or if stages x operators^2 exceeds 10^11.
Expected<CutSolution> solveCuts(const CutProblem &problem);

/// Checks the form, the pace and the bytes of a solution independently of the solver.
Status validateCuts(const CutProblem &problem, const CutSolution &solution);

} // namespace sluice

#endif // SLUICE_PIPELINE_CUTS_H
