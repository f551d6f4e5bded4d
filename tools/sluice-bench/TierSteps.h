//===- TierSteps.h - Training steps on a GPU, a host and an SSD -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The traces of G10 (Zhang et al., MICRO 2023): kernels with measured times and tensors
// with sizes, in JSON that may be packed by gzip.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_TIERSTEPS_H
#define SLUICE_TOOLS_SLUICEBENCH_TIERSTEPS_H

#include "sluice/Search/ProblemJson.h"

#include <optional>
#include <span>
#include <string>

namespace sluice::bench {

/// A step as a planning problem. A weight that kernels write is a state, a weight that none writes and what is read
/// before it is written are parameters, and a tensor that a kernel updates in place has a version for each update. The
/// machine is G10's: the SSD is a file with a link to the GPU's memory that uses the link to the host's.
struct TierStep {
  ProblemFile problem;
  int64_t hostBytes = 0; ///< Of G10's default configuration.
  int64_t kernelsNs = 0; ///< The sum of kernels' times: G10's ideal.
};
Expected<TierStep> readTierStep(const std::string &path);

/// Published results as ideal time over a policy's time; absent: not published or out of memory.
struct PublishedStep {
  std::string name;
  std::optional<double> lru, flashNeuron, deepUm, g10;
  /// G10 with other sizes of the host's memory.
  struct Point {
    int64_t hostGiB;
    double fraction;
  };
  std::vector<Point> sweep;
};
/// Null where nothing is published.
const PublishedStep *findPublished(const std::string &name);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_TIERSTEPS_H
