//===- Choice.h - Which barrier a training run should use -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A run begins with some steps under BSP, the trial. The simulator then runs the rest of the
// training under several barriers with the measured times of the trial's steps. A barrier that
// lets ranks read models without some updates is faster if ranks have different speeds, and
// costs progress. This loss of progress is estimated to first order: a model that lacks as many
// updates as d steps make has the loss of d steps before.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_CHOICE_H
#define SLUICE_BARRIERS_CHOICE_H

#include "sluice/Barriers/Simulator.h"

#include <string_view>
#include <vector>

namespace sluice {

/// Reads "auto:loss=X". Returns X, which must be from 1 to 100: the greatest ratio of the loss to that under BSP.
Expected<double> parseBarrierChoice(std::string_view text);

/// Some steps of all ranks under BSP.
struct BarrierTrial {
  std::vector<RecordedWorker> ranks; ///< With at least one step each; startNs is not used.
  std::vector<double> losses;        ///< The mean loss of all ranks in each step; at least two.
  int64_t stepsLeft = 1;             ///< The steps that each rank does after the trial.
  int64_t retestNs = 200'000;        ///< See BarrierProblem.
  uint64_t seed = 0;                 ///< Seed of the samples.

  /// Fails if there are no ranks, no steps of a rank, fewer than two losses, or no steps left.
  Status check() const;
};

struct BarrierCandidate {
  Barrier barrier;
  double speed = 1;        ///< Simulated number of updates per unit of time, relative to BSP.
  double waitingShare = 0; ///< BarrierMetrics::waitingShare
  double meanLate = 0;     ///< BarrierMetrics::meanLate
  /// The estimated loss after equally many updates, relative to BSP. With P ranks and the rate g at which the logarithm
  /// of the loss falls in a step of the trial (least squares, at least 0), it is exp(g meanLate / P). It is infinite if
  /// the ratio is not defined because a loss of the trial is not positive.
  double lossRatio = 1;
};

struct BarrierChoice {
  std::vector<BarrierCandidate> candidates; ///< BSP, then SSP, sampled barriers, and ASP.
  size_t chosen = 0;
};

/// Chooses the first candidate whose speed is within 5% of the fastest candidate's, among those whose loss ratio is at
/// most `mostLossRatio`. BSP is always one of these. Simulates until the first rank has done the steps that are left,
/// and at most 10,000 of them; each simulation is checked by checkTrace(). The answer depends only on the arguments.
/// Fails if BarrierTrial::check fails, or if the ratio is not from 1 to 100.
Expected<BarrierChoice> chooseBarrier(const BarrierTrial &trial, double mostLossRatio);

} // namespace sluice

#endif // SLUICE_BARRIERS_CHOICE_H
