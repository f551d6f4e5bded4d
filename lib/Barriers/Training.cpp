//===- Training.cpp - Ranks that train under a barrier --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Training.h"

#include "sluice/Support/Rng.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <numeric>
#include <thread>

namespace sluice {
namespace {

int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// An interrupt is noticed after this time.
constexpr int64_t kMostNapNs = 20'000'000;

/// Where the shard of rank `owner` begins; that of rank `numRanks` is the end.
int64_t shardBegin(int64_t elements, int64_t owner, int64_t numRanks) {
  return elements / numRanks * owner + std::min(owner, elements % numRanks);
}

class Worker {
public:
  Worker(Windows &windows, const BarrierTraining &training)
      : windows(windows), training(training), numRanks(windows.numRanks()), elements(training.numGradients()),
        isBulk(training.isBulk(numRanks)), rng(Rng(training.seed).fork(static_cast<uint64_t>(windows.rank()))),
        others(static_cast<size_t>(numRanks - 1)), sum(static_cast<size_t>(elements)),
        gradients(static_cast<size_t>(elements)) {
    for (int64_t i = 0; i + 1 < numRanks; ++i)
      others[static_cast<size_t>(i)] = i < windows.rank() ? i : i + 1;
  }

  Expected<std::vector<RankStep>> run(Replica &replica) {
    std::vector<RankStep> steps;
    SLUICE_RETURN_IF_ERROR(meet());
    for (int64_t clock = 0; clock < training.steps; ++clock) {
      RankStep step;
      step.arriveNs = clock == 0 ? nowNs() : steps.back().pushNs;
      SLUICE_ASSIGN_OR_RETURN(step.tests, pass(clock));
      step.passNs = step.readNs = nowNs();
      SLUICE_ASSIGN_OR_RETURN(const bool hasSum, pull(clock));
      SLUICE_RETURN_IF_ERROR(
          replica.step(clock, hasSum ? std::span<const double>(sum) : std::span<const double>(), gradients, step.loss));
      SLUICE_RETURN_IF_ERROR(push());
      step.pushNs = nowNs();
      SLUICE_RETURN_IF_ERROR(windows.advance(RankCounter::Pushed));
      steps.push_back(step);
    }
    SLUICE_RETURN_IF_ERROR(meet());
    SLUICE_RETURN_IF_ERROR(pull(training.steps));
    SLUICE_RETURN_IF_ERROR(replica.finish(sum));
    // A window goes away with its rank, and others may still read it.
    SLUICE_RETURN_IF_ERROR(meet());
    return steps;
  }

private:
  /// Returns once `test()` holds.
  template <typename Test>
  Status await(const Test &test) const {
    for (;;) {
      SLUICE_ASSIGN_OR_RETURN(const bool holds, test());
      if (holds)
        return {};
      for (int64_t leftNs = training.retestNs; leftNs > 0; leftNs -= kMostNapNs) {
        if (training.isStopped && training.isStopped())
          return makeError(ErrorCode::Interrupted, "the run was interrupted at the barrier of rank ", windows.rank(),
                           ", run the command again");
        std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(leftNs, kMostNapNs)));
      }
    }
  }

  Status awaitAll(RankCounter counter, int64_t least) {
    return await([&]() -> Expected<bool> {
      for (int64_t other : others) {
        SLUICE_ASSIGN_OR_RETURN(const int64_t count, windows.count(other, counter));
        if (count < least)
          return false;
      }
      return true;
    });
  }

  /// Returns once all ranks have called it.
  Status meet() {
    SLUICE_RETURN_IF_ERROR(windows.advance(RankCounter::Met));
    return awaitAll(RankCounter::Met, ++meetings);
  }

  /// Waits at the barrier, and returns the number of tests.
  Expected<int64_t> pass(int64_t clock) {
    const auto size = static_cast<size_t>(training.barrier.viewSize(numRanks));
    std::vector<int64_t> view(size);
    int64_t tests = 0;
    Status status = await([&]() -> Expected<bool> {
      ++tests;
      for (size_t i = 0; i < size; ++i) {
        // The first steps of a shuffle draw a sample without repetition.
        if (size < others.size())
          std::swap(others[i], others[i + rng.below(others.size() - i)]);
        SLUICE_ASSIGN_OR_RETURN(view[i], windows.count(others[i], RankCounter::Pushed));
      }
      return training.barrier.passes(clock, view);
    });
    if (!status)
      return propagate(status);
    return tests;
  }

  /// Calls `body(owner, gradients of its shard)` for each rank, beginning with this one's successor, so that ranks that
  /// push or pull at the same time do not all begin at one window.
  template <typename Body>
  Status eachShard(std::vector<double> &values, const Body &body) {
    for (int64_t i = 1; i <= numRanks; ++i) {
      const int64_t owner = (windows.rank() + i) % numRanks, begin = shardBegin(elements, owner, numRanks);
      const auto size = static_cast<size_t>(shardBegin(elements, owner + 1, numRanks) - begin);
      SLUICE_RETURN_IF_ERROR(body(owner, std::span<double>(values).subspan(static_cast<size_t>(begin), size)));
    }
    return {};
  }

  Status push() {
    return eachShard(gradients, [&](int64_t owner, std::span<double> shard) {
      return isBulk ? windows.write(owner, windows.rank() * static_cast<int64_t>(shard.size()), shard)
                    : windows.add(owner, 0, shard);
    });
  }

  /// Sets `sum`, and returns whether it has anything to apply. `clock` is the number of this rank's steps.
  Expected<bool> pull(int64_t clock) {
    if (isBulk) {
      if (clock == 0)
        return false;
      SLUICE_RETURN_IF_ERROR(sumOwnShard());
      SLUICE_RETURN_IF_ERROR(windows.advance(RankCounter::Summed));
      SLUICE_RETURN_IF_ERROR(awaitAll(RankCounter::Summed, clock));
      SLUICE_RETURN_IF_ERROR(eachShard(sum, [&](int64_t owner, std::span<double> shard) {
        return windows.read(owner, numRanks * static_cast<int64_t>(shard.size()), shard);
      }));
      return true;
    }
    std::vector<double> &total = gradients;
    SLUICE_RETURN_IF_ERROR(
        eachShard(total, [&](int64_t owner, std::span<double> shard) { return windows.read(owner, 0, shard); }));
    seen.resize(total.size());
    for (size_t i = 0; i < total.size(); ++i) {
      sum[i] = total[i] - seen[i];
      seen[i] = total[i];
    }
    return clock > 0 || std::any_of(sum.begin(), sum.end(), [](double value) { return value != 0; });
  }

  /// Adds the slots of this rank's window in the order of ranks, behind which the sum lies.
  Status sumOwnShard() {
    const int64_t own = windows.rank(), begin = shardBegin(elements, own, numRanks),
                  size = shardBegin(elements, own + 1, numRanks) - begin;
    std::vector<double> total(static_cast<size_t>(size)), slot(total.size());
    for (int64_t rank = 0; rank < numRanks; ++rank) {
      SLUICE_RETURN_IF_ERROR(windows.read(own, rank * size, slot));
      eachRun(begin, size, [&](size_t i, bool isDouble) {
        total[i] = isDouble ? total[i] + slot[i] : double(static_cast<float>(total[i]) + static_cast<float>(slot[i]));
      });
    }
    return windows.write(own, numRanks * size, total);
  }

  /// Calls `body(i, isDouble)` for gradients begin + i, i < size.
  template <typename Body>
  void eachRun(int64_t begin, int64_t size, const Body &body) const {
    int64_t first = 0;
    for (const GradientRun &run : training.gradients) {
      const int64_t from = std::max(first, begin), to = std::min(first + run.elements, begin + size);
      for (int64_t i = from; i < to; ++i)
        body(static_cast<size_t>(i - begin), run.isDouble);
      first += run.elements;
    }
  }

  Windows &windows;
  const BarrierTraining &training;
  const int64_t numRanks, elements;
  const bool isBulk;
  int64_t meetings = 0;
  Rng rng;
  std::vector<int64_t> others; ///< The other ranks, in any order.
  std::vector<double> sum, gradients;
  std::vector<double> seen; ///< The sums at the last pull.
};

/// The times at which each rank's clock grows.
std::vector<std::vector<int64_t>> pushesOf(const std::vector<std::vector<RankStep>> &ranks) {
  std::vector<std::vector<int64_t>> pushes;
  for (const std::vector<RankStep> &steps : ranks) {
    pushes.emplace_back();
    for (const RankStep &step : steps)
      pushes.back().push_back(step.pushNs);
  }
  return pushes;
}

} // namespace

int64_t BarrierTraining::numGradients() const {
  return std::accumulate(gradients.begin(), gradients.end(), int64_t(0),
                         [](int64_t sum, const GradientRun &run) { return sum + run.elements; });
}

bool BarrierTraining::isBulk(int64_t numRanks) const {
  return barrier.staleness == 0 && barrier.viewSize(numRanks) == numRanks - 1;
}

int64_t BarrierTraining::windowDoubles(int64_t numRanks) const {
  const int64_t shard = shardBegin(numGradients(), 1, numRanks);
  return isBulk(numRanks) ? (numRanks + 1) * shard : shard;
}

Status BarrierTraining::check(int64_t numRanks) const {
  SLUICE_RETURN_IF_ERROR(barrier.check());
  if (numRanks < 1 || steps < 1)
    return makeError(ErrorCode::InvalidInput, "barrier '", barrierText(barrier),
                     "' needs at least one rank and one step, and the run has ", numRanks, " ranks and ", steps,
                     " steps, give at least one of each");
  if (retestNs < 1)
    return makeError(ErrorCode::InvalidInput, "barrier '", barrierText(barrier), "' cannot be tested every ", retestNs,
                     " ns, give at least 1 ns");
  if (barrier.sample && *barrier.sample > numRanks - 1)
    return makeError(ErrorCode::InvalidInput, "barrier '", barrierText(barrier), "' has a sample of ", *barrier.sample,
                     " ranks, and each rank has only ", numRanks - 1, " other ranks, give a smaller sample");
  return {};
}

Expected<std::vector<RankStep>> trainUnderBarrier(Windows &windows, const BarrierTraining &training, Replica &replica) {
  SLUICE_RETURN_IF_ERROR(training.check(windows.numRanks()));
  return Worker(windows, training).run(replica);
}

TrainingTrace traceOf(const std::vector<std::vector<RankStep>> &ranks) {
  int64_t beginNs = std::numeric_limits<int64_t>::max(), endNs = beginNs;
  for (const std::vector<RankStep> &steps : ranks) {
    beginNs = std::min(beginNs, steps.front().arriveNs);
    endNs = std::min(endNs, steps.back().pushNs);
  }
  TrainingTrace result;
  result.beginNs = beginNs;
  result.durationNs = endNs - beginNs;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (const RankStep &step : ranks[rank]) {
      if (step.passNs > endNs)
        break;
      auto within = [&](int64_t timeNs) { return timeNs > endNs ? -1 : timeNs - beginNs; };
      result.trace.steps.push_back(
          {static_cast<uint32_t>(rank), step.passNs - beginNs, within(step.readNs), within(step.pushNs)});
    }
  std::stable_sort(result.trace.steps.begin(), result.trace.steps.end(),
                   [](const StepRecord &a, const StepRecord &b) { return a.passNs < b.passNs; });
  return result;
}

std::vector<std::vector<int64_t>> stalenessOf(const std::vector<std::vector<RankStep>> &ranks) {
  const std::vector<std::vector<int64_t>> pushes = pushesOf(ranks);
  std::vector<std::vector<int64_t>> staleness(ranks.size());
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t clock = 0; clock < ranks[rank].size(); ++clock) {
      int64_t worst = 0;
      for (size_t other = 0; other < ranks.size(); ++other) {
        const auto end = std::upper_bound(pushes[other].begin(), pushes[other].end(), ranks[rank][clock].passNs);
        worst = std::max(worst, static_cast<int64_t>(clock) - (end - pushes[other].begin()));
      }
      staleness[rank].push_back(worst);
    }
  return staleness;
}

} // namespace sluice
