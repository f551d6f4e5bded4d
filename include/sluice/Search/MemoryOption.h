//===- MemoryOption.h - "--memory gpu0=60%" ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_MEMORYOPTION_H
#define SLUICE_SEARCH_MEMORYOPTION_H

#include "sluice/Search/Search.h"

#include <string_view>

namespace sluice {

struct MemoryNeeds {
  MinimumBytes least;    ///< The largest working set of one operator.
  int64_t peakBytes = 0; ///< The liveness peak with all parameters resident, in the model's order.
};
/// Of a memory in which some device computes. Operators without a placement count as if they were all on that memory's
/// device. Where the host's memory streams from a file (fileBelowHost), its homes are in both numbers. The problem's
/// graph, machine and costs pass their checks.
Expected<MemoryNeeds> memoryNeeds(const SearchProblem &problem, MemoryId memory);

/// The memories that a limit without a name is for: accelerators' in which some device computes, or the host's where it
/// streams from a file. Ascending by device, each once.
std::vector<MemoryId> limitableMemories(const Machine &machine);

/// Sets the capacity of one memory from "NAME=SIZE" or "NAME=P%", or of every
/// limitable one's from "SIZE" or "P%". P% means min + P/100 x (peak - min), of the
/// memory's needs. P is not negative. The problem has a capacity per memory, and its
/// graph, machine and costs pass their checks.
Status applyMemoryOption(SearchProblem &problem, std::string_view option);

} // namespace sluice

#endif // SLUICE_SEARCH_MEMORYOPTION_H
