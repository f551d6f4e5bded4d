//===- TrainingOptions.h - How a model is trained ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_TRAININGOPTIONS_H
#define SLUICE_COMPILER_TRAININGOPTIONS_H

#include "sluice/Pipeline/Schedule.h"
#include "sluice/Support/Error.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// The value of TrainingOptions::accumulate for `--train accumulate=ranks`.
inline constexpr int64_t kAccumulateRanks = 0;

/// The option `--pipeline`: the training step runs as stages on several ranks.
struct PipelineOptions {
  uint32_t stages = 2; ///< Number of stages; if it is 0, choosePipeline decides.
  /// Number of groups of ranks; it divides the number of stages. Stage s is on group s mod groups.
  uint32_t groups = 2;
  uint32_t groupRanks = 1;   ///< Ranks of each group, over which its stages are tiled.
  uint32_t microbatches = 4; ///< Number of microbatches in a step; each is one batch of the model.
  PipelineKind schedule = PipelineKind::OneForward;
  uint32_t rank = 0; ///< The rank whose program is compiled. Consecutive ranks form a group.

  uint32_t numRanks() const { return groups * groupRanks; }
};

/// One way to run a training step on N ranks: S stages, each tiled over N / S ranks. One stage is a tiling, N stages
/// are a pipeline, and all others are both.
struct PipelineCandidate {
  uint32_t stages = 1, groupRanks = 1;
  int64_t stepNs = 0;    ///< Simulated time of a step, with the copies that the memory limit makes necessary.
  int64_t peakBytes = 0; ///< The greatest peak memory of a rank without a limit.
  /// Whether a rank's peak exceeds the limit, so that its plan swaps tensors or runs operators again.
  bool isLimited = false;
  std::string problem; ///< Why the candidate cannot run; empty if it can.
};

/// The options `--train`, `--optimizer` and `--trainable`. beta1, beta2 and epsilon have the
/// defaults of the paper on Adam (Kingma and Ba, 2015). The default learning rate is the same
/// for all optimizers.
struct TrainingOptions {
  std::string loss = "softmax-cross-entropy"; ///< Also "mse" or "output", with which a result of the model is the loss.
  std::string output;                         ///< The result whose loss is computed; empty if there is one result only.
  int64_t classAxis = -1; ///< Axis of classes; -1 is axis 1 of an output of rank 4 or 5, and else the last axis.
  /// The label that softmax-cross-entropy ignores. If it is absent, every label is a class.
  std::optional<int64_t> ignoreIndex;
  /// Number of steps for each update; the update uses the mean of their gradients. With kAccumulateRanks, the ranks
  /// that train together exchange gradients between steps. Each step then begins with the update, which uses the mean
  /// of the gradients exchanged before this step, and ends with new gradients.
  int64_t accumulate = 1;
  std::string optimizer = "sgd"; ///< Or "momentum", "adam", "adamw".
  double learningRate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0;
  /// POSIX extended regular expression. An initializer is trainable if its whole name matches. If the expression is
  /// empty, all initializers with more than one float are trained.
  std::string trainable;
  /// The seed of dropout.
  uint64_t seed = 0;
  std::optional<PipelineOptions> pipeline; ///< Absent if the step is one program.
};

/// Parses "stages=4,microbatches=8", followed after commas by "schedule=gpipe|1f1b|interleaved" and, for interleaved
/// schedules, "ranks=N", which gives the number of groups. Without "ranks=", each stage has a group of its own.
/// "stages=best" leaves the number of stages to choosePipeline(). With one device, a group has one rank; with several,
/// each group has an equal share of the `devices`. Fails on an option that is unknown, missing or out of range, on
/// numbers that the schedule does not allow, and if the groups cannot divide the devices.
Expected<PipelineOptions> parsePipeline(std::string_view text, int64_t devices = 1);

/// Parses the options `--train` and `--optimizer`. `train` is "loss=softmax-cross-entropy|mse|output:NAME", followed
/// after commas by "of=OUTPUT", "axis=N" and "ignore-index=N" (only with softmax-cross-entropy), and "accumulate=N" or
/// "accumulate=ranks". `optimizer` is a name, followed after commas by "lr=" and "weight-decay=", for momentum also
/// "momentum=" and "nesterov=", and for adam and adamw also "beta1=", "beta2=" and "epsilon=". An empty
/// `optimizer` means sgd. Fails on an option that is unknown, out of range or without effect.
Expected<TrainingOptions> parseTraining(std::string_view train, std::string_view optimizer);

} // namespace sluice

#endif // SLUICE_COMPILER_TRAININGOPTIONS_H
