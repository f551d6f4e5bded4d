//===- Simulator.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Waiting workers test the barrier with a new sample whenever an update arrives. Drawing each of these samples would
// cost O(workers) for a step. Instead, the simulator uses that all waiting workers with the same clock pass a test with
// the same probability: the probability that a sample contains no worker that is behind, which follows from the number
// of workers behind. Tests are independent, so the workers that pass are found by skips of geometrically distributed
// length. Only these workers draw a sample, from the workers that are not behind. Samples of passed tests have this
// distribution.
//
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Simulator.h"

#include "sluice/Cost/CostModel.h"
#include "sluice/Support/Units.h"

#include "Clocks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace sluice {
namespace {

constexpr size_t kMostSteps = size_t(1) << 24, kMostSampled = size_t(1) << 26, kMostEvents = size_t(1) << 28;

/// Events of the same time are handled in this order. Waiting workers test after arrivals and polls.
enum class EventKind : uint8_t { Computed, Arrival, Start, Poll, Read };

struct Event {
  int64_t timeNs;
  EventKind kind;
  uint32_t worker;

  bool operator>(const Event &other) const {
    return std::tie(timeNs, kind, worker) > std::tie(other.timeNs, other.kind, other.worker);
  }
};

struct WorkerState {
  Rng stepTimes;
  size_t record = 0;         ///< Index of its latest step.
  int64_t updatesRead = 0;   ///< Updates that had arrived when it last read.
  int64_t waitsSinceNs = -1; ///< -1: it does not wait.
};

class Simulation {
public:
  explicit Simulation(const BarrierProblem &problem)
      : problem(problem), numWorkers(problem.workers), viewSize(problem.barrier.viewSize(problem.workers)),
        samples(viewSize > 0 && viewSize < numWorkers - 1), numSlow(problem.numStragglers()),
        clocks(static_cast<uint32_t>(problem.workers)), sampling(Rng(problem.seed).fork(kMostWorkers)) {
    const Rng root(problem.seed);
    for (int64_t worker = 0; worker < numWorkers; ++worker)
      workers.push_back({root.fork(static_cast<uint64_t>(worker))});
    // With n others that are not behind, a sample passes with probability C(n, size) / C(others, size).
    passing.assign(static_cast<size_t>(numWorkers), 0);
    passing.back() = 1;
    for (int64_t n = numWorkers - 1; n > 0 && n >= viewSize; --n)
      passing[n - 1] = passing[n] * static_cast<double>(n - viewSize) / static_cast<double>(n);
    const Exchange &exchange = problem.exchange;
    const auto bytes = static_cast<double>(exchange.bytes), shards = static_cast<double>(exchange.shards);
    if (exchange.kind == Exchange::Kind::Server) {
      pushing = {movingTimeNs(bytes, exchange.pushBytesPerSec), movingTimeNs(bytes / shards, exchange.pushBytesPerSec)};
      pulling = {movingTimeNs(bytes, exchange.pullBytesPerSec), movingTimeNs(bytes / shards, exchange.pullBytesPerSec)};
    } else if (exchange.kind == Exchange::Kind::Peers) {
      pushing = {movingTimeNs(bytes * static_cast<double>(numWorkers - 1), exchange.pushBytesPerSec),
                 movingTimeNs(bytes, exchange.pushBytesPerSec)};
    }
  }

  Expected<BarrierRun> run() {
    // Workers that start at the same time pass at once.
    if (samples && static_cast<size_t>(numWorkers * viewSize) > kMostSampled)
      return tooLarge();
    for (uint32_t worker = 0; worker < numWorkers; ++worker)
      if (const int64_t startNs = problem.startNs(worker); startNs == 0)
        beginWaiting(worker, 0);
      else
        schedule(startNs, EventKind::Start, worker);
    test(0);
    while (!events.empty()) {
      const Event event = events.top();
      events.pop();
      handle(event);
      if (isArrived && (events.empty() || events.top().timeNs > event.timeNs || events.top().kind == EventKind::Read))
        test(event.timeNs);
      ++numEvents;
      if (isTooLarge())
        return tooLarge();
    }
    finish();
    return std::move(result);
  }

private:
  /// Transfers through one direction of all shards' or peers' links, in the order of their requests.
  struct Channel {
    int64_t transferNs = 0; ///< Duration of a transfer over its worker's own link.
    int64_t occupiedNs = 0; ///< Time in which it occupies the shards or the peers.
    int64_t freeNs = 0;

    int64_t begin(int64_t readyNs) {
      const int64_t beginNs = std::max(readyNs, freeNs);
      freeNs = saturatingAdd(beginNs, occupiedNs);
      return beginNs;
    }
  };

  bool isTooLarge() const {
    return result.trace.steps.size() > kMostSteps || result.trace.views.size() > kMostSampled ||
           numEvents > kMostEvents;
  }
  tl::unexpected<Error> tooLarge() const {
    return makeError(ErrorCode::Infeasible, "a barrier simulation of ", numWorkers, " workers for ",
                     formatDuration(problem.durationNs), " has more than ", kMostSteps, " steps, ", kMostSampled,
                     " sampled workers or ", kMostEvents,
                     " events, give a shorter duration, fewer workers or a smaller sample");
  }

  /// Drops events after the end of the run.
  void schedule(int64_t timeNs, EventKind kind, uint32_t worker) {
    if (timeNs <= problem.durationNs)
      events.push({timeNs, kind, worker});
  }

  void handle(const Event &event) {
    switch (event.kind) {
    case EventKind::Computed: {
      const int64_t beginNs = pushing.begin(saturatingAdd(event.timeNs, problem.exchange.latencyNs));
      return schedule(saturatingAdd(beginNs, pushing.transferNs), EventKind::Arrival, event.worker);
    }
    case EventKind::Arrival:
      return arrive(event.worker, event.timeNs);
    case EventKind::Start:
      return beginWaiting(event.worker, event.timeNs);
    case EventKind::Poll:
      testing.push_back(event.worker);
      isArrived = true;
      return;
    case EventKind::Read:
      return read(event.worker, event.timeNs);
    }
  }

  void arrive(uint32_t worker, int64_t nowNs) {
    result.trace.steps[workers[worker].record].pushNs = nowNs;
    clocks.advance(worker);
    BarrierMetrics &metrics = result.metrics;
    const auto missed = static_cast<double>(metrics.updates - workers[worker].updatesRead);
    progressSum += missed;
    progressSquares += missed * missed;
    // After whole rounds, as many updates are missing from the true sequence as are ahead of it.
    if (++metrics.updates % numWorkers == 0)
      metrics.sequence.push_back(2 * perWorker(clocks.lacking(metrics.updates / numWorkers)));
    beginWaiting(worker, nowNs);
  }

  void beginWaiting(uint32_t worker, int64_t nowNs) {
    workers[worker].waitsSinceNs = nowNs;
    if (problem.retestNs > 0)
      testing.push_back(worker);
    else
      waiting[clocks.clock(worker)].push_back(worker);
    isArrived = true;
  }

  /// The number of other workers that are not behind for one of this clock, which is not behind itself.
  int64_t othersInTime(int64_t clock) const { return clocks.atLeast(clock - problem.barrier.staleness) - 1; }
  double passProbability(int64_t clock) const { return viewSize == 0 ? 1 : passing[othersInTime(clock)]; }

  void test(int64_t nowNs) {
    isArrived = false;
    for (uint32_t worker : std::exchange(testing, {})) {
      ++result.metrics.tests;
      if (sampling.chance(passProbability(clocks.clock(worker))))
        pass(worker, nowNs);
      else
        schedule(saturatingAdd(nowNs, problem.retestNs), EventKind::Poll, worker);
    }
    for (auto level = waiting.begin(); level != waiting.end();) {
      ++numEvents;
      testLevel(level->first, level->second, nowNs);
      level = level->second.empty() ? waiting.erase(level) : std::next(level);
    }
  }

  void testLevel(int64_t clock, std::vector<uint32_t> &level, int64_t nowNs) {
    result.metrics.tests += static_cast<int64_t>(level.size());
    const double probability = passProbability(clock);
    if (probability <= 0)
      return;
    // Tests that fail before the next one that passes are geometrically distributed.
    const double skipScale = 1 / std::log1p(-probability);
    std::vector<size_t> passes;
    for (double next = 0; next < static_cast<double>(level.size()); ++next) {
      next += probability < 1 ? std::floor(std::log1p(-sampling.uniform()) * skipScale) : 0;
      if (next < static_cast<double>(level.size()))
        passes.push_back(static_cast<size_t>(next));
    }
    for (size_t i : passes)
      pass(level[i], nowNs);
    for (auto i = passes.rbegin(); i != passes.rend(); ++i) {
      level[*i] = level.back();
      level.pop_back();
    }
  }

  void pass(uint32_t worker, int64_t nowNs) {
    WorkerState &state = workers[worker];
    waitedNs += static_cast<double>(nowNs - std::exchange(state.waitsSinceNs, -1));
    state.record = result.trace.steps.size();
    result.trace.steps.push_back({worker, nowNs});
    if (samples)
      clocks.sampleOthers(worker, clocks.clock(worker) - problem.barrier.staleness, viewSize, sampling,
                          result.trace.views);
    if (problem.exchange.kind != Exchange::Kind::Server)
      return schedule(nowNs, EventKind::Read, worker);
    schedule(pulling.begin(saturatingAdd(nowNs, problem.exchange.latencyNs)), EventKind::Read, worker);
  }

  void read(uint32_t worker, int64_t nowNs) {
    WorkerState &state = workers[worker];
    result.trace.steps[state.record].readNs = nowNs;
    state.updatesRead = result.metrics.updates;
    lateSum += perWorker(clocks.lacking(clocks.clock(worker)));
    ++numReads;
    int64_t readyNs = saturatingAdd(nowNs, pulling.transferNs);
    if (problem.exchange.kind == Exchange::Kind::Server)
      readyNs = saturatingAdd(readyNs, problem.exchange.latencyNs);
    readyNs = saturatingAdd(readyNs, stepNs(worker));
    schedule(readyNs, problem.exchange.kind == Exchange::Kind::Free ? EventKind::Arrival : EventKind::Computed, worker);
  }

  /// The time of the worker's next step.
  int64_t stepNs(uint32_t worker) {
    if (!problem.recorded.empty()) {
      const std::vector<int64_t> &stepsNs = problem.recorded[worker].stepsNs;
      return stepsNs[static_cast<size_t>(clocks.clock(worker)) % stepsNs.size()];
    }
    const double slowness = worker < numSlow ? problem.slowness : 1;
    const auto drawnNs = static_cast<double>(problem.stepTime.draw(workers[worker].stepTimes));
    return std::llround(std::min(drawnNs * slowness, 4e18));
  }

  double perWorker(int64_t count) const { return static_cast<double>(count) / static_cast<double>(numWorkers); }

  void finish() {
    BarrierMetrics &metrics = result.metrics;
    const auto updates = static_cast<double>(metrics.updates), count = static_cast<double>(numWorkers);
    metrics.meanSteps = updates / count;
    metrics.leastSteps = metrics.mostSteps = clocks.clock(0);
    double squares = 0;
    for (uint32_t worker = 0; worker < numWorkers; ++worker) {
      const int64_t clock = clocks.clock(worker);
      metrics.leastSteps = std::min(metrics.leastSteps, clock);
      metrics.mostSteps = std::max(metrics.mostSteps, clock);
      squares += std::pow(static_cast<double>(clock) - metrics.meanSteps, 2);
      if (workers[worker].waitsSinceNs >= 0)
        waitedNs += static_cast<double>(problem.durationNs - workers[worker].waitsSinceNs);
    }
    metrics.sdSteps = std::sqrt(squares / count);
    if (metrics.updates > 0) {
      const double mean = progressSum / updates;
      metrics.meanProgress = mean / count;
      metrics.sdProgress = std::sqrt(std::max(0.0, progressSquares / updates - mean * mean)) / count;
    }
    metrics.meanLate = numReads > 0 ? lateSum / static_cast<double>(numReads) : 0;
    metrics.waitingShare = waitedNs / (count * static_cast<double>(problem.durationNs));
    if (samples)
      metrics.controlMessages = 2 * metrics.tests * viewSize;
    else if (viewSize > 0)
      metrics.controlMessages =
          2 * (problem.retestNs > 0 ? metrics.tests : static_cast<int64_t>(result.trace.steps.size()));
    const bool peers = problem.exchange.kind == Exchange::Kind::Peers;
    const int64_t shards = problem.exchange.kind == Exchange::Kind::Server ? problem.exchange.shards : 1;
    metrics.modelMessages = peers ? metrics.updates * (numWorkers - 1) : shards * (metrics.updates + 2 * numReads);
  }

  const BarrierProblem &problem;
  const int64_t numWorkers, viewSize;
  const bool samples; ///< Views are neither empty nor full.
  const int64_t numSlow;
  Clocks clocks;
  std::vector<WorkerState> workers;
  std::vector<double> passing; ///< A test's probability to pass, by the number of others that are not behind.
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events;
  std::map<int64_t, std::vector<uint32_t>> waiting; ///< Waiting workers by clock, if retestNs is 0.
  std::vector<uint32_t> testing;                    ///< Otherwise: the workers that test now.
  bool isArrived = false;                           ///< An arrival or a poll has happened, and tests have not.
  Rng sampling;
  Channel pushing, pulling;
  size_t numEvents = 0;
  int64_t numReads = 0;
  double progressSum = 0, progressSquares = 0, lateSum = 0, waitedNs = 0;
  BarrierRun result;
};

} // namespace

Expected<BarrierRun> simulateBarrier(const BarrierProblem &problem) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  return Simulation(problem).run();
}

} // namespace sluice
