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

/// What `--train`, `--optimizer` and `--trainable` say. Defaults as the
/// frameworks have them.
struct TrainingOptions {
  std::string loss = "softmax-cross-entropy"; ///< Or "mse", or "output": a result that is the loss.
  std::string output;                         ///< The result it is taken of; empty: the only one.
  int64_t classAxis = -1;                     ///< -1: 1 of images, else the last.
  /// The label that softmax-cross-entropy leaves out; none: every label is a class.
  std::optional<int64_t> ignoreIndex;
  /// Steps whose mean gradient makes one update.
  int64_t accumulate = 1;
  std::string optimizer = "sgd"; ///< Or "momentum", "adam", "adamw".
  double learningRate = 0.01;
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weightDecay = 0;
  /// Regular expression of trainable initializers' names; empty: all that hold
  /// more than one float.
  std::string trainable;
  /// Of dropout.
  uint64_t seed = 0;
};

/// `train`: "loss=softmax-cross-entropy|mse|output:NAME" with, after commas,
/// "of=OUTPUT", "axis=N" and "ignore-index=N" (of softmax-cross-entropy), "accumulate=N". `optimizer`:
/// a name with, after commas, "lr=", "weight-decay=", of momentum "momentum=",
/// "nesterov=", of adam and adamw "beta1=", "beta2=", "epsilon="; empty: sgd.
/// Fails naming what is unknown, out of range, or of no effect.
Expected<TrainingOptions> parseTraining(std::string_view train, std::string_view optimizer);

} // namespace sluice

#endif // SLUICE_COMPILER_TRAININGOPTIONS_H
