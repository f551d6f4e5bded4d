//===- CompactArenas.h - Smaller arenas for a finished plan -----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_COMPACTARENAS_H
#define SLUICE_SEARCH_COMPACTARENAS_H

#include "sluice/Plan/Plan.h"

namespace sluice {

/// Gives the residencies of each arena other offsets where that makes it smaller:
/// first fit in several orders, under what the plan's streams and waits order. What
/// shares an address by the plan's design (in place, or a state and its new value)
/// still does. Commands stay, and so do times. The plan is valid, and stays so. No arena
/// grows; one of more than 4096 residencies is left as it is, and so is a plan of more than
/// 2^32 commands times streams. O(residencies^2).
void compactArenas(Plan &plan);

} // namespace sluice

#endif // SLUICE_SEARCH_COMPACTARENAS_H
