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

/// Distribution of the time that a worker takes to compute a step, for workers that are not slow. The times of steps
/// are independent.
struct StepTime {
  enum class Kind : uint8_t {
    Fixed,       ///< Each step takes baseNs.
    Uniform,     ///< Uniformly distributed between baseNs and baseNs + spreadNs.
    Exponential, ///< baseNs plus an exponential time of mean spreadNs.
    LogNormal,   ///< The median is baseNs, the standard deviation of the logarithm is sigma.
  };
  Kind kind = Kind::Exponential; ///< The default values are from the thesis, section 6.2.
  int64_t baseNs = 1'000'000'000;
  int64_t spreadNs = 1'000'000'000;
  double sigma = 0;

  /// Fails unless times are in [0, 1e15] ns and sigma is in [0, 10].
  Status check() const;
  /// A time in [1 ns, 1e18 ns].
  int64_t draw(Rng &rng) const;
  /// A lower bound of all results of draw(), in nanoseconds.
  int64_t leastNs() const;
};

/// Parses "fixed:1s", "uniform:1s,500ms" (base and spread), "exponential:1s,1s" (base, and mean of the time that is
/// added) or "lognormal:1s,0.5" (median and sigma). Fails on any other text.
Expected<StepTime> parseStepTime(std::string_view text);

/// Time that pushes and pulls take. Every worker, and every shard of a parameter server, has a link of its own.
struct Exchange {
  enum class Kind : uint8_t {
    Free,   ///< Exchanges take no time. Their messages are counted as with a server of one shard.
    Server, ///< Parameters are spread evenly over `shards`. Transfers queue at the shards in order of request.
    Peers,  ///< Each worker has all parameters and sends its updates to all others; pulls are local.
  };
  Kind kind = Kind::Free;
  int64_t bytes = 0; ///< Size of the parameters, and of an update: 0 to 1e15.
  int64_t shards = 1;
  double pushBytesPerSec = 1e9, pullBytesPerSec = 1e9; ///< Rates of one link.
  int64_t latencyNs = 0;

  Status check() const;
};

/// The exchange over links of a machine, with the lowest rates and the greatest latency of these links. For
/// Kind::Server, they are the links between the host's memory, which has the parameters, and accelerators; for
/// Kind::Peers, the links between accelerators. Both directions of a link are busy at the same time, so each direction
/// has at most half of the link's duplex rate. Fails if the machine has none of these links.
Expected<Exchange> exchangeOver(const Machine &machine, Exchange::Kind kind, int64_t bytes, int64_t shards);

/// The times of a worker that really trained.
struct RecordedWorker {
  int64_t startNs = 0;          ///< Time at which the worker arrives at its first barrier, from the start of the run.
  std::vector<int64_t> stepsNs; ///< The time from each read of the model to the arrival of the update.
};

struct BarrierProblem {
  int64_t workers = 100; ///< 1 to kMostWorkers
  int64_t durationNs = 100'000'000'000;
  Barrier barrier;
  StepTime stepTime;
  double stragglers = 0; ///< Share of slow workers, in [0, 1]. Slow workers have the lowest numbers.
  double slowness = 1;   ///< Factor on the step times of slow workers, 1 to 1e6.
  /// Empty, or one entry for each worker. With entries, a worker's steps take the recorded times in their order, then
  /// the same times again; `stragglers` must be 0, and stepTime is not used.
  std::vector<RecordedWorker> recorded;
  Exchange exchange;
  /// The time after which a worker tests again if it has failed a test of the barrier. 0 means that the worker tests
  /// again when any update arrives, as in the thesis's simulator.
  int64_t retestNs = 0;
  uint64_t seed = 0;

  Status check() const;
  int64_t numStragglers() const;
  /// When the worker arrives at its first barrier.
  int64_t startNs(uint32_t worker) const { return recorded.empty() ? 0 : recorded[worker].startNs; }
};

/// One step of one worker. Times are from the start of the run.
struct StepRecord {
  uint32_t worker = 0;
  int64_t passNs = 0;  ///< The worker passes the barrier.
  int64_t readNs = -1; ///< The worker pulls the model, with all updates that have arrived; -1 if after the run.
  int64_t pushNs = -1; ///< The update arrives; -1 if after the run.
};

struct BarrierTrace {
  std::vector<StepRecord> steps; ///< Sorted by passNs.
  /// For each step: the workers in the sampled view with which its worker passed the barrier. A view is the set of
  /// workers whose clocks a barrier compares (Barrier.h). All sampled views have the same size. Empty if views are not
  /// sampled: each view has all other workers, or none.
  std::vector<uint32_t> views;
};

/// The clock of a worker is the number of steps that it has completed. Four metrics are divided by the number of
/// workers: meanProgress, sdProgress, sequence and meanLate.
struct BarrierMetrics {
  int64_t updates = 0;
  double meanSteps = 0, sdSteps = 0; ///< Mean and standard deviation of the workers' clocks at the end of the run.
  int64_t leastSteps = 0, mostSteps = 0;
  /// Progress inconsistency of an update U of a worker W: the number of updates of other workers that arrived after W
  /// had read the model for U and before U arrived.
  double meanProgress = 0, sdProgress = 0;
  /// Sequence inconsistency after each round of `workers` updates. After round n, the true sequence has the first n
  /// steps of all workers. The inconsistency is the number of updates of the true sequence that have not arrived, plus
  /// the number of arrived updates that are not in the true sequence.
  std::vector<double> sequence;
  /// Mean number of late updates, over all reads of the model. When a worker reads the model for its step s (its first
  /// step is 0), the late updates are those of the other workers' steps 0 to s - 1 that have not arrived yet.
  double meanLate = 0;
  double waitingShare = 0; ///< Fraction of the workers' time that they spend at the barrier.
  int64_t tests = 0;       ///< Number of tests of the barrier, passed and failed ones.
  /// Number of messages for tests. If views are sampled, each test sends a question to each sampled worker and receives
  /// an answer. If views have all other workers, a coordinator knows all clocks: the worker asks the coordinator, and
  /// the coordinator answers when the worker may pass. This takes two messages for each step, or for each test if
  /// retestNs is not 0. Without views there are no messages.
  int64_t controlMessages = 0;
  int64_t modelMessages = 0; ///< Number of messages for pushes and pulls. A pull has a request and an answer.
};

struct BarrierRun {
  BarrierTrace trace;
  BarrierMetrics metrics;
};

/// Simulates a run. The result depends only on the problem. With the same seed, each worker has the same step times
/// under every barrier. A step costs O(log workers + sample), and each arrival costs one table look-up for each
/// different clock of waiting workers. Fails on a problem that check() refuses, and if a run has more than 2^24 steps,
/// 2^26 sampled workers or 2^28 events.
Expected<BarrierRun> simulateBarrier(const BarrierProblem &problem);

} // namespace sluice

#endif // SLUICE_BARRIERS_SIMULATOR_H
