//===- Simulate.cpp - The times of a pipeline's tasks ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Schedule.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <optional>

namespace sluice {

namespace {

/// Ends of tasks, by stage and microbatch; absent while a task has not run.
class Ends {
public:
  explicit Ends(const PipelineSchedule &schedule)
      : microbatches(schedule.microbatches), ends(size_t(2) * schedule.stages * schedule.microbatches) {}

  std::optional<int64_t> &of(const PipelineTask &task) {
    return ends[(static_cast<size_t>(task.stage) * 2 + task.isBackward) * microbatches + task.microbatch];
  }

private:
  size_t microbatches;
  std::vector<std::optional<int64_t>> ends;
};

/// When a task's operands are there; absent while one has not been made.
std::optional<int64_t> operandsAt(const PipelineSchedule &schedule, const PipelineCosts &costs, Ends &ends,
                                  PipelineTask task) {
  const uint32_t stage = task.stage;
  auto after = [&](PipelineTask maker, int64_t transferNs) {
    std::optional<int64_t> end = ends.of(maker);
    return end ? std::optional(saturatingAdd(*end, transferNs)) : std::nullopt;
  };
  auto transfer = [&](const std::vector<int64_t> &times, uint32_t cut) {
    return schedule.groups > 1 ? times[cut] : int64_t(0);
  };
  if (!task.isBackward)
    return stage == 0 ? std::optional<int64_t>(0)
                      : after({stage - 1, task.microbatch, false}, transfer(costs.forwardTransferNs, stage - 1));
  const std::optional<int64_t> own = after({stage, task.microbatch, false}, 0);
  if (stage + 1 == schedule.stages || !own)
    return own;
  const std::optional<int64_t> gradient =
      after({stage + 1, task.microbatch, true}, transfer(costs.backwardTransferNs, stage));
  return gradient ? std::optional(std::max(*own, *gradient)) : std::nullopt;
}

void countKept(const PipelineSchedule &schedule, const PipelineCosts &costs, PipelineTimeline &timeline) {
  timeline.keptMicrobatches.assign(schedule.stages, 0);
  for (const std::vector<PipelineTask> &tasks : schedule.tasks) {
    std::vector<uint32_t> now(schedule.stages);
    int64_t bytes = 0, most = 0;
    for (const PipelineTask &task : tasks) {
      uint32_t &kept = now[task.stage];
      kept += task.isBackward ? -1 : 1;
      bytes = saturatingAdd(bytes, task.isBackward ? -costs.keptBytes[task.stage] : costs.keptBytes[task.stage]);
      most = std::max(most, bytes);
      timeline.keptMicrobatches[task.stage] = std::max(timeline.keptMicrobatches[task.stage], kept);
    }
    timeline.keptBytes.push_back(most);
  }
}

} // namespace

Expected<PipelineTimeline> simulatePipeline(const PipelineSchedule &schedule, const PipelineCosts &costs) {
  SLUICE_RETURN_IF_ERROR(validateSchedule(schedule));
  SLUICE_RETURN_IF_ERROR(costs.check(schedule));
  Ends ends(schedule);
  PipelineTimeline timeline;
  timeline.spans.resize(schedule.groups);
  timeline.busyNs.resize(schedule.groups);
  std::vector<int64_t> free(schedule.groups);
  // Each pass over the groups runs at least one task, since the schedule is valid.
  for (bool hasRun = true; hasRun;) {
    hasRun = false;
    for (uint32_t group = 0; group < schedule.groups; ++group) {
      const std::vector<PipelineTask> &tasks = schedule.tasks[group];
      std::vector<PipelineTimeline::Span> &spans = timeline.spans[group];
      while (spans.size() < tasks.size()) {
        const PipelineTask task = tasks[spans.size()];
        const std::optional<int64_t> ready = operandsAt(schedule, costs, ends, task);
        if (!ready)
          break;
        const int64_t ns = task.isBackward ? costs.backwardNs[task.stage] : costs.forwardNs[task.stage];
        const int64_t start = std::max(*ready, free[group]), end = saturatingAdd(start, ns);
        ends.of(task) = free[group] = end;
        spans.push_back({start, end});
        timeline.busyNs[group] = saturatingAdd(timeline.busyNs[group], ns);
        timeline.makespanNs = std::max(timeline.makespanNs, end);
        hasRun = true;
      }
    }
  }
  countKept(schedule, costs, timeline);
  SLUICE_RETURN_IF_ERROR(validateTimeline(schedule, costs, timeline));
  return timeline;
}

/// Whether an order has all tasks, each group's in the group's own order, and each task behind what it reads.
static Status validateOrder(const PipelineSchedule &schedule, const std::vector<PipelineTask> &order) {
  auto bad = [](const auto &...what) {
    return makeError(ErrorCode::Internal, "an order of tasks is wrong: ", what...);
  };
  Ends places(schedule);
  std::vector<size_t> done(schedule.groups);
  for (size_t i = 0; i < order.size(); ++i) {
    const PipelineTask &task = order[i];
    const uint32_t group = schedule.groupOf(task.stage);
    if (done[group] == schedule.tasks[group].size() || !(schedule.tasks[group][done[group]++] == task))
      return bad("task ", i, " is not the next one of group ", group);
    auto isMissing = [&](uint32_t stage, bool isBackward) {
      return !places.of({stage, task.microbatch, isBackward}).has_value();
    };
    if ((!task.isBackward && task.stage > 0 && isMissing(task.stage - 1, false)) ||
        (task.isBackward && isMissing(task.stage, false)) ||
        (task.isBackward && task.stage + 1 < schedule.stages && isMissing(task.stage + 1, true)))
      return bad("task ", i, " comes before one that it reads");
    places.of(task) = static_cast<int64_t>(i);
  }
  return order.size() == size_t(2) * schedule.stages * schedule.microbatches ? Status() : bad("tasks are missing");
}

Expected<std::vector<PipelineTask>> taskOrder(const PipelineSchedule &schedule) {
  SLUICE_RETURN_IF_ERROR(validateSchedule(schedule));
  SLUICE_ASSIGN_OR_RETURN(const PipelineTimeline timeline,
                          simulatePipeline(schedule, PipelineCosts::equal(schedule.stages, 1)));
  struct Ended {
    int64_t endNs;
    PipelineTask task;
  };
  std::vector<Ended> all;
  for (uint32_t group = 0; group < schedule.groups; ++group)
    for (size_t i = 0; i < schedule.tasks[group].size(); ++i)
      all.push_back({timeline.spans[group][i].endNs, schedule.tasks[group][i]});
  // Tasks take time, so a task ends after all that it waits for. Groups are in order already.
  std::stable_sort(all.begin(), all.end(), [](const Ended &a, const Ended &b) { return a.endNs < b.endNs; });
  std::vector<PipelineTask> order;
  for (const Ended &each : all)
    order.push_back(each.task);
  SLUICE_RETURN_IF_ERROR(validateOrder(schedule, order));
  return order;
}

} // namespace sluice
