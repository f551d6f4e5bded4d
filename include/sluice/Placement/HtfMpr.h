//===- HtfMpr.h - Mappings by a learned predictor ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// HTF-MPR (a heterogeneous TensorFlow mapper: Albaqsami's thesis, chapters 4 to 6) is the solver `htf-mpr` of
// solvePlacement. A mapping assigns each operator to a device. The solver simulates mappings of several kinds, trains
// boosted trees to predict the time of a mapping, searches by a genetic algorithm for the mappings with the shortest
// predicted times, and simulates these.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLACEMENT_HTFMPR_H
#define SLUICE_PLACEMENT_HTFMPR_H

#include "sluice/Placement/Placement.h"

namespace sluice {

/// The encoding of an operator's device for a predictor: one 0/1 feature for each device, or
/// the number of the device.
enum class MappingEncoding : uint8_t { OneHot, Integer };

/// Five-fold normalised Kendall tau distances (kendallDistance) between simulated and
/// predicted times; negative if there are too few mappings.
struct PredictorErrors {
  size_t mappings = 0; ///< Number of mappings that were timed and fit the capacities.
  double boosted = -1; ///< Boosted trees with one-hot encoding, as the solver uses them.
  double integerEncoded = -1;
  double linear = -1; ///< Linear model with one-hot encoding.
  double integerLinear = -1;
};

/// Times the given number of mappings, drawn as the solver draws its first ones, and
/// compares predictors on them. Fails on a problem that does not pass check().
Expected<PredictorErrors> measureMappingPredictors(const PlacementProblem &problem, size_t mappings = 700,
                                                   uint64_t seed = 0, int threads = 1);

} // namespace sluice

#endif // SLUICE_PLACEMENT_HTFMPR_H
