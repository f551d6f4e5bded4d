//===- Simulator.h - Workers, their steps and their waits -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A discrete-event simulation of data-parallel training under a barrier, and the metrics of Zhao's thesis, chapter 6.
// Each worker pulls the model, computes a step, pushes its update, and waits at the barrier before it pulls again.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_SIMULATOR_H
#define SLUICE_BARRIERS_SIMULATOR_H

#include "sluice/Barriers/Barrier.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Support/Rng.h"

#include <vector>

namespace sluice {

/// Distribution of the time in which a worker that is not slow computes a step; steps are independent.
struct StepTime {
  enum class Kind : uint8_t {
    Fixed,       ///< baseNs
    Uniform,     ///< from baseNs to baseNs + spreadNs
    Exponential, ///< baseNs, and an exponential time of mean spreadNs
    LogNormal,   ///< of median baseNs; the logarithm's standard deviation is sigma
  };
  Kind kind = Kind::Exponential; ///< The defaults are those of the thesis, section 6.2.
  int64_t baseNs = 1'000'000'000;
  int64_t spreadNs = 1'000'000'000;
  double sigma = 0;

  /// Times in [0, 1e15] ns, sigma in [0, 10].
  Status check() const;
  /// In [1 ns, 1e18 ns].
  int64_t draw(Rng &rng) const;
  /// No draw is below.
  int64_t leastNs() const;
};

/// "fixed:1s", "uniform:1s,500ms" (base, spread), "exponential:1s,1s" (base, mean beyond it), "lognormal:1s,0.5"
/// (median, sigma). Fails on anything else.
Expected<StepTime> parseStepTime(std::string_view text);

/// Time that pushes and pulls take. Every worker, and every shard of a parameter server, has a link of its own.
struct Exchange {
  enum class Kind : uint8_t {
    Free,   ///< Takes no time; counts messages as a server of one shard.
    Server, ///< Parameters are spread evenly over `shards`. Transfers queue at the shards in order of request.
    Peers,  ///< Each worker has all parameters and sends its updates to all others; pulls are local.
  };
  Kind kind = Kind::Free;
  int64_t bytes = 0; ///< Of the parameters, and of an update: 0 to 1e15.
  int64_t shards = 1;
  double pushBytesPerSec = 1e9, pullBytesPerSec = 1e9; ///< Of one link.
  int64_t latencyNs = 0;

  Status check() const;
};

/// The exchange over the slowest of a machine's links: between the host's memory, which has the parameters, and the
/// accelerators, or between the accelerators where they are peers. Both directions are busy at a time, so each has at
/// most half of a link's duplex rate. Fails where the machine has no such link.
Expected<Exchange> exchangeOver(const Machine &machine, Exchange::Kind kind, int64_t bytes, int64_t shards);

struct BarrierProblem {
  int64_t workers = 100; ///< 1 to kMostWorkers
  int64_t durationNs = 100'000'000'000;
  Barrier barrier;
  StepTime stepTime;
  double stragglers = 0; ///< Share of the workers, in [0, 1]: the first ones are slow.
  double slowness = 1;   ///< By which the steps of slow workers take longer: 1 to 1e6.
  Exchange exchange;
  /// From a test that a worker does not pass to its next test. 0: it tests again when any update arrives, as the
  /// thesis's simulator does.
  int64_t retestNs = 0;
  uint64_t seed = 0;

  Status check() const;
  int64_t numStragglers() const;
};

/// One step of one worker; times from the start of the run.
struct StepRecord {
  uint32_t worker = 0;
  int64_t passNs = 0;  ///< It passes the barrier.
  int64_t readNs = -1; ///< The model that it pulls has all updates that have arrived by then; -1: not in this run.
  int64_t pushNs = -1; ///< Its update arrives; -1: not in this run.
};

struct BarrierTrace {
  std::vector<StepRecord> steps; ///< By ascending passNs.
  /// The workers that each step's test saw: a sample's size for each step, empty where the view is all or nobody.
  std::vector<uint32_t> views;
};

/// Inconsistencies and updates seen late are divided by the number of workers.
struct BarrierMetrics {
  int64_t updates = 0;
  double meanSteps = 0, sdSteps = 0; ///< Of the workers' clocks at the end.
  int64_t leastSteps = 0, mostSteps = 0;
  /// Progress inconsistency of an update: others' updates that arrived between its worker's read and its own arrival.
  double meanProgress = 0, sdProgress = 0;
  /// Sequence inconsistency after every `workers` updates: updates in the true sequence (all workers' first steps, then
  /// all second steps, ...) that have not arrived, and arrived updates that are not in it.
  std::vector<double> sequence;
  /// When a worker reads the model for a step: others' updates of earlier steps that have not arrived. The mean over
  /// reads.
  double meanLate = 0;
  double waitingShare = 0; ///< Of the workers' time, at the barrier.
  int64_t tests = 0;       ///< Of the barrier, passed or not.
  /// A question and an answer: for each worker of a sample and each test; for a view of all workers, whose holder
  /// answers when they let pass, for each step, or where workers poll, for each test.
  int64_t controlMessages = 0;
  int64_t modelMessages = 0; ///< Pushes, and questions and answers of pulls.
};

struct BarrierRun {
  BarrierTrace trace;
  BarrierMetrics metrics;
};

/// Deterministic by the seed, which gives each worker the same step times under every barrier. A step costs
/// O(log workers + sample), and each arrival as many table look-ups as waiting workers have different clocks. Fails on
/// a problem that check() refuses, and where a run has more than 2^24 steps, 2^26 sampled workers or 2^28 events.
Expected<BarrierRun> simulateBarrier(const BarrierProblem &problem);

} // namespace sluice

#endif // SLUICE_BARRIERS_SIMULATOR_H
