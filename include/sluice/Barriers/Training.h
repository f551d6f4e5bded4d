//===- Training.h - Ranks that train under a barrier ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The loop of one rank of data-parallel training: wait at the barrier, pull the gradients of all ranks, update the
// parameters and compute the next gradients, push them.
//
// Sums of gradients are cut into shards. The shard of a rank is in its *window*, a block of memory that all ranks can
// access. Under a bulk barrier (BSP) a rank writes its gradients into a slot of its own in each window. The owner of a
// shard adds the slots in the order of ranks, in the gradients' own type, so the sums have the bits of a single process
// that accumulates the same gradients. Under other barriers a rank adds its gradients to the shards, which hold the
// sums of all gradients since the start, in double precision. A pull returns the growth of the sums since the rank's
// last pull, so every rank applies every gradient once. The order of additions, and which gradients a pull contains,
// depend on timing.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_TRAINING_H
#define SLUICE_BARRIERS_TRAINING_H

#include "sluice/Barriers/Simulator.h"
#include "sluice/Barriers/Windows.h"

#include <functional>
#include <span>
#include <vector>

namespace sluice {

/// A run of consecutive gradients that have the same type.
struct GradientRun {
  int64_t elements = 0;
  /// Whether they are of type double and not float. Under a bulk barrier, sums are rounded to this type after each
  /// addition.
  bool isDouble = false;
};

struct BarrierTraining {
  Barrier barrier;
  int64_t steps = 1; ///< Number of steps of each rank.
  std::vector<GradientRun> gradients;
  /// If a rank fails a test of the barrier, it draws a new sample and tests again after this time; at least 1.
  int64_t retestNs = 200'000;
  uint64_t seed = 0;               ///< Seed of the samples.
  std::function<bool()> isStopped; ///< If it returns true, waits fail with ErrorCode::Interrupted. May be empty.

  int64_t numGradients() const;
  /// Whether all ranks do the same step at a time (BSP): each rank looks at all other ranks, and the barrier allows a
  /// staleness of 0.
  bool isBulk(int64_t numRanks) const;
  /// Number of `double` values in each rank's window.
  int64_t windowDoubles(int64_t numRanks) const;
  /// Fails if Barrier::check fails, if the barrier's sample exceeds `numRanks - 1`, if there are no ranks or no steps,
  /// or if retestNs is less than 1.
  Status check(int64_t numRanks) const;
};

/// One rank's copy of the model.
class Replica {
public:
  virtual ~Replica() = default;
  /// First applies the update by `sum`, the sum of gradients of some ranks, unless `sum` is empty. Then computes step
  /// number `step` of this rank (the first step is 0) and writes the step's gradients and loss.
  virtual Status step(int64_t step, std::span<const double> sum, std::span<double> gradients, double &loss) = 0;
  /// Applies the last update by `sum`. No step follows.
  virtual Status finish(std::span<const double> sum) = 0;
};

/// A step of one rank. Times are by the system's steady clock, which the processes of one host share.
struct RankStep {
  int64_t arriveNs = 0; ///< The rank arrives at the barrier.
  int64_t passNs = 0;   ///< The rank passes the barrier.
  int64_t readNs = 0;   ///< The rank begins to pull. It receives all gradients that were pushed before this time.
  /// The time just before the rank raises the counter by which other ranks see that its gradients are complete.
  int64_t pushNs = 0;
  int64_t tests = 0; ///< Number of tests of the barrier before it let the rank pass.
  double loss = 0;
};

/// Runs the steps of this rank. All ranks must call the function with the same settings. It returns when all ranks have
/// done all their steps and this replica has applied all gradients. Fails if a rank fails or leaves.
Expected<std::vector<RankStep>> trainUnderBarrier(Windows &windows, const BarrierTraining &training, Replica &replica);

/// The trace of a training run in the format of the simulator. The trace begins when the first rank arrives at its
/// first barrier. It ends when the first rank has pushed the gradients of its last step. measureTrace() computes its
/// metrics. `ranks` has the records of each rank, none empty.
struct TrainingTrace {
  BarrierTrace trace;
  int64_t beginNs = 0; ///< Start of the trace, by the clock of RankStep.
  int64_t durationNs = 0;
};
TrainingTrace traceOf(const std::vector<std::vector<RankStep>> &ranks);

/// For each step of each rank: the staleness with which the rank passed the barrier. The staleness is the number of
/// steps that the rank has completed minus the smallest such number among the other ranks; a negative difference counts
/// as 0.
std::vector<std::vector<int64_t>> stalenessOf(const std::vector<std::vector<RankStep>> &ranks);

} // namespace sluice

#endif // SLUICE_BARRIERS_TRAINING_H
