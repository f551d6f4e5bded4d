//===- CompactArenas.h - Smaller arenas for a finished plan -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_COMPACTARENAS_H
#define SLUICE_SEARCH_COMPACTARENAS_H

#include "sluice/Plan/Plan.h"

namespace sluice {

/// Gives the residencies of an arena new offsets if this makes the arena smaller: first fit in
/// several orders. Two residencies may share bytes only if the plan's streams and waits already
/// order the commands that use them. Residencies that share an address by design (an in-place
/// operator, or a state and its new value) still do. Commands and simulated times do not change.
/// `plan` must be valid, and remains valid. No arena grows. Arenas with more than 4096
/// residencies, and plans with more than 2^32 commands times streams, are not changed.
/// O(residencies^2).
void compactArenas(Plan &plan);

} // namespace sluice

#endif // SLUICE_SEARCH_COMPACTARENAS_H
