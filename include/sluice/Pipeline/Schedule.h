//===- Schedule.h - The order of work in a pipeline --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A training step of a pipeline runs each stage forward and backward once for each microbatch. Stage s belongs to
// group s mod p of p groups of ranks. A schedule is the order in which each group runs its tasks.
//
// Example: 1F1B with 2 groups and 3 microbatches. F0 is the forward pass of microbatch 0.
//
//   group 0: F0 F1 B0 F2 B1 B2
//   group 1: F0 B0 F1 B1 F2 B2
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PIPELINE_SCHEDULE_H
#define SLUICE_PIPELINE_SCHEDULE_H

#include "sluice/Support/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

enum class PipelineKind : uint8_t {
  GPipe,       ///< All forward passes, then all backward passes (Huang et al., 2019).
  OneForward,  ///< 1F1B: a backward pass as early as possible (Narayanan et al., 2019; PipeDream-flush).
  Interleaved, ///< 1F1B where each group has several stages (Narayanan et al., 2021, section 2.2).
};
/// "gpipe", "1f1b" and "interleaved".
const std::vector<std::string> &pipelineKindNames();
Expected<PipelineKind> parsePipelineKind(std::string_view name);

struct PipelineTask {
  uint32_t stage = 0, microbatch = 0;
  bool isBackward = false;

  bool operator==(const PipelineTask &) const = default;
};

struct PipelineSchedule {
  uint32_t groups = 1, stages = 1, microbatches = 1;
  std::vector<std::vector<PipelineTask>> tasks; ///< Per group, in order.

  uint32_t groupOf(uint32_t stage) const { return stage % groups; }
};

/// `stages` must be a multiple of `groups`. For GPipe and OneForward it must be equal to `groups`. For Interleaved, the
/// number of microbatches must be a multiple of `groups`.
Expected<PipelineSchedule> makeSchedule(PipelineKind kind, uint32_t groups, uint32_t stages, uint32_t microbatches);

/// Checks that each group has all tasks of its stages once, and that the groups do not wait for each other forever.
Status validateSchedule(const PipelineSchedule &schedule);

/// Times and sizes of one microbatch.
struct PipelineCosts {
  std::vector<int64_t> forwardNs, backwardNs; ///< Per stage: the time of a forward and of a backward pass.
  /// Per stage except the last: the time to transfer activations to the next stage, and the time to transfer gradients
  /// back. A transfer is between the end of one task and the start of another, but occupies no group. With a single
  /// group, transfers take no time.
  std::vector<int64_t> forwardTransferNs, backwardTransferNs;
  std::vector<int64_t> keptBytes; ///< Per stage: bytes that it keeps from its forward pass for its backward pass.

  /// The costs of equal stages without transfers. A backward pass takes twice the time of a forward pass.
  static PipelineCosts equal(uint32_t stages, int64_t forwardNs, int64_t keptBytes = 0);
  Status check(const PipelineSchedule &schedule) const;
};

struct PipelineTimeline {
  struct Span {
    int64_t startNs = 0, endNs = 0;
  };
  std::vector<std::vector<Span>> spans; ///< Per group: the times of its tasks, in order.
  int64_t makespanNs = 0;
  std::vector<int64_t> busyNs; ///< Per group: the total time of its tasks.
  /// Per stage: the largest number of microbatches that have had their forward pass and not yet their backward pass at
  /// one time.
  std::vector<uint32_t> keptMicrobatches;
  std::vector<int64_t> keptBytes; ///< Per group: the most bytes kept at one time.

  /// The share of the groups' time in which they wait.
  double bubbleShare() const;
  /// The time for which a group waits divided by the time for which it works, on average over the groups.
  double bubbleRatio() const;
};

/// Simulates a schedule. Each task starts as early as its group and its operands allow.
Expected<PipelineTimeline> simulatePipeline(const PipelineSchedule &schedule, const PipelineCosts &costs);

/// Checks a timeline of a valid schedule independently of the simulator. Every task must start as early as it can and
/// last exactly as long as the costs say. The sums, the kept microbatches and the kept bytes must agree with the tasks.
Status validateTimeline(const PipelineSchedule &schedule, const PipelineCosts &costs, const PipelineTimeline &timeline);

/// All tasks of all groups, sorted by their ends in a simulation of equal stages without transfers. The order agrees
/// with each group's order and with all dependencies. If all groups issue their exchanges in the order of the tasks
/// that make the data, no exchange waits for another in a cycle.
Expected<std::vector<PipelineTask>> taskOrder(const PipelineSchedule &schedule);

/// The share of bubbles, that is, of times in which groups wait, for equal stages without transfers. With p groups, m
/// microbatches and v stages in each group (1 in GPipe and 1F1B), the share is (p - 1) / (v * m + p - 1).
double equalBubbleShare(uint32_t groups, uint32_t microbatches, uint32_t stagesPerGroup = 1);

} // namespace sluice

#endif // SLUICE_PIPELINE_SCHEDULE_H
