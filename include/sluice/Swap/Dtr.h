//===- Dtr.h - Dynamic tensor rematerialization -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A baseline after Kirisame, Lyubomirsky, Haan, Brennan, He, Roesch, Chen and Tatlock, "Dynamic Tensor
// Rematerialization" (ICLR 2021, arXiv 2006.09616): nothing is swapped. When memory is full, DTR drops the tensor with
// the least h = c / (m * s). Here c is the time to compute the tensor and its dropped neighbours again, m is the
// tensor's size, and s is the time since its last access. A dropped tensor is computed again when it is read.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SWAP_DTR_H
#define SLUICE_SWAP_DTR_H

#include "sluice/Plan/Plan.h"
#include "sluice/Swap/SwapProblem.h"

#include <vector>

namespace sluice {

/// The operators that DTR runs with `budgetBytes` of memory, in order; an operator that runs again is listed again. DTR
/// runs the problem's order; all devices must use one memory. The heuristic is h_DTR^eq of the paper: dropped
/// neighbours are counted by union-find, and a tensor that the program does not read any more is dropped at once.
/// Parameters, inputs and states are in memory throughout. Before a state is updated, dropped tensors that depend on
/// its old value and that are read later are computed again. Fails with Infeasible if an operator does not fit and no
/// tensor can be dropped; the error has the operator and the missing bytes. Requires a problem that passes check(). The
/// time is O(e * r) for e dropped tensors and r tensors in memory.
Expected<std::vector<OperatorId>> dtrRuns(const SwapProblem &problem, int64_t budgetBytes);

/// Baseline: the runs of DTR, at addresses packed for the whole step. If the packing exceeds the memory because of
/// fragmentation, DTR runs with a smaller budget. Fails with Unsupported if operators use several memories, or the
/// host's memory.
Expected<Plan> planDtr(const SwapProblem &problem);

} // namespace sluice

#endif // SLUICE_SWAP_DTR_H
