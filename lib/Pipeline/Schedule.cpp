//===- Schedule.cpp - The order of work in a pipeline ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Pipeline/Schedule.h"

#include <algorithm>
#include <numeric>

namespace sluice {

const std::vector<std::string> &pipelineKindNames() {
  static const std::vector<std::string> names{"gpipe", "1f1b", "interleaved"};
  return names;
}

Expected<PipelineKind> parsePipelineKind(std::string_view name) {
  const auto found = std::find(pipelineKindNames().begin(), pipelineKindNames().end(), name);
  if (found == pipelineKindNames().end())
    return makeError(ErrorCode::InvalidInput, "unknown schedule '", name.substr(0, 80),
                     "' of a pipeline, give gpipe, 1f1b or interleaved");
  return static_cast<PipelineKind>(found - pipelineKindNames().begin());
}

/// The tasks of one group: the forward passes and the backward passes each in their order, `warmup` forward passes
/// first, then one of each in turns.
static std::vector<PipelineTask> inTurns(const std::vector<PipelineTask> &forward,
                                         const std::vector<PipelineTask> &backward, size_t warmup) {
  std::vector<PipelineTask> tasks(forward.begin(), forward.begin() + static_cast<ptrdiff_t>(warmup));
  for (size_t i = 0; i < backward.size(); ++i) {
    if (warmup + i < forward.size())
      tasks.push_back(forward[warmup + i]);
    tasks.push_back(backward[i]);
  }
  return tasks;
}

Expected<PipelineSchedule> makeSchedule(PipelineKind kind, uint32_t groups, uint32_t stages, uint32_t microbatches) {
  constexpr uint32_t kMost = 1 << 10;
  const std::string &name = pipelineKindNames()[static_cast<size_t>(kind)];
  if (groups < 1 || groups > kMost || microbatches < 1 || microbatches > kMost || stages > kMost)
    return makeError(ErrorCode::InvalidInput, "a pipeline of ", groups, " groups of ranks, ", stages, " stages and ",
                     microbatches, " microbatches is out of range, give from 1 to ", kMost, " of each");
  if (stages == 0 || stages % groups != 0)
    return makeError(ErrorCode::InvalidInput, stages, " stages cannot be divided evenly among ", groups,
                     " groups of ranks, give a multiple of ", groups);
  if (kind != PipelineKind::Interleaved && stages != groups)
    return makeError(ErrorCode::InvalidInput, "schedule '", name, "' allows one stage for each of the ", groups,
                     " groups of ranks, and each has ", stages / groups, ", use schedule 'interleaved'");
  if (kind == PipelineKind::Interleaved && microbatches % groups != 0)
    return makeError(ErrorCode::InvalidInput,
                     "schedule 'interleaved' needs a number of microbatches that is a multiple of ", groups, ", and ",
                     microbatches, " is not, give another number or use schedule '1f1b'");
  PipelineSchedule schedule{groups, stages, microbatches, {}};
  const uint32_t chunks = stages / groups, total = microbatches * chunks;
  for (uint32_t group = 0; group < groups; ++group) {
    std::vector<PipelineTask> forward, backward;
    for (uint32_t i = 0; i < total; ++i) {
      // Groups of `groups` microbatches pass through all chunks before the next ones begin.
      const uint32_t chunk = i % (groups * chunks) / groups, microbatch = i / (groups * chunks) * groups + i % groups;
      if (chunks == 1) {
        forward.push_back({group, i, false});
        backward.push_back({group, i, true});
        continue;
      }
      forward.push_back({chunk * groups + group, microbatch, false});
      backward.push_back({(chunks - 1 - chunk) * groups + group, microbatch, true});
    }
    uint32_t warmup = total;
    if (kind == PipelineKind::OneForward || chunks == 1)
      warmup = groups - 1 - group;
    else if (kind == PipelineKind::Interleaved)
      warmup = 2 * (groups - 1 - group) + (chunks - 1) * groups;
    if (kind == PipelineKind::GPipe)
      warmup = total;
    schedule.tasks.push_back(inTurns(forward, backward, std::min(warmup, total)));
  }
  SLUICE_RETURN_IF_ERROR(validateSchedule(schedule));
  return schedule;
}

PipelineCosts PipelineCosts::equal(uint32_t stages, int64_t forwardNs, int64_t keptBytes) {
  PipelineCosts costs;
  costs.forwardNs.assign(stages, forwardNs);
  costs.backwardNs.assign(stages, 2 * forwardNs);
  const uint32_t cuts = stages > 0 ? stages - 1 : 0;
  costs.forwardTransferNs.assign(cuts, 0);
  costs.backwardTransferNs.assign(cuts, 0);
  costs.keptBytes.assign(stages, keptBytes);
  return costs;
}

double PipelineTimeline::bubbleShare() const {
  const double all = static_cast<double>(makespanNs) * static_cast<double>(busyNs.size());
  return all > 0 ? 1 - static_cast<double>(std::accumulate(busyNs.begin(), busyNs.end(), int64_t(0))) / all : 0;
}

double PipelineTimeline::bubbleRatio() const {
  const double share = bubbleShare();
  return share < 1 ? share / (1 - share) : 0;
}

double equalBubbleShare(uint32_t groups, uint32_t microbatches, uint32_t stagesPerGroup) {
  const double waits = static_cast<double>(groups) - 1;
  return waits / (static_cast<double>(stagesPerGroup) * static_cast<double>(microbatches) + waits);
}

} // namespace sluice
