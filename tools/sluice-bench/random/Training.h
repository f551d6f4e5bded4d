//===- Training.h - Training steps of random models -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_RANDOM_TRAINING_H
#define SLUICE_TOOLS_SLUICEBENCH_RANDOM_TRAINING_H

#include "Differential.h"

namespace sluice::bench {

/// Options of a training step of the model, for the first output of floats; absent if there is none.
std::optional<CompilerOptions> trainingOptions(const CompilerOptions &plain, const Subject &subject);

/// The model's inputs, and the input `target` of the loss.
std::map<std::string, HostTensor> trainingInputs(const Subject &subject, const CompilerOptions &options);

/// Compares the gradients of a compiled training step of stochastic gradient descent with central differences of the
/// loss: along the gradient, and along a random direction, in which a part that the gradient lacks shows. Returns a
/// sentence that says how they differ; empty if they agree, or if the loss is not finite or not smooth there, which
/// differences over two distances show by disagreeing.
Expected<std::string> checkGradients(const std::string &artifact, const std::map<std::string, HostTensor> &inputs,
                                     double learningRate);

/// Whether a difference quotient is the derivative that training uses: not for operators that draw numbers, keep
/// statistics, or have a gradient where their values jump.
bool hasPlainGradients(const Subject &subject);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_RANDOM_TRAINING_H
