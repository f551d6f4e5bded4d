//===- CheckTraceTest.cpp -------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Barriers/CheckTrace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

using namespace sluice;

namespace {

/// A worker's steps, back to back, that end at these times.
void addSteps(BarrierTrace &trace, uint32_t worker, const std::vector<int64_t> &ends) {
  int64_t lastNs = 0;
  for (int64_t endNs : ends) {
    trace.steps.push_back({worker, lastNs, lastNs, endNs});
    lastNs = endNs;
  }
}

/// The thesis's figure 6.1: at 100 ns workers have done 4, 2, 6, 1 and 2 steps, and w1, w2 and w4 do 2, 2 and 3 more
/// before w3 has done its seventh.
BarrierTrace figure61() {
  BarrierTrace trace;
  addSteps(trace, 0, {25, 50, 75, 99, 110, 120});
  addSteps(trace, 1, {50, 98, 111, 121});
  addSteps(trace, 2, {20, 30, 40, 60, 80, 100, 130});
  addSteps(trace, 3, {97, 105, 115, 125});
  addSteps(trace, 4, {45, 90});
  std::stable_sort(trace.steps.begin(), trace.steps.end(),
                   [](const StepRecord &a, const StepRecord &b) { return a.passNs < b.passNs; });
  return trace;
}

BarrierProblem problemOf61() {
  BarrierProblem problem;
  problem.workers = 5;
  problem.durationNs = 130;
  problem.barrier = *parseBarrier("asp");
  problem.stepTime = {StepTime::Kind::Uniform, 1, 100, 0};
  return problem;
}

BarrierProblem sampledProblem() {
  BarrierProblem problem;
  problem.workers = 10;
  problem.durationNs = 50'000'000'000;
  problem.barrier = *parseBarrier("pbsp:3");
  return problem;
}

std::string fault(const BarrierProblem &problem, const BarrierRun &run) {
  const Status status = checkTrace(problem, run);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == ErrorCode::Internal);
  return status.error().message;
}

} // namespace

TEST_CASE("figure 6.1's inconsistencies", "[barriers]") {
  CHECK(sequenceInconsistency({4, 2, 6, 1, 2}) == 8);
  CHECK(sequenceInconsistency({3, 3, 3, 3, 3}) == 0);
  CHECK(sequenceInconsistency({4, 4, 3, 3, 3}) == 0); // The fourth round has begun.
  CHECK(sequenceInconsistency({3, 3, 3, 4, 4}) == 4);

  const BarrierTrace trace = figure61();
  const std::vector<int64_t> missed = progressInconsistencies(trace);
  const auto seventh = std::find_if(trace.steps.begin(), trace.steps.end(),
                                    [](const StepRecord &step) { return step.worker == 2 && step.pushNs == 130; });
  REQUIRE(seventh != trace.steps.end());
  CHECK(missed[static_cast<size_t>(seventh - trace.steps.begin())] == 7);

  const BarrierMetrics metrics = measureTrace(problemOf61(), trace);
  REQUIRE(metrics.sequence.size() == 4); // After 5, 10, 15 and 20 updates.
  CHECK(metrics.sequence[2] == Approx(8.0 / 5));
  CHECK(metrics.updates == 23);
  CHECK(metrics.mostSteps == 7);
  CHECK(metrics.leastSteps == 2);
}

TEST_CASE("a trace is what the checker says", "[barriers]") {
  const BarrierTrace trace = figure61();
  const BarrierProblem problem = problemOf61();
  BarrierRun run{trace, measureTrace(problem, trace)};
  // The fifth worker has ended its steps before the run's end and begins none.
  CHECK_THAT(fault(problem, run), Catch::Contains("worker 0 still waits at the end although the barrier lets it pass"));
}

TEST_CASE("forbidden traces are found", "[barriers]") {
  using Catch::Contains;
  const BarrierProblem problem = sampledProblem();
  Expected<BarrierRun> run = simulateBarrier(problem);
  REQUIRE(run);
  REQUIRE(checkTrace(problem, *run));
  const BarrierTrace &trace = run->trace;
  constexpr size_t kSample = 3;

  // The first step that a worker begins while another one is behind it.
  std::vector<int64_t> clocks(10, 0);
  bool tried = false;
  for (size_t i = 10; i < trace.steps.size() && !tried; ++i) {
    std::fill(clocks.begin(), clocks.end(), 0);
    for (const StepRecord &step : trace.steps)
      clocks[step.worker] += step.pushNs >= 0 && step.pushNs <= trace.steps[i].passNs;
    for (uint32_t other = 0; other < 10 && !tried; ++other) {
      if (clocks[other] >= clocks[trace.steps[i].worker])
        continue;
      BarrierRun forbidden = *run;
      for (size_t v = 0; v < kSample; ++v)
        if (forbidden.trace.views[kSample * i + v] == other)
          FAIL("the worker saw one that is behind");
      forbidden.trace.views[kSample * i] = other;
      CHECK_THAT(fault(problem, forbidden), Contains("passed a barrier that its view forbade"));
      tried = true;
    }
  }
  CHECK(tried);

  auto changed = [&](auto change) {
    BarrierRun other = *run;
    change(other);
    return fault(problem, other);
  };
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.views[0] = r.trace.steps[0].worker; }),
             Contains("is listed twice or does not exist"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.views[0] = r.trace.views[1]; }),
             Contains("is listed twice or does not exist"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.views[0] = 10; }), Contains("is listed twice or does not exist"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.views.pop_back(); }),
             Contains("sampled workers are recorded instead of 3"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.steps[3].worker = 10; }), Contains("the worker does not exist"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.steps[3].passNs = -1; }), Contains("out of order"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.steps[3].readNs = -2; }),
             Contains("shorter than the least time of a step"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.steps[3].pushNs = 5; }),
             Contains("shorter than the least time of a step"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.steps[3].pushNs += 1'000'000'000'000; }),
             Contains("the step ends after the run"));
  CHECK_THAT(changed([](BarrierRun &r) { r.trace.steps[1].worker = r.trace.steps[0].worker; }),
             Contains("has not ended"));
  CHECK_THAT(changed([](BarrierRun &r) { r.metrics.meanProgress += 0.01; }), Contains("metric meanProgress"));
  CHECK_THAT(changed([](BarrierRun &r) { r.metrics.meanLate += 0.01; }), Contains("metric meanLate"));
  CHECK_THAT(changed([](BarrierRun &r) { ++r.metrics.tests; }), Contains("metric tests"));
  CHECK_THAT(changed([](BarrierRun &r) { r.metrics.sequence.back() += 0.2; }), Contains("metric sequence"));
}

TEST_CASE("a step that is shorter than its record is found", "[barriers]") {
  BarrierProblem problem = sampledProblem();
  problem.workers = 2;
  problem.barrier = *parseBarrier("bsp");
  problem.recorded = {{0, {3'000'000'000, 2'000'000'000}}, {1'000'000'000, {2'000'000'000}}};
  Expected<BarrierRun> run = simulateBarrier(problem);
  REQUIRE(run);
  REQUIRE(checkTrace(problem, *run));
  problem.recorded[0].stepsNs[0] += 1;
  CHECK_THAT(fault(problem, *run), Catch::Contains("shorter than the least time of a step"));
  problem.recorded[0].stepsNs[0] -= 1;
  problem.recorded[1].startNs += 1;
  CHECK_THAT(fault(problem, *run), Catch::Contains("has not ended"));
}

TEST_CASE("a full view that lets pass is not waited for", "[barriers]") {
  BarrierProblem problem = sampledProblem();
  problem.barrier = *parseBarrier("bsp");
  Expected<BarrierRun> run = simulateBarrier(problem);
  REQUIRE(run);
  REQUIRE(checkTrace(problem, *run));
  // All of the second round begin a little later.
  BarrierRun late = *run;
  for (size_t i = 10; i < 20; ++i) {
    late.trace.steps[i].passNs += 1000;
    late.trace.steps[i].readNs += 1000;
  }
  CHECK_THAT(fault(problem, late), Catch::Contains("waited although the barrier let it pass"));
}
