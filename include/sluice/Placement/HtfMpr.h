//===- HtfMpr.h - Mappings by a learned predictor ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// HTF-MPR (Albaqsami's thesis, chapters 4 to 6), solver `htf-mpr` of
// solvePlacement: mappings of several kinds are timed, boosted trees learn the
// time from the mapping, a genetic search asks them, and what they promise most
// is timed again.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLACEMENT_HTFMPR_H
#define SLUICE_PLACEMENT_HTFMPR_H

#include "sluice/Placement/Placement.h"

namespace sluice {

/// How a predictor is told the device of each operator: by a number between 0 and
/// 1 a device, or by the device's own number.
enum class MappingEncoding : uint8_t { OneHot, Integer };

/// Five-fold normalised Kendall tau distances (kendallDistance) between times
/// simulated and predicted; negative where there are too few mappings.
struct PredictorErrors {
  size_t mappings = 0; ///< Timed, within the capacities.
  double boosted = -1; ///< One-hot, as the solver learns.
  double integerEncoded = -1;
  double linear = -1; ///< Of one-hot mappings.
  double integerLinear = -1;
};

/// Times as many mappings as the solver would begin with and compares predictors
/// on them. Fails on a problem that does not pass check().
Expected<PredictorErrors> measureMappingPredictors(const PlacementProblem &problem, size_t mappings = 700,
                                                   uint64_t seed = 0, int threads = 1);

} // namespace sluice

#endif // SLUICE_PLACEMENT_HTFMPR_H
