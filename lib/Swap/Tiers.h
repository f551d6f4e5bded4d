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

/// A function that plans a problem with the tiers and the host's homes of the given options.
using PlanWithTiers = std::function<Expected<Plan>(const SwapProblem &, const StepOptions &)>;

/// Plans on a machine with files. A first plan ignores the limit of the host's memory; it is the result if it fits.
/// Otherwise, its stays outside of the accelerators are divided between the host's memory and a file by `params`, and
/// the step is planned with this division. If this plan does not fit, the other divisions are tried with all homes in
/// the file.
///
/// Stays are visited in the order of their begins, or backwards in the order of their ends. A stay is assigned to the
/// file if the file's link is idle (or not busy for long), so that the slow link works all the time. Then, as long as
/// the host's memory has room, stays are moved back to it. These are the shortest ones, as Belady's rule keeps the
/// tensors that are used next; or the earliest ones, so that the fast link copies the tensors with which the first
/// layers of a training step fill the memory.
///
/// `kept`: states that `plan` keeps on their devices, in the form of ProblemIndex.
Expected<Plan> planInTiers(const SwapProblem &problem, const SwapParams &params, const std::vector<uint8_t> &kept,
                           const PlanWithTiers &plan);

/// The tiers for planners that try no division. Homes are in the host's memory as far as it has room for them, the
/// smallest first. Other tensors go to files only if the host's memory is full.
void setDefaultTiers(const ProblemIndex &index, StepOptions &options);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_TIERS_H
