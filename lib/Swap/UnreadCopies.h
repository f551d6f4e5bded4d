//===- UnreadCopies.h - Copies whose data nobody reads ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_SWAP_UNREADCOPIES_H
#define SLUICE_LIB_SWAP_UNREADCOPIES_H

#include "sluice/Plan/Plan.h"

namespace sluice::swap {

/// Removes from a valid plan, and says whether there were any:
/// - the parameters that are in an arena when the step begins and that no command reads there,
/// - copies of which no command reads the result, unless the step must end with it.
/// A walk makes such copies if it saves a tensor early and then keeps it, or if it evicts a parameter before its first
/// reader and restores it for the next step. The remaining commands keep their order, on each stream and across
/// streams. The time is O(c s + r) for c commands, s streams and r residencies.
bool removeUnreadCopies(const Graph &graph, Plan &plan);

} // namespace sluice::swap

#endif // SLUICE_LIB_SWAP_UNREADCOPIES_H
