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

/// TrainingOptions::accumulate of `--train accumulate=ranks`.
inline constexpr int64_t kAccumulateRanks = 0;

/// The option `--pipeline`: the training step runs as stages on several ranks.
struct PipelineOptions {
  uint32_t stages = 2;
  uint32_t ranks = 2;        ///< Divides the number of stages; stage s is on rank s mod ranks.
  uint32_t microbatches = 4; ///< Batches of the model in a step.
  PipelineKind schedule = PipelineKind::OneForward;
  uint32_t rank = 0; ///< The rank whose program is compiled.
};

/// The options `--train`, `--optimizer` and `--trainable`. beta1, beta2 and epsilon have the
/// defaults of the paper on Adam (Kingma and Ba, 2015). The default learning rate is the same
/// for all optimizers.
struct TrainingOptions {
  std::string loss = "softmax-cross-entropy"; ///< Or "mse", or "output": a result of the model is the loss.
  std::string output;                         ///< The result whose loss is computed; empty: the only result.
  int64_t classAxis = -1;                     ///< -1: axis 1 of images, and otherwise the last axis.
  /// The label that softmax-cross-entropy ignores; absent: every label is a class.
  std::optional<int64_t> ignoreIndex;
  /// Number of steps whose mean gradient makes one update. With kAccumulateRanks, the ranks that train together
  /// exchange gradients, and each step begins with the update by the mean of these gradients.
  int64_t accumulate = 1;
  std::string optimizer = "sgd"; ///< Or "momentum", "adam", "adamw".
  double learningRate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0;
  /// POSIX extended regular expression that the whole names of trainable initializers match;
  /// empty: all initializers with more than one float are trained.
  std::string trainable;
  /// The seed of dropout.
  uint64_t seed = 0;
  std::optional<PipelineOptions> pipeline; ///< Absent: the step is one program.
};

/// Parses "stages=4,microbatches=8", followed after commas by "schedule=gpipe|1f1b|interleaved" and, for interleaved
/// schedules, "ranks=N". Without ranks each stage has a rank of its own. Fails on an option that is unknown, missing or
/// out of range, and on numbers that the schedule does not allow.
Expected<PipelineOptions> parsePipeline(std::string_view text);

/// Parses the two options. `train` is "loss=softmax-cross-entropy|mse|output:NAME", followed
/// after commas by "of=OUTPUT", "axis=N" and "ignore-index=N" (only with
/// softmax-cross-entropy), and "accumulate=N" or "accumulate=ranks". `optimizer` is a name, followed after commas by
/// "lr=" and "weight-decay=", for momentum also "momentum=" and "nesterov=", and for adam and
/// adamw also "beta1=", "beta2=" and "epsilon="; empty: sgd. Fails on an option that is unknown,
/// out of range or without effect.
Expected<TrainingOptions> parseTraining(std::string_view train, std::string_view optimizer);

} // namespace sluice

#endif // SLUICE_COMPILER_TRAININGOPTIONS_H
