//===- SingleAccelerator.h - Planners of one memory -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_SINGLEACCELERATOR_H
#define SLUICE_LIB_SWAP_SINGLEACCELERATOR_H

#include "sluice/Swap/SwapProblem.h"

namespace sluice::swap {

/// The memory of an accelerator, if all operators use the same one. Otherwise fails with Unsupported. `planner` names
/// the planner in the error.
Expected<MemoryId> singleAccelerator(const SwapProblem &problem, const char *planner);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_SINGLEACCELERATOR_H
