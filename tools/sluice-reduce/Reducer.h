//===- Reducer.h - Shrinks a model while a test holds -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Delta debugging (Zeller and Hildebrandt, "Simplifying and Isolating
// Failure-Inducing Input", 2002) over a model's outputs, nodes, constants and
// options, in rounds until none changes anything.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEREDUCE_REDUCER_H
#define SLUICE_TOOLS_SLUICEREDUCE_REDUCER_H

#include "Subject.h"

#include <functional>

namespace sluice::reduce {

struct ReduceParams {
  std::string command; ///< {} stands for the candidate's path.
  int64_t timeoutNs = 0;
  int64_t maxTests = 0;
};

struct Progress {
  int64_t tests = 0;       ///< Commands run.
  int64_t interesting = 0; ///< Of those, with exit code 0.
  int nodes = 0;           ///< Of the best model.
  int64_t bytes = 0;
};

struct Reduction {
  Progress progress;
  bool outOfTests = false;
};

/// Takes every better model, serialized.
using Accept = std::function<Status(const std::string &bytes, const Progress &progress)>;

/// Fails where the command does not find the whole model interesting. Each accepted model passes ModelFile's checks
/// and was found interesting itself; the first is the whole model with its data inside. Stops early, without failure,
/// at maxTests and on SIGINT.
Expected<Reduction> reduceModel(const Subject &subject, const std::string &name, const TemporaryDirectory &scratch,
                                const ReduceParams &params, const Accept &accept);

} // namespace sluice::reduce

#endif // SLUICE_TOOLS_SLUICEREDUCE_REDUCER_H
