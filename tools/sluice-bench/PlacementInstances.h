//===- PlacementInstances.h - Graphs that schedulers are compared on -*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_PLACEMENTINSTANCES_H
#define SLUICE_TOOLS_SLUICEBENCH_PLACEMENTINSTANCES_H

#include "sluice/Placement/Placement.h"
#include "sluice/Support/Rng.h"

#include <string>
#include <vector>

namespace sluice::bench {

struct PlacementInstance {
  Graph graph;
  Machine machine;
  CostTable costs;
  PlacementProblem problem() const { return {&graph, &machine, &costs, {}}; }
};

struct InstanceSpec {
  std::string family = "layered"; ///< One of placementFamilies().
  size_t operators = 50;          ///< About; families have sizes of their own.
  size_t devices = 3;
  /// Mean time of moving over mean time of computing.
  double communication = 1;
  /// Times on devices vary by up to this fraction of the mean, either way.
  double heterogeneity = 0.5;
  uint64_t seed = 0;
};

/// layered (random), fork-join, gauss (elimination, as in Topcuoglu et al. 2002,
/// section 5.3.1), fft (section 5.3.2).
std::vector<std::string> placementFamilies();
/// The first device is the host's, the others have a memory and a link to the
/// host each, of equal rate both ways at once.
PlacementInstance makePlacementInstance(const InstanceSpec &spec);

/// One training step of softmax regression on 100 images of 28 x 28 pixels, ten
/// operators, on a CPU and two GPUs of different speed.
PlacementInstance makeMnistSoftmax();

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_PLACEMENTINSTANCES_H
