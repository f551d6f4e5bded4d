//===- CheckTrace.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/CheckTrace.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_set>

namespace sluice {
namespace {

/// Steps whose update arrived, in the order of arrival.
std::vector<const StepRecord *> arrivalsOf(const BarrierTrace &trace) {
  std::vector<const StepRecord *> arrivals;
  for (const StepRecord &step : trace.steps)
    if (step.pushNs >= 0)
      arrivals.push_back(&step);
  std::sort(arrivals.begin(), arrivals.end(), [](const StepRecord *a, const StepRecord *b) {
    return std::tie(a->pushNs, a->worker) < std::tie(b->pushNs, b->worker);
  });
  return arrivals;
}

/// All workers' clocks while a trace is replayed.
class Replay {
public:
  Replay(const BarrierTrace &trace, int64_t workers)
      : clocks(static_cast<size_t>(workers)), arrivals(arrivalsOf(trace)) {
    count[0] = workers;
  }

  /// Replays arrivals before that time, and with `inclusive` those at it.
  void advance(int64_t nowNs, bool inclusive) {
    for (; next < arrivals.size() && arrivals[next]->pushNs < nowNs + (inclusive ? 1 : 0); ++next) {
      int64_t &clock = clocks[arrivals[next]->worker];
      if (--count[clock] == 0)
        count.erase(clock);
      ++count[++clock];
    }
  }
  int64_t least() const { return count.begin()->first; }

  std::vector<int64_t> clocks;
  std::map<int64_t, int64_t> count; ///< Workers by clock.

private:
  std::vector<const StepRecord *> arrivals;
  size_t next = 0;
};

/// When each worker arrives at its first barrier.
std::vector<int64_t> startsOf(const BarrierProblem &problem) {
  std::vector<int64_t> starts(static_cast<size_t>(problem.workers));
  for (size_t worker = 0; worker < starts.size(); ++worker)
    starts[worker] = problem.startNs(static_cast<uint32_t>(worker));
  return starts;
}

/// A worker's time at the barrier. It ends with the run if the worker does not pass.
struct Wait {
  int64_t sinceNs, endNs;
};

std::vector<Wait> waitsOf(const BarrierProblem &problem, const BarrierTrace &trace) {
  std::vector<int64_t> since = startsOf(problem); // -1: busy.
  std::vector<Wait> waits;
  for (const StepRecord &step : trace.steps) {
    waits.push_back({since[step.worker], step.passNs});
    since[step.worker] = step.pushNs;
  }
  for (int64_t sinceNs : since)
    if (sinceNs >= 0 && sinceNs <= problem.durationNs)
      waits.push_back({sinceNs, problem.durationNs});
  return waits;
}

int64_t countTests(const BarrierProblem &problem, const BarrierTrace &trace) {
  int64_t tests = 0;
  if (problem.retestNs > 0) {
    for (const Wait &wait : waitsOf(problem, trace))
      tests += (wait.endNs - wait.sinceNs) / problem.retestNs + 1;
    return tests;
  }
  // All waiting workers test at each time of an arrival and of a start.
  std::vector<int64_t> times;
  for (int64_t startNs : startsOf(problem))
    if (startNs <= problem.durationNs)
      times.push_back(startNs);
  for (const StepRecord *step : arrivalsOf(trace))
    times.push_back(step->pushNs);
  std::sort(times.begin(), times.end());
  int64_t waiting = 0;
  auto passed = trace.steps.begin();
  for (size_t i = 0; i < times.size(); ++i) {
    for (; passed != trace.steps.end() && passed->passNs < times[i]; ++passed)
      --waiting;
    ++waiting;
    if (i + 1 == times.size() || times[i + 1] > times[i])
      tests += waiting;
  }
  return tests;
}

/// What the barrier and the messages need of a problem.
struct View {
  explicit View(const BarrierProblem &problem)
      : size(problem.barrier.viewSize(problem.workers)), isAll(size > 0 && size == problem.workers - 1) {}
  int64_t size;
  bool isAll;
  size_t recorded() const { return isAll ? 0 : static_cast<size_t>(size); }
};

template <typename... Ts>
tl::unexpected<Error> stepError(const BarrierProblem &problem, size_t index, const StepRecord &step,
                                const Ts &...what) {
  return makeError(ErrorCode::Internal, what..., ", step ", index, " of the run, of worker ", step.worker, " at ",
                   step.passNs, " ns under ", barrierText(problem.barrier),
                   ", this is a bug of Sluice, please report it");
}

/// Checks that each worker's steps follow one another within the run.
Status checkTimes(const BarrierProblem &problem, const BarrierTrace &trace) {
  std::vector<int64_t> ends = startsOf(problem); // -1: a step that ends after the run.
  std::vector<size_t> clocks(ends.size());
  int64_t lastNs = 0;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const StepRecord &step = trace.steps[i];
    if (step.worker >= ends.size())
      return stepError(problem, i, step, "the worker does not exist");
    if (step.passNs < lastNs)
      return stepError(problem, i, step, "the step is out of order");
    lastNs = step.passNs;
    int64_t &endNs = ends[step.worker];
    if (endNs < 0 || step.passNs < endNs)
      return stepError(problem, i, step, "the worker's previous step has not ended");
    if (step.passNs > problem.durationNs || step.readNs > problem.durationNs || step.pushNs > problem.durationNs)
      return stepError(problem, i, step, "the step ends after the run");
    if (step.readNs >= 0 && step.readNs < step.passNs)
      return stepError(problem, i, step, "the worker reads the weights before it passes the barrier");
    const size_t clock = clocks[step.worker]++;
    const double slowness = step.worker < problem.numStragglers() ? problem.slowness : 1;
    double leastNs = std::floor(static_cast<double>(problem.stepTime.leastNs()) * slowness);
    if (!problem.recorded.empty()) {
      const std::vector<int64_t> &stepsNs = problem.recorded[step.worker].stepsNs;
      leastNs = static_cast<double>(stepsNs[clock % stepsNs.size()]);
    }
    if (step.pushNs >= 0 && (step.readNs < 0 || static_cast<double>(step.pushNs - step.readNs) < leastNs))
      return stepError(problem, i, step, "the step is shorter than the least time of a step");
    endNs = step.pushNs;
  }
  return {};
}

/// Checks that each view lets its worker pass, and that a worker that sees all others passes as soon as it may.
Status checkViews(const BarrierProblem &problem, const BarrierTrace &trace) {
  const View view(problem);
  const Barrier &barrier = problem.barrier;
  if (trace.views.size() != trace.steps.size() * view.recorded())
    return makeError(ErrorCode::Internal, trace.views.size(), " sampled workers are recorded instead of ",
                     view.recorded(), " for each of ", trace.steps.size(),
                     " steps, in the barrier simulation, this is a bug of Sluice, please report it");
  Replay before(trace, problem.workers), now(trace, problem.workers);
  std::vector<int64_t> waitsSince = startsOf(problem);
  std::vector<int64_t> seen;
  std::unordered_set<uint32_t> distinct;
  for (size_t i = 0; i < trace.steps.size(); ++i) {
    const StepRecord &step = trace.steps[i];
    before.advance(step.passNs, false);
    now.advance(step.passNs, true);
    const int64_t clock = now.clocks[step.worker];
    seen.clear();
    distinct.clear();
    for (size_t v = i * view.recorded(); v < (i + 1) * view.recorded(); ++v) {
      const uint32_t other = trace.views[v];
      if (other >= now.clocks.size() || other == step.worker || !distinct.insert(other).second)
        return stepError(problem, i, step, "the worker's view has worker ", other,
                         ", which is this worker, is listed twice or does not exist");
      seen.push_back(now.clocks[other]);
    }
    if (view.isAll)
      seen.push_back(now.least());
    if (!barrier.passes(clock, seen))
      return stepError(problem, i, step, "the worker passed a barrier that its view forbade");
    const bool waited = waitsSince[step.worker] < step.passNs;
    const bool mightPass = view.size == 0 || (view.isAll && before.least() >= clock - barrier.staleness);
    if (problem.retestNs == 0 && waited && mightPass)
      return stepError(problem, i, step, "the worker waited although the barrier let it pass");
    waitsSince[step.worker] = step.pushNs;
  }
  now.advance(problem.durationNs, true);
  for (size_t worker = 0; worker < waitsSince.size(); ++worker)
    if (problem.retestNs == 0 && waitsSince[worker] >= 0 && waitsSince[worker] <= problem.durationNs &&
        (view.size == 0 || (view.isAll && now.least() >= now.clocks[worker] - barrier.staleness)))
      return makeError(ErrorCode::Internal, "worker ", worker,
                       " still waits at the end although the barrier lets it pass, run under ", barrierText(barrier),
                       ", this is a bug of Sluice, please report it");
  return {};
}

} // namespace

std::vector<int64_t> progressInconsistencies(const BarrierTrace &trace) {
  const std::vector<const StepRecord *> arrivals = arrivalsOf(trace);
  std::vector<int64_t> missed(trace.steps.size(), -1);
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const auto firstUnread =
        std::upper_bound(arrivals.begin(), arrivals.end(), arrivals[i]->readNs,
                         [](int64_t readNs, const StepRecord *step) { return readNs < step->pushNs; });
    missed[static_cast<size_t>(arrivals[i] - trace.steps.data())] =
        static_cast<int64_t>(i) - (firstUnread - arrivals.begin());
  }
  return missed;
}

int64_t sequenceInconsistency(const std::vector<int64_t> &clocks) {
  const auto workers = static_cast<int64_t>(clocks.size());
  int64_t updates = 0, inconsistency = 0;
  for (int64_t clock : clocks)
    updates += clock;
  for (int64_t worker = 0; worker < workers; ++worker)
    inconsistency += std::abs(clocks[worker] - (updates / workers + (worker < updates % workers ? 1 : 0)));
  return inconsistency;
}

BarrierMetrics measureTrace(const BarrierProblem &problem, const BarrierTrace &trace) {
  const View view(problem);
  const auto workers = static_cast<double>(problem.workers);
  BarrierMetrics metrics;
  std::vector<int64_t> clocks(static_cast<size_t>(problem.workers));
  for (const StepRecord *step : arrivalsOf(trace)) {
    ++clocks[step->worker];
    if (++metrics.updates % problem.workers == 0)
      metrics.sequence.push_back(static_cast<double>(sequenceInconsistency(clocks)) / workers);
  }
  auto moments = [](const std::vector<int64_t> &values) {
    double mean = 0, variance = 0;
    for (int64_t value : values)
      mean += static_cast<double>(value) / static_cast<double>(values.size());
    for (int64_t value : values)
      variance += std::pow(static_cast<double>(value) - mean, 2) / static_cast<double>(values.size());
    return std::pair(mean, std::sqrt(variance));
  };
  std::tie(metrics.meanSteps, metrics.sdSteps) = moments(clocks);
  metrics.leastSteps = *std::min_element(clocks.begin(), clocks.end());
  metrics.mostSteps = *std::max_element(clocks.begin(), clocks.end());
  std::vector<int64_t> missed = progressInconsistencies(trace);
  std::erase(missed, -1);
  std::tie(metrics.meanProgress, metrics.sdProgress) = moments(missed);
  metrics.meanProgress /= workers;
  metrics.sdProgress /= workers;

  std::vector<const StepRecord *> reads;
  for (const StepRecord &step : trace.steps)
    if (step.readNs >= 0)
      reads.push_back(&step);
  std::sort(reads.begin(), reads.end(), [](const StepRecord *a, const StepRecord *b) { return a->readNs < b->readNs; });
  Replay replay(trace, problem.workers);
  for (const StepRecord *step : reads) {
    replay.advance(step->readNs, true);
    const int64_t clock = replay.clocks[step->worker];
    for (const auto &[other, count] : replay.count)
      metrics.meanLate += static_cast<double>(std::max<int64_t>(0, clock - other) * count) / workers;
  }
  const auto numReads = static_cast<int64_t>(reads.size());
  if (numReads > 0)
    metrics.meanLate /= static_cast<double>(numReads);

  for (const Wait &wait : waitsOf(problem, trace))
    metrics.waitingShare += static_cast<double>(wait.endNs - wait.sinceNs);
  metrics.waitingShare /= workers * static_cast<double>(problem.durationNs);
  metrics.tests = countTests(problem, trace);
  const auto passes = static_cast<int64_t>(trace.steps.size());
  const int64_t questions = !view.isAll ? metrics.tests * view.size : problem.retestNs > 0 ? metrics.tests : passes;
  metrics.controlMessages = 2 * questions;
  switch (problem.exchange.kind) {
  case Exchange::Kind::Free:
    metrics.modelMessages = metrics.updates + 2 * numReads;
    break;
  case Exchange::Kind::Server:
    metrics.modelMessages = problem.exchange.shards * (metrics.updates + 2 * numReads);
    break;
  case Exchange::Kind::Peers:
    metrics.modelMessages = (problem.workers - 1) * metrics.updates;
    break;
  }
  return metrics;
}

Status checkTrace(const BarrierProblem &problem, const BarrierRun &run) {
  SLUICE_RETURN_IF_ERROR(problem.check());
  SLUICE_RETURN_IF_ERROR(checkTimes(problem, run.trace));
  SLUICE_RETURN_IF_ERROR(checkViews(problem, run.trace));
  const BarrierMetrics expected = measureTrace(problem, run.trace);
  Status status;
  auto compare = [&](const char *name, auto claimed, auto measured) {
    const auto a = static_cast<double>(claimed), b = static_cast<double>(measured);
    if (status && !(std::abs(a - b) <= 1e-6 * std::max(1.0, std::abs(b))))
      status = makeError(ErrorCode::Internal, "metric ", name, " is ", a, " and the trace gives ", b, ", run under ",
                         barrierText(problem.barrier), ", this is a bug of Sluice, please report it");
  };
  const BarrierMetrics &claimed = run.metrics;
  compare("updates", claimed.updates, expected.updates);
  compare("meanSteps", claimed.meanSteps, expected.meanSteps);
  compare("sdSteps", claimed.sdSteps, expected.sdSteps);
  compare("leastSteps", claimed.leastSteps, expected.leastSteps);
  compare("mostSteps", claimed.mostSteps, expected.mostSteps);
  compare("meanProgress", claimed.meanProgress, expected.meanProgress);
  compare("sdProgress", claimed.sdProgress, expected.sdProgress);
  compare("meanLate", claimed.meanLate, expected.meanLate);
  compare("waitingShare", claimed.waitingShare, expected.waitingShare);
  compare("tests", claimed.tests, expected.tests);
  compare("controlMessages", claimed.controlMessages, expected.controlMessages);
  compare("modelMessages", claimed.modelMessages, expected.modelMessages);
  compare("sequence's length", claimed.sequence.size(), expected.sequence.size());
  for (size_t i = 0; status && i < expected.sequence.size(); ++i)
    compare("sequence", claimed.sequence[i], expected.sequence[i]);
  return status;
}

} // namespace sluice
