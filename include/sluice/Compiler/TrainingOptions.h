//===- TrainingOptions.h - How a model is trained ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_TRAININGOPTIONS_H
#define SLUICE_COMPILER_TRAININGOPTIONS_H

#include "sluice/Support/Error.h"

#include <optional>
#include <string>
#include <string_view>

namespace sluice {

/// TrainingOptions::accumulate of `--train accumulate=ranks`.
inline constexpr int64_t kAccumulateRanks = 0;

/// The options `--train`, `--optimizer` and `--trainable`. The defaults are those of the
/// common frameworks.
struct TrainingOptions {
  std::string loss = "softmax-cross-entropy"; ///< Or "mse", or "output": a result of the model is the loss.
  std::string output;                         ///< The result whose loss is computed; empty: the only one.
  int64_t classAxis = -1;                     ///< -1: axis 1 of images, and otherwise the last axis.
  /// The label that softmax-cross-entropy ignores; absent: every label is a class.
  std::optional<int64_t> ignoreIndex;
  /// Number of steps whose mean gradient makes one update; kAccumulateRanks: the ranks that train together exchange
  /// gradients, and each step begins with the update by their mean.
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
};

/// Parses the two options. `train` is "loss=softmax-cross-entropy|mse|output:NAME", followed
/// after commas by "of=OUTPUT", "axis=N" and "ignore-index=N" (only with
/// softmax-cross-entropy), and "accumulate=N" or "accumulate=ranks". `optimizer` is a name, followed after commas by
/// "lr=" and "weight-decay=", for momentum also "momentum=" and "nesterov=", and for adam and
/// adamw also "beta1=", "beta2=" and "epsilon="; empty: sgd. Fails on an option that is unknown,
/// out of range or without effect.
Expected<TrainingOptions> parseTraining(std::string_view train, std::string_view optimizer);

} // namespace sluice

#endif // SLUICE_COMPILER_TRAININGOPTIONS_H
