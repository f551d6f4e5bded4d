//===- ValidatePipeline.cpp - Checks of cuts, schedules and timelines -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Cuts.h"
#include "sluice/Pipeline/Schedule.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <queue>
#include <tuple>

namespace sluice {

Status validateCuts(const CutProblem &problem, const CutSolution &solution) {
  auto bad = [](const auto &...what) { return makeError(ErrorCode::Internal, "cuts are wrong: ", what...); };
  SLUICE_RETURN_IF_ERROR(problem.check());
  const std::vector<size_t> &firsts = solution.firsts;
  if (firsts.size() != static_cast<size_t>(problem.stages) || firsts.front() != 0)
    return bad("there are ", firsts.size(), " stages instead of ", problem.stages,
               ", or the first stage does not begin at the first operator");
  int64_t pace = 0, bytes = 0;
  for (size_t s = 0; s < firsts.size(); ++s) {
    const size_t end = s + 1 < firsts.size() ? firsts[s + 1] : problem.workNs.size();
    if (firsts[s] >= end || end > problem.workNs.size())
      return bad("stage ", s, " has no operators");
    int64_t work = 0;
    for (size_t i = firsts[s]; i < end; ++i)
      work = saturatingAdd(work, problem.workNs[i]);
    pace = std::max({pace, work, s > 0 ? problem.transferNs(firsts[s]) : int64_t(0)});
    bytes = saturatingAdd(bytes, s > 0 ? problem.crossingBytes[firsts[s]] : 0);
  }
  if (pace != solution.paceNs || bytes != solution.bytes)
    return bad("a pace of ", solution.paceNs, " ns and ", solution.bytes, " bytes are stated instead of ", pace,
               " ns and ", bytes, " bytes");
  return {};
}

static std::string nameOf(const PipelineTask &task) {
  return concat(task.isBackward ? "B" : "F", task.microbatch, " of stage ", task.stage);
}

Status validateSchedule(const PipelineSchedule &schedule) {
  auto bad = [](const auto &...what) { return makeError(ErrorCode::Internal, "a schedule is wrong: ", what...); };
  using Key = std::tuple<uint32_t, uint32_t, bool>; // Stage, microbatch, backward.
  auto keyOf = [](const PipelineTask &task) { return Key(task.stage, task.microbatch, task.isBackward); };
  if (schedule.groups == 0 || schedule.stages == 0 || schedule.microbatches == 0 ||
      schedule.tasks.size() != schedule.groups)
    return bad(schedule.tasks.size(), " lists of tasks for ", schedule.groups, " groups, ", schedule.stages,
               " stages and ", schedule.microbatches, " microbatches");
  std::map<Key, size_t> number;
  for (uint32_t group = 0; group < schedule.groups; ++group)
    for (const PipelineTask &task : schedule.tasks[group]) {
      if (task.stage >= schedule.stages || task.microbatch >= schedule.microbatches ||
          task.stage % schedule.groups != group)
        return bad(nameOf(task), " is in group ", group, " of ", schedule.groups);
      if (!number.emplace(keyOf(task), number.size()).second)
        return bad(nameOf(task), " is listed twice");
    }
  const size_t all = size_t(2) * schedule.stages * schedule.microbatches;
  if (number.size() != all)
    return bad("there are ", number.size(), " tasks instead of ", all);
  // Kahn's algorithm on dependencies and on the order within groups: a task left over is in a cycle of waits.
  std::vector<std::vector<size_t>> next(all);
  std::vector<size_t> waits(all);
  auto edge = [&](const Key &from, const Key &to) {
    next[number.at(from)].push_back(number.at(to));
    ++waits[number.at(to)];
  };
  for (const std::vector<PipelineTask> &tasks : schedule.tasks)
    for (size_t i = 0; i < tasks.size(); ++i) {
      const auto [stage, microbatch, isBackward] = keyOf(tasks[i]);
      if (i > 0)
        edge(keyOf(tasks[i - 1]), keyOf(tasks[i]));
      if (!isBackward && stage > 0)
        edge({stage - 1, microbatch, false}, keyOf(tasks[i]));
      if (isBackward)
        edge({stage, microbatch, false}, keyOf(tasks[i]));
      if (isBackward && stage + 1 < schedule.stages)
        edge({stage + 1, microbatch, true}, keyOf(tasks[i]));
    }
  std::queue<size_t> ready;
  for (size_t i = 0; i < all; ++i)
    if (waits[i] == 0)
      ready.push(i);
  size_t ran = 0;
  for (; !ready.empty(); ready.pop(), ++ran)
    for (size_t i : next[ready.front()])
      if (--waits[i] == 0)
        ready.push(i);
  return ran == all ? Status() : bad(all - ran, " tasks wait for each other");
}

Status PipelineCosts::check(const PipelineSchedule &schedule) const {
  const size_t stages = schedule.stages, cuts = stages - 1;
  const std::pair<const std::vector<int64_t> *, size_t> lists[] = {{&forwardNs, stages},
                                                                   {&backwardNs, stages},
                                                                   {&keptBytes, stages},
                                                                   {&forwardTransferNs, cuts},
                                                                   {&backwardTransferNs, cuts}};
  for (const auto &[list, size] : lists)
    if (list->size() != size || std::any_of(list->begin(), list->end(), [](int64_t number) { return number < 0; }))
      return makeError(ErrorCode::InvalidInput, "a list of the costs of a pipeline of ", stages,
                       " stages has the wrong length or a negative number, give a number from 0 for each stage and for "
                       "each cut between stages");
  return {};
}

/// Whether the group's tasks have their durations and are one after the other.
static Status checkGroup(const std::vector<PipelineTask> &tasks, const PipelineCosts &costs,
                         const std::vector<PipelineTimeline::Span> &spans, int64_t busyNs) {
  auto bad = [](const auto &...what) { return makeError(ErrorCode::Internal, "a timeline is wrong: ", what...); };
  int64_t last = 0, busy = 0;
  if (spans.size() != tasks.size())
    return bad("there are ", spans.size(), " times for ", tasks.size(), " tasks");
  for (size_t i = 0; i < tasks.size(); ++i) {
    const int64_t ns = tasks[i].isBackward ? costs.backwardNs[tasks[i].stage] : costs.forwardNs[tasks[i].stage];
    if (spans[i].startNs < last || spans[i].endNs != saturatingAdd(spans[i].startNs, ns))
      return bad(nameOf(tasks[i]), " runs from ", spans[i].startNs, " to ", spans[i].endNs, " ns");
    last = spans[i].endNs, busy = saturatingAdd(busy, ns);
  }
  return busy == busyNs ? Status() : bad("a group is stated to work for ", busyNs, " ns instead of ", busy);
}

/// Whether the most microbatches and bytes that are kept at one time are those of the tasks. What a forward pass makes
/// is kept from its place in the group's list to the place of its backward pass.
static Status checkKept(const PipelineSchedule &schedule, const PipelineCosts &costs, uint32_t group,
                        const PipelineTimeline &timeline) {
  const std::vector<PipelineTask> &tasks = schedule.tasks[group];
  auto mostOf = [&](uint32_t stage, bool ofGroup) {
    std::vector<int64_t> change(tasks.size());
    for (size_t i = 0; i < tasks.size(); ++i)
      if (ofGroup || tasks[i].stage == stage)
        change[i] = (tasks[i].isBackward ? -1 : 1) * (ofGroup ? costs.keptBytes[tasks[i].stage] : 1);
    std::partial_sum(change.begin(), change.end(), change.begin());
    return change.empty() ? int64_t(0) : std::max<int64_t>(0, *std::max_element(change.begin(), change.end()));
  };
  auto bad = [](const auto &...what) { return makeError(ErrorCode::Internal, "a timeline is wrong: ", what...); };
  if (const int64_t most = mostOf(0, true); timeline.keptBytes[group] != most)
    return bad("group ", group, " keeps ", timeline.keptBytes[group], " bytes instead of ", most);
  for (uint32_t stage = group; stage < schedule.stages; stage += schedule.groups)
    if (const int64_t most = mostOf(stage, false); timeline.keptMicrobatches[stage] != most)
      return bad("stage ", stage, " keeps ", timeline.keptMicrobatches[stage], " microbatches instead of ", most);
  return {};
}

Status validateTimeline(const PipelineSchedule &schedule, const PipelineCosts &costs,
                        const PipelineTimeline &timeline) {
  auto bad = [](const auto &...what) { return makeError(ErrorCode::Internal, "a timeline is wrong: ", what...); };
  SLUICE_RETURN_IF_ERROR(costs.check(schedule));
  if (timeline.spans.size() != schedule.groups || timeline.busyNs.size() != schedule.groups ||
      timeline.keptBytes.size() != schedule.groups || timeline.keptMicrobatches.size() != schedule.stages)
    return bad("the timeline has ", timeline.spans.size(), " groups instead of ", schedule.groups,
               ", or its lists have wrong lengths");
  std::map<std::tuple<uint32_t, uint32_t, bool>, PipelineTimeline::Span> spans;
  std::map<std::tuple<uint32_t, uint32_t, bool>, int64_t> freeAt; // When its group has done what comes before.
  int64_t makespan = 0;
  for (uint32_t group = 0; group < schedule.groups; ++group) {
    const std::vector<PipelineTask> &tasks = schedule.tasks[group];
    SLUICE_RETURN_IF_ERROR(checkGroup(tasks, costs, timeline.spans[group], timeline.busyNs[group]));
    SLUICE_RETURN_IF_ERROR(checkKept(schedule, costs, group, timeline));
    for (size_t i = 0; i < tasks.size(); ++i) {
      spans[{tasks[i].stage, tasks[i].microbatch, tasks[i].isBackward}] = timeline.spans[group][i];
      freeAt[{tasks[i].stage, tasks[i].microbatch, tasks[i].isBackward}] =
          i > 0 ? timeline.spans[group][i - 1].endNs : 0;
      makespan = std::max(makespan, timeline.spans[group][i].endNs);
    }
  }
  if (makespan != timeline.makespanNs)
    return bad("a makespan of ", timeline.makespanNs, " ns is stated instead of ", makespan);
  for (const auto &[key, span] : spans) {
    const auto [stage, microbatch, isBackward] = key;
    auto endOf = [&, microbatch = microbatch](uint32_t of, bool backward, int64_t transferNs) {
      return saturatingAdd(spans.at({of, microbatch, backward}).endNs, schedule.groups > 1 ? transferNs : 0);
    };
    int64_t ready = 0;
    if (!isBackward && stage > 0)
      ready = endOf(stage - 1, false, costs.forwardTransferNs[stage - 1]);
    if (isBackward)
      ready = spans.at({stage, microbatch, false}).endNs;
    if (isBackward && stage + 1 < schedule.stages)
      ready = std::max(ready, endOf(stage + 1, true, costs.backwardTransferNs[stage]));
    if (span.startNs != std::max(ready, freeAt.at(key)))
      return bad(nameOf({stage, microbatch, isBackward}), " starts at ", span.startNs,
                 " ns, its operands are there at ", ready, " ns, and its group is free at ", freeAt.at(key), " ns");
  }
  return {};
}

} // namespace sluice
