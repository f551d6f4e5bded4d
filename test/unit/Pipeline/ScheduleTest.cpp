//===- ScheduleTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Schedule.h"
#include "sluice/Support/Rng.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

using namespace sluice;

static std::string textOf(const std::vector<PipelineTask> &tasks) {
  std::string text;
  for (const PipelineTask &task : tasks)
    text += concat(text.empty() ? "" : " ", task.isBackward ? "B" : "F", task.microbatch);
  return text;
}

TEST_CASE("schedules have the order of their papers", "[pipeline]") {
  const PipelineSchedule one = *makeSchedule(PipelineKind::OneForward, 4, 4, 6);
  CHECK(textOf(one.tasks[0]) == "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
  CHECK(textOf(one.tasks[2]) == "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
  CHECK(textOf(one.tasks[3]) == "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
  const PipelineSchedule all = *makeSchedule(PipelineKind::GPipe, 2, 2, 3);
  CHECK(textOf(all.tasks[0]) == "F0 F1 F2 B0 B1 B2");
  // Narayanan et al. 2021, figure 4: device 1 runs microbatches 1 to 4 in both chunks before 5 to 8.
  const PipelineSchedule chunks = *makeSchedule(PipelineKind::Interleaved, 4, 8, 8);
  std::vector<PipelineTask> forward;
  std::copy_if(chunks.tasks[0].begin(), chunks.tasks[0].end(), std::back_inserter(forward),
               [](const PipelineTask &task) { return !task.isBackward; });
  CHECK(textOf(forward) == "F0 F1 F2 F3 F0 F1 F2 F3 F4 F5 F6 F7 F4 F5 F6 F7");
  CHECK((forward[4] == PipelineTask{4, 0, false}));
  CHECK(textOf(chunks.tasks[3]).rfind("F0 F1 F2 F3 F0 B0 F1 B1", 0) == 0);
}

TEST_CASE("the bubbles of equal stages have their closed form", "[pipeline]") {
  for (uint32_t p : {1u, 2u, 3u, 4u, 8u})
    for (uint32_t m : {1u, 2u, 4u, 7u, 8u, 16u, 64u})
      for (PipelineKind kind : {PipelineKind::OneForward, PipelineKind::GPipe}) {
        const PipelineSchedule schedule = *makeSchedule(kind, p, p, m);
        const PipelineTimeline timeline = *simulatePipeline(schedule, PipelineCosts::equal(p, 100));
        CHECK(timeline.bubbleShare() == Approx(equalBubbleShare(p, m)).margin(1e-12));
        CHECK(timeline.makespanNs == 300 * (m + p - 1));
      }
}

TEST_CASE("interleaved stages have a bubble smaller by their number", "[pipeline]") {
  // Narayanan et al. 2021, section 2.2.2: the bubble is (p - 1) / (v m) of the ideal time.
  for (uint32_t p : {2u, 4u, 8u})
    for (uint32_t v : {1u, 2u, 3u, 4u})
      for (uint32_t m : {1u, 2u, 4u}) {
        const PipelineSchedule schedule = *makeSchedule(PipelineKind::Interleaved, p, p * v, m * p);
        const PipelineTimeline timeline = *simulatePipeline(schedule, PipelineCosts::equal(p * v, 100));
        CHECK(timeline.bubbleRatio() ==
              Approx(static_cast<double>(p - 1) / static_cast<double>(v * m * p)).margin(1e-12));
        CHECK(timeline.bubbleShare() == Approx(equalBubbleShare(p, m * p, v)).margin(1e-12));
      }
}

TEST_CASE("stages keep as many microbatches as their schedule says", "[pipeline]") {
  const PipelineCosts costs = PipelineCosts::equal(4, 100, 10);
  const PipelineTimeline one = *simulatePipeline(*makeSchedule(PipelineKind::OneForward, 4, 4, 16), costs);
  CHECK(one.keptMicrobatches == std::vector<uint32_t>{4, 3, 2, 1});
  CHECK(one.keptBytes == std::vector<int64_t>{40, 30, 20, 10});
  const PipelineTimeline all = *simulatePipeline(*makeSchedule(PipelineKind::GPipe, 4, 4, 16), costs);
  CHECK(all.keptMicrobatches == std::vector<uint32_t>{16, 16, 16, 16});
  const PipelineTimeline few = *simulatePipeline(*makeSchedule(PipelineKind::OneForward, 4, 4, 2), costs);
  CHECK(few.keptMicrobatches == std::vector<uint32_t>{2, 2, 2, 1});
}

TEST_CASE("a slow stage sets the pace", "[pipeline]") {
  PipelineCosts costs = PipelineCosts::equal(3, 100);
  costs.forwardNs[1] = 200, costs.backwardNs[1] = 400;
  const PipelineTimeline timeline = *simulatePipeline(*makeSchedule(PipelineKind::OneForward, 3, 3, 8), costs);
  // Before the slow stage: a forward pass of the first stage, and after it a backward pass. It waits once, while the
  // last stage takes 300 ns for microbatch 0 and its own forward pass of microbatch 1 takes 200 ns.
  CHECK(timeline.makespanNs == 100 + 8 * 600 + (300 - 200) + 200);
  costs = PipelineCosts::equal(2, 100);
  costs.forwardTransferNs = {50}, costs.backwardTransferNs = {70};
  CHECK(simulatePipeline(*makeSchedule(PipelineKind::OneForward, 2, 2, 1), costs)->makespanNs == 600 + 120);
}

TEST_CASE("the order of all tasks agrees with groups and dependencies", "[pipeline]") {
  for (const auto &[kind, p, v, m] : {std::tuple{PipelineKind::OneForward, 4u, 1u, 6u},
                                      {PipelineKind::GPipe, 3u, 1u, 5u},
                                      {PipelineKind::Interleaved, 2u, 3u, 4u},
                                      {PipelineKind::Interleaved, 4u, 2u, 8u},
                                      {PipelineKind::OneForward, 1u, 1u, 3u}}) {
    const PipelineSchedule schedule = *makeSchedule(kind, p, p * v, m);
    const std::vector<PipelineTask> order = *taskOrder(schedule);
    REQUIRE(order.size() == size_t(2) * p * v * m);
    std::map<std::tuple<uint32_t, uint32_t, bool>, size_t> place;
    std::vector<std::vector<PipelineTask>> perGroup(p);
    for (size_t i = 0; i < order.size(); ++i) {
      place[{order[i].stage, order[i].microbatch, order[i].isBackward}] = i;
      perGroup[schedule.groupOf(order[i].stage)].push_back(order[i]);
    }
    CHECK(perGroup == schedule.tasks);
    for (uint32_t s = 0; s < p * v; ++s)
      for (uint32_t i = 0; i < m; ++i) {
        CHECK(place[{s, i, false}] < place[{s, i, true}]);
        if (s > 0) {
          CHECK(place[{s - 1, i, false}] < place[{s, i, false}]);
          CHECK(place[{s, i, true}] < place[{s - 1, i, true}]);
        }
      }
  }
}

TEST_CASE("schedules that cannot be name the fault", "[pipeline]") {
  using Catch::Contains;
  auto fault = [](PipelineKind kind, uint32_t groups, uint32_t stages, uint32_t microbatches) {
    return makeSchedule(kind, groups, stages, microbatches).error().message;
  };
  CHECK_THAT(fault(PipelineKind::OneForward, 0, 0, 1), Contains("out of range"));
  CHECK_THAT(fault(PipelineKind::OneForward, 2, 2, 0), Contains("out of range"));
  CHECK_THAT(fault(PipelineKind::OneForward, 2, 5, 1), Contains("5 stages cannot be divided evenly among 2 groups"));
  CHECK_THAT(fault(PipelineKind::GPipe, 2, 4, 1), Contains("use schedule 'interleaved'"));
  CHECK_THAT(fault(PipelineKind::Interleaved, 4, 8, 6),
             Contains("needs a number of microbatches that is a multiple of 4, and 6 is not"));
  CHECK_THAT(parsePipelineKind("zigzag").error().message, Contains("give gpipe, 1f1b or interleaved"));
  CHECK(*parsePipelineKind("1f1b") == PipelineKind::OneForward);
  const PipelineSchedule schedule = *makeSchedule(PipelineKind::OneForward, 2, 2, 2);
  CHECK_FALSE(simulatePipeline(schedule, PipelineCosts::equal(3, 1)));
  CHECK_FALSE(simulatePipeline(schedule, PipelineCosts::equal(2, -1)));
}

TEST_CASE("the validators find what is wrong", "[pipeline]") {
  const PipelineSchedule right = *makeSchedule(PipelineKind::OneForward, 2, 2, 2);
  CHECK(validateSchedule(right));
  auto isFound = [&](auto &&change) {
    PipelineSchedule wrong = right;
    change(wrong);
    return !validateSchedule(wrong);
  };
  CHECK(isFound([](PipelineSchedule &s) { s.tasks[0].pop_back(); }));
  CHECK(isFound([](PipelineSchedule &s) { s.tasks[0][1] = s.tasks[0][0]; }));
  CHECK(isFound([](PipelineSchedule &s) { std::swap(s.tasks[0], s.tasks[1]); }));
  CHECK(isFound([](PipelineSchedule &s) { std::reverse(s.tasks[0].begin(), s.tasks[0].end()); }));
  CHECK(isFound([](PipelineSchedule &s) { std::swap(s.tasks[1][0], s.tasks[1][1]); }));
  // Each group's own order is right, and together they wait forever.
  CHECK(isFound([](PipelineSchedule &s) {
    s.tasks = {{{0, 0, false}, {0, 0, true}, {0, 1, false}, {0, 1, true}},
               {{1, 0, false}, {1, 1, false}, {1, 0, true}, {1, 1, true}}};
  }));

  const PipelineCosts costs = PipelineCosts::equal(2, 100);
  const PipelineTimeline timeline = *simulatePipeline(right, costs);
  auto isLate = [&](auto &&change) {
    PipelineTimeline wrong = timeline;
    change(wrong);
    return !validateTimeline(right, costs, wrong);
  };
  CHECK_FALSE(isLate([](PipelineTimeline &) {}));
  CHECK(isLate([](PipelineTimeline &t) { ++t.makespanNs; }));
  CHECK(isLate([](PipelineTimeline &t) { ++t.busyNs[0]; }));
  CHECK(isLate([](PipelineTimeline &t) { --t.spans[1][0].startNs, --t.spans[1][0].endNs; }));
  CHECK(isLate([](PipelineTimeline &t) { ++t.spans[0][0].endNs; }));
  CHECK(isLate([](PipelineTimeline &t) { t.spans[1].pop_back(); }));
  CHECK(isLate([](PipelineTimeline &t) { ++t.keptBytes[0]; }));
  CHECK(isLate([](PipelineTimeline &t) { ++t.keptMicrobatches[1]; }));
  // All tasks take their time in their order, and later than they could.
  CHECK(isLate([](PipelineTimeline &t) {
    for (std::vector<PipelineTimeline::Span> &spans : t.spans)
      for (PipelineTimeline::Span &span : spans)
        ++span.startNs, ++span.endNs;
    ++t.makespanNs;
  }));
  CHECK_FALSE(validateSchedule(PipelineSchedule{1, 0, 0, {{}}}));
  CHECK_FALSE(taskOrder(PipelineSchedule{1, 0, 0, {{}}}));
}
