//===- Tiers.h - Which tensors leave for a file, which for the host -------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_TIERS_H
#define SLUICE_LIB_SWAP_TIERS_H

#include "StepPlanner.h"
#include "sluice/Swap/SwapPlanner.h"

#include <functional>

namespace sluice::swap {

/// Plans a problem, with the tiers and the host's homes that the options have.
using PlanWithTiers = std::function<Expected<Plan>(const SwapProblem &, const StepOptions &)>;

/// Plans on a machine with files. A first plan has all the host's memory that it wants; it is the result where it fits.
/// Else its stays outside the accelerators are divided between the host's memory and a file as `params` say, and the
/// step is planned so. Where that has no room, the other divisions are tried with all homes in the file.
///
/// A stay goes to the file when the file's link is idle (or not busy for long), in the order of the stays' begins or
/// back from their ends, so that the slow link works all the time; then the shortest stays come back to the host's
/// memory while it has room, as Belady's rule would keep what is used next; or the earliest, so that the fast link
/// takes the rush in which a training step's first layers fill the memory.
///
/// `kept`: states that `plan` keeps on their devices, as ProblemIndex has them.
Expected<Plan> planInTiers(const SwapProblem &problem, const SwapParams &params, const std::vector<uint8_t> &kept,
                           const PlanWithTiers &plan);

/// Homes in the host's memory as far as it has room for them, the smallest first, and nothing else in files before the
/// host's memory is full: what planners take that try no division.
void setDefaultTiers(const ProblemIndex &index, StepOptions &options);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_TIERS_H
