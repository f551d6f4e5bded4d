//===- SimulatorTest.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The simulator against closed forms, against the figures of another simulation of the thesis's setting, and against
// one that draws every sample of every test.
//
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/Simulator.h"

#include "sluice/Barriers/CheckTrace.h"
#include "sluice/Optimize/Parallel.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <ctime>
#include <limits>
#include <numeric>
#include <vector>

using namespace sluice;

namespace {

constexpr int64_t kSecond = 1'000'000'000;

BarrierProblem problemOf(const char *barrier, int64_t workers, int64_t seconds, uint64_t seed = 0) {
  BarrierProblem problem;
  problem.workers = workers;
  problem.durationNs = seconds * kSecond;
  problem.barrier = *parseBarrier(barrier);
  problem.seed = seed;
  return problem;
}

BarrierRun simulated(const BarrierProblem &problem) {
  Expected<BarrierRun> run = simulateBarrier(problem);
  REQUIRE(run);
  const Status status = checkTrace(problem, *run);
  INFO((status ? "" : status.error().message));
  REQUIRE(status);
  return std::move(*run);
}

/// Of the workers' steps in `seeds` runs: mean, and standard deviation over all of them.
std::pair<double, double> stepsOver(BarrierProblem problem, uint64_t seeds) {
  double mean = 0, square = 0;
  for (problem.seed = 0; problem.seed < seeds; ++problem.seed) {
    const BarrierMetrics metrics = simulated(problem).metrics;
    mean += metrics.meanSteps / static_cast<double>(seeds);
    square += (std::pow(metrics.meanSteps, 2) + std::pow(metrics.sdSteps, 2)) / static_cast<double>(seeds);
  }
  return {mean, std::sqrt(square - mean * mean)};
}

/// Steps per worker that were begun, which the figures below count: one more than steps done, but for workers that
/// wait.
double begunOver(BarrierProblem problem, uint64_t seeds) {
  double mean = 0;
  for (problem.seed = 0; problem.seed < seeds; ++problem.seed)
    mean += static_cast<double>(simulated(problem).trace.steps.size()) / static_cast<double>(problem.workers * seeds);
  return mean;
}

/// Steps per worker where each waiting worker draws a sample after each arrival, one after the other.
double naiveSteps(const BarrierProblem &problem) {
  const auto workers = static_cast<size_t>(problem.workers);
  const auto sample = static_cast<size_t>(problem.barrier.viewSize(problem.workers));
  Rng rng(problem.seed + 1000);
  std::vector<int64_t> clocks(workers, 0), endNs(workers, -1);
  std::vector<size_t> others;
  std::vector<int64_t> view;
  for (int64_t nowNs = 0; nowNs <= problem.durationNs;) {
    for (size_t worker = 0; worker < workers; ++worker) {
      if (endNs[worker] >= 0)
        continue;
      others.clear();
      for (size_t other = 0; other < workers; ++other)
        if (other != worker)
          others.push_back(other);
      rng.shuffle(others);
      view.clear();
      for (size_t i = 0; i < sample; ++i)
        view.push_back(clocks[others[i]]);
      if (problem.barrier.passes(clocks[worker], view))
        endNs[worker] = nowNs + problem.stepTime.draw(rng);
    }
    size_t next = workers;
    for (size_t worker = 0; worker < workers; ++worker)
      if (endNs[worker] >= 0 && (next == workers || endNs[worker] < endNs[next]))
        next = worker;
    nowNs = endNs[next];
    if (nowNs <= problem.durationNs)
      ++clocks[next];
    endNs[next] = -1;
  }
  return static_cast<double>(std::accumulate(clocks.begin(), clocks.end(), int64_t(0))) / static_cast<double>(workers);
}

} // namespace

TEST_CASE("asynchronous workers and bulk steps have closed forms", "[barriers]") {
  constexpr double kT = 200, kRuns = 5, kP = 200;
  const auto [asp, aspSd] = stepsOver(problemOf("asp", 200, 200), 5);
  // A renewal process of mean 2 and variance 1: T / 2 steps, 3/8 of which is not yet done, with a variance of T / 8.
  const double error = std::sqrt(kT / 8 / (kP * kRuns));
  CHECK(std::abs(asp - (kT / 2 - 3.0 / 8)) < 3 * error);
  CHECK(std::abs(aspSd - std::sqrt(kT / 8)) < 3 * std::sqrt(kT / 8) / std::sqrt(2 * kP * kRuns));

  // A bulk step takes 1 and the longest of P exponential times, H_P: of variance below pi^2 / 6.
  double harmonic = 0;
  for (int i = 1; i <= 200; ++i)
    harmonic += 1.0 / i;
  const double bsp = stepsOver(problemOf("bsp", 200, 200), 5).first;
  const double rounds = kT / (1 + harmonic);
  const double roundsError = std::sqrt(rounds * 1.645 / kRuns) / (1 + harmonic);
  // Some workers, not all, have done the last step.
  CHECK(std::abs(bsp - rounds) < 3 * roundsError + 0.5);
  const BarrierMetrics metrics = simulated(problemOf("bsp", 200, 200)).metrics;
  CHECK(metrics.mostSteps - metrics.leastSteps <= 1);
}

TEST_CASE("steps of 200 workers in 200 s are those of the thesis's setting", "[barriers]") {
  struct Case {
    const char *barrier;
    double mean, sd, error; ///< Published with its deviation; three standard errors of both simulations' means.
  };
  for (const Case &c : {Case{"asp", 100.3, 5.0, 0.9}, Case{"bsp", 29.2, 0.4, 1.8}, Case{"ssp:4", 82.1, 3.4, 3.6},
                        Case{"pbsp:10", 70.0, 0.5, 0.7}, Case{"pssp:4,10", 97.7, 2.6, 0.7}}) {
    INFO(c.barrier);
    CHECK(std::abs(begunOver(problemOf(c.barrier, 200, 200), 5) - c.mean) < std::min(3 * c.sd, c.error));
  }
}

TEST_CASE("a larger sample lies between no barrier and bulk steps", "[barriers]") {
  const std::pair<const char *, double> cases[] = {{"pbsp:0", 100.3}, {"pbsp:1", 98.7}, {"pbsp:2", 94.4},
                                                   {"pbsp:4", 85.8},  {"pbsp:8", 73.7}, {"pbsp:16", 61.4},
                                                   {"pbsp:32", 50.4}, {"pbsp:64", 41.1}};
  double last = 101;
  for (const auto &[barrier, steps] : cases) {
    INFO(barrier);
    const double mean = begunOver(problemOf(barrier, 200, 200), 5);
    CHECK(mean == Approx(steps).margin(1.0));
    CHECK(mean < last);
    last = mean;
  }
}

TEST_CASE("tests that are not drawn one by one pass as often", "[barriers]") {
  for (const char *barrier : {"asp", "bsp", "ssp:1", "pbsp:1", "pbsp:3", "pbsp:10", "pssp:1,2", "pssp:2,11"}) {
    INFO(barrier);
    BarrierProblem problem = problemOf(barrier, 12, 50);
    constexpr int kRuns = 60;
    std::vector<double> naive, ours;
    for (problem.seed = 0; problem.seed < kRuns; ++problem.seed) {
      naive.push_back(naiveSteps(problem));
      ours.push_back(simulated(problem).metrics.meanSteps);
    }
    auto moments = [](const std::vector<double> &values) {
      double mean = 0, variance = 0;
      for (double value : values)
        mean += value / kRuns;
      for (double value : values)
        variance += (value - mean) * (value - mean) / (kRuns - 1);
      return std::pair(mean, variance);
    };
    const auto [naiveMean, naiveVariance] = moments(naive);
    const auto [mean, variance] = moments(ours);
    CHECK(std::abs(mean - naiveMean) < 3.5 * std::sqrt((variance + naiveVariance) / kRuns));
  }
}

TEST_CASE("workers that are equally fast have a schedule known by hand", "[barriers]") {
  BarrierProblem problem = problemOf("bsp", 4, 10);
  problem.stepTime = *parseStepTime("fixed:1s");
  const BarrierMetrics bsp = simulated(problem).metrics;
  CHECK(bsp.updates == 40);
  CHECK(bsp.waitingShare == 0);
  CHECK(bsp.meanProgress == Approx(1.5 / 4)); // 0, 1, 2, 3 others come before.
  CHECK(bsp.sequence == std::vector<double>(10, 0));
  CHECK(bsp.meanLate == 0);
  CHECK(bsp.tests == 44);
  CHECK(bsp.controlMessages == 88);
  CHECK(bsp.modelMessages == 40 + 2 * 44);

  // One takes three times as long: bulk steps do, and the others wait for two thirds of the time.
  problem.stragglers = 0.25;
  problem.slowness = 3;
  problem.durationNs = 9 * kSecond;
  const BarrierMetrics slow = simulated(problem).metrics;
  CHECK(slow.meanSteps == 3);
  CHECK(slow.waitingShare == Approx(0.5)); // 3 of 4 workers, 2 of 3 seconds.
  problem.barrier = *parseBarrier("asp");
  const BarrierMetrics free = simulated(problem).metrics;
  CHECK(free.leastSteps == 3);
  CHECK(free.mostSteps == 9);
  CHECK(free.waitingShare == 0);
  // After 8 updates of the three fast workers (and the first of the slow one in time) clocks spread.
  CHECK(free.sequence.back() > 0);
  CHECK(free.meanLate > 0);
  problem.barrier = *parseBarrier("ssp:2");
  const BarrierMetrics stale = simulated(problem).metrics;
  CHECK(stale.leastSteps == 3);
  CHECK(stale.mostSteps == 5);
}

TEST_CASE("recorded workers take their own times", "[barriers]") {
  // The second worker starts 3 s later, and the third step of each worker takes as long as its first.
  BarrierProblem problem = problemOf("bsp", 2, 14);
  problem.recorded = {{0, {1 * kSecond, 2 * kSecond}}, {3 * kSecond, {2 * kSecond, 1 * kSecond}}};
  for (int64_t retestNs : {int64_t(0), kSecond / 4}) {
    problem.retestNs = retestNs;
    const BarrierRun run = simulated(problem);
    std::vector<int64_t> pushes[2];
    for (const StepRecord &step : run.trace.steps)
      if (step.pushNs >= 0)
        pushes[step.worker].push_back(step.pushNs / kSecond);
    // Rounds begin at 0 and 3 s (the first), and at 5, 7, 9, 11 and 13 s.
    CHECK(pushes[0] == std::vector<int64_t>{1, 7, 8, 11, 12});
    CHECK(pushes[1] == std::vector<int64_t>{5, 6, 9, 10, 13, 14});
    // The first worker waits from 1 to 5, 8 to 9 and 12 to 13 s, the other from 6 to 7 and 10 to 11 s.
    CHECK(run.metrics.waitingShare == Approx(8.0 / 28));
  }
  problem.barrier = *parseBarrier("asp");
  problem.retestNs = 0;
  const BarrierMetrics free = simulated(problem).metrics;
  CHECK(free.waitingShare == 0);
  CHECK(free.mostSteps == 9);
  CHECK(free.leastSteps == 7);
  // A worker that starts after the end neither waits nor tests.
  problem.recorded[1].startNs = 15 * kSecond;
  const BarrierMetrics alone = simulated(problem).metrics;
  CHECK(alone.leastSteps == 0);
  CHECK(alone.waitingShare == 0);

  auto refused = [](const BarrierProblem &wrong) {
    const Status status = wrong.check();
    return status ? std::string() : status.error().message;
  };
  CHECK(refused(problem).empty());
  BarrierProblem wrong = problem;
  wrong.workers = 3;
  CHECK_THAT(refused(wrong),
             Catch::Contains("the times of 2 workers are recorded, and the barrier simulation has 3 workers"));
  wrong = problem;
  wrong.stragglers = 0.5;
  CHECK_THAT(refused(wrong), Catch::Contains("simulate only the recorded workers, and slow none"));
  for (const RecordedWorker &worker : {RecordedWorker{0, {}}, RecordedWorker{-1, {1}}, RecordedWorker{0, {0}}}) {
    wrong = problem;
    wrong.recorded[1] = worker;
    CHECK_THAT(refused(wrong), Catch::Contains("recorded worker 1 has no steps, or times that are out of range"));
  }
}

TEST_CASE("a poll passes later than a test at each arrival", "[barriers]") {
  BarrierProblem problem = problemOf("bsp", 2, 12);
  problem.stepTime = *parseStepTime("fixed:1s");
  problem.stragglers = 0.5;
  problem.slowness = 2;
  CHECK(simulated(problem).metrics.leastSteps == 6);
  problem.retestNs = 1'900'000'000; // The fast worker looks at 2.9 s and at 5.8 s, and ends its third step at 6.8 s.
  const BarrierMetrics polled = simulated(problem).metrics;
  CHECK(polled.leastSteps < 6);
  for (const char *barrier : {"asp", "pbsp:5", "pssp:2,3", "ssp:3"}) {
    problem = problemOf(barrier, 50, 100);
    const double steps = simulated(problem).metrics.meanSteps;
    problem.retestNs = kSecond / 2;
    CHECK(simulated(problem).metrics.meanSteps <= steps + 0.5);
  }
}

TEST_CASE("exchanges take the time of their links", "[barriers]") {
  BarrierProblem problem = problemOf("bsp", 4, 1000);
  problem.stepTime = *parseStepTime("fixed:1s");
  problem.exchange.kind = Exchange::Kind::Server;
  problem.exchange.bytes = 1'000'000'000; // 1 s over a link.
  problem.exchange.shards = 4;
  // Each transfer takes 1 s, and occupies the shards a quarter of it: pushes end after 0 to 0.75 s more, and so do
  // pulls. Computing and two transfers take 3 s; the last of four pulls waits 0.75 s.
  const BarrierMetrics wide = simulated(problem).metrics;
  CHECK(wide.meanSteps == Approx(1000 / 3.75).margin(1));
  CHECK(wide.modelMessages >= 4 * 3 * wide.updates);
  // A single shard serves one worker after the other: the last pull begins after 3 s.
  problem.exchange.shards = 1;
  CHECK(simulated(problem).metrics.meanSteps == Approx(1000.0 / 6).margin(1));
  // Asynchronous workers keep the shard busy, which takes 1 s for each push and each pull at a time.
  problem.barrier = *parseBarrier("asp");
  CHECK(simulated(problem).metrics.meanSteps == Approx(1000.0 / 4).margin(2));
  // A latency is paid by the request, by its answer, and by the push.
  problem = problemOf("asp", 1, 1000);
  problem.stepTime = *parseStepTime("fixed:1s");
  problem.exchange.kind = Exchange::Kind::Server;
  problem.exchange.latencyNs = kSecond / 3;
  CHECK(simulated(problem).metrics.meanSteps == Approx(500).margin(1));
  // Each of 4 peers sends to 3 others.
  problem = problemOf("bsp", 4, 1000);
  problem.stepTime = *parseStepTime("fixed:1s");
  problem.exchange.kind = Exchange::Kind::Peers;
  problem.exchange.bytes = 1'000'000'000;
  const BarrierMetrics peers = simulated(problem).metrics;
  CHECK(peers.meanSteps == Approx(1000.0 / 7).margin(1)); // Computes 1 s; the last begins 3 s later and sends for 3 s.
  CHECK(peers.modelMessages == 3 * peers.updates);
}

TEST_CASE("exchanges have the rates of a machine's links", "[barriers]") {
  Expected<Machine> machine = machinePreset("v100-16gb");
  REQUIRE(machine);
  Expected<Exchange> server = exchangeOver(*machine, Exchange::Kind::Server, 1000, 2);
  REQUIRE(server);
  const Link &link = machine->links.front();
  CHECK(server->pushBytesPerSec == std::min(link.rateFrom(link.b), link.duplexBytesPerSec / 2));
  CHECK(server->latencyNs == link.latencyNs);
  CHECK(server->bytes == 1000);
  CHECK(server->shards == 2);
  CHECK_FALSE(exchangeOver(*machine, Exchange::Kind::Peers, 1000, 1)); // It has one accelerator.
  CHECK(exchangeOver(*machinePreset("p2.8xlarge"), Exchange::Kind::Peers, 1000, 1));
  Expected<Exchange> none = exchangeOver(*machinePreset("host"), Exchange::Kind::Server, 1000, 1);
  REQUIRE_FALSE(none);
  CHECK_THAT(none.error().message, Catch::Contains("machine 'host' needs a link from the host's memory"));
  CHECK_FALSE(exchangeOver(*machine, Exchange::Kind::Server, -1, 1));
  CHECK_FALSE(exchangeOver(*machine, Exchange::Kind::Server, 1, 0));
}

TEST_CASE("runs depend on the seed and not on the threads", "[barriers]") {
  std::vector<BarrierProblem> problems;
  for (uint64_t seed = 0; seed < 4; ++seed)
    for (const char *barrier : {"ssp:2", "pbsp:5", "pssp:2,5"})
      problems.push_back(problemOf(barrier, 60, 50, seed));
  auto runAll = [&](int threads) {
    std::vector<std::vector<int64_t>> ends(problems.size());
    parallelFor(threads, problems.size(), [&](size_t i) {
      if (Expected<BarrierRun> run = simulateBarrier(problems[i]))
        for (const StepRecord &step : run->trace.steps)
          ends[i].push_back(step.pushNs);
    });
    return ends;
  };
  const auto one = runAll(1);
  CHECK(one == runAll(4));
  CHECK_FALSE(one.front().empty());
  CHECK(one[0] != one[3]);
}

TEST_CASE("a thousand and ten thousand workers take seconds of a core", "[barriers]") {
  for (const char *barrier : {"asp", "bsp", "ssp:4", "pbsp:10", "pssp:4,10"})
    for (int64_t workers : {1000, 10'000}) {
      const BarrierProblem problem = problemOf(barrier, workers, 100);
      const std::clock_t start = std::clock();
      Expected<BarrierRun> run = simulateBarrier(problem);
      const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      REQUIRE(run);
      CHECK(run->metrics.mostSteps >= 9);
      CHECK(seconds < 10);
    }
}

TEST_CASE("a sampled view costs a step no more with more workers", "[barriers]") {
  // Tests are counted though they are not drawn: the naive simulation would draw as many samples.
  const BarrierMetrics few = simulated(problemOf("pbsp:10", 100, 50)).metrics;
  const BarrierMetrics many = simulated(problemOf("pbsp:10", 1000, 50)).metrics;
  const auto perUpdate = [](const BarrierMetrics &m) {
    return static_cast<double>(m.tests) / static_cast<double>(m.updates);
  };
  CHECK(perUpdate(many) > 5 * perUpdate(few));
  CHECK(many.meanSteps > few.meanSteps); // The more arrivals, the more tests, the sooner one passes.
}

TEST_CASE("hostile problems are refused", "[barriers]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  auto refused = [](auto change) {
    BarrierProblem problem = problemOf("pbsp:2", 4, 10);
    change(problem);
    Expected<BarrierRun> run = simulateBarrier(problem);
    REQUIRE_FALSE(run);
    CHECK(run.error().code == ErrorCode::InvalidInput);
    return run.error().message;
  };
  CHECK(refused([](BarrierProblem &p) { p.workers = 0; }) ==
        "the barrier simulation cannot have 0 workers, give 1 to 1000000");
  refused([](BarrierProblem &p) { p.workers = -5; });
  refused([](BarrierProblem &p) { p.workers = std::numeric_limits<int64_t>::max(); });
  refused([](BarrierProblem &p) { p.durationNs = 0; });
  refused([](BarrierProblem &p) { p.durationNs = std::numeric_limits<int64_t>::max(); });
  refused([](BarrierProblem &p) { p.stepTime.baseNs = -1; });
  refused([](BarrierProblem &p) { p.stepTime.spreadNs = std::numeric_limits<int64_t>::max(); });
  refused([&](BarrierProblem &p) { p.stepTime.sigma = nan; });
  refused([&](BarrierProblem &p) { p.stragglers = nan; });
  refused([](BarrierProblem &p) { p.stragglers = 1.5; });
  refused([&](BarrierProblem &p) { p.slowness = nan; });
  refused([](BarrierProblem &p) { p.slowness = 0.5; });
  refused([](BarrierProblem &p) { p.barrier.staleness = -1; });
  refused([](BarrierProblem &p) { p.barrier.sample = -1; });
  refused([](BarrierProblem &p) { p.retestNs = -1; });
  refused([](BarrierProblem &p) { p.exchange.bytes = -1; });
  refused([](BarrierProblem &p) { p.exchange.shards = 0; });
  refused([](BarrierProblem &p) { p.exchange.latencyNs = -1; });
  refused([&](BarrierProblem &p) { p.exchange.pushBytesPerSec = nan; });
}

TEST_CASE("extreme problems end", "[barriers]") {
  // A step of no time would never let the clock advance: it takes 1 ns, and the run is refused as too long.
  BarrierProblem endless = problemOf("asp", 2, 1'000'000);
  endless.stepTime = *parseStepTime("fixed:0s");
  Expected<BarrierRun> run = simulateBarrier(endless);
  REQUIRE_FALSE(run);
  CHECK(run.error().code == ErrorCode::Infeasible);
  CHECK_THAT(run.error().message, Catch::Contains("give a shorter duration"));

  // The first samples alone would be 9e11 workers.
  run = simulateBarrier(problemOf("pbsp:900000", kMostWorkers, 100));
  REQUIRE_FALSE(run);
  CHECK(run.error().code == ErrorCode::Infeasible);
  CHECK_THAT(run.error().message, Catch::Contains("or a smaller sample"));

  BarrierProblem alone = problemOf("pssp:4,10", 1, 100);
  CHECK(simulated(alone).metrics.meanProgress == 0);
  CHECK(simulated(alone).metrics.waitingShare == 0);

  BarrierProblem slow = problemOf("pssp:1,3", 20, 100);
  slow.stepTime = *parseStepTime("lognormal:1s,10");
  slow.stragglers = 1;
  slow.slowness = 1e6;
  slow.exchange = {Exchange::Kind::Server, 1'000'000'000'000'000, 1, 1, 1, kMaxOverheadNs};
  CHECK(simulated(slow).metrics.updates == 0);

  BarrierProblem wide = problemOf("pbsp:1000000", 50, 100); // A sample of all is a view of all.
  CHECK(simulated(wide).metrics.meanSteps == simulated(problemOf("bsp", 50, 100)).metrics.meanSteps);
  CHECK(simulated(wide).trace.views.empty());
}
