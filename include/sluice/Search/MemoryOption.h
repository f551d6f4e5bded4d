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
  /// The minimum: the largest working set of one operator. On some machines it also includes homes: see memoryNeeds.
  MinimumBytes least;
  /// The peak: the largest number of live bytes in the model's order, with all parameters resident.
  int64_t peakBytes = 0;
  /// The peak with all updated states resident as well. With less memory, steps copy states or parameters. It does not
  /// depend on the capacities of the machine, and is at least peakBytes.
  int64_t fullBytes = 0;
};
/// Computes the needs of a memory in which some device computes; fails for other memories. Operators without a
/// placement are assumed to be on that device. If parameters stream from a file into the host's memory (fileBelowHost),
/// all numbers include the homes in the host's memory. These are the homes of inputs, outputs and states, and of
/// parameters from which a step reads only a few rows or experts. The problem's graph, machine and costs must pass
/// their checks.
Expected<MemoryNeeds> memoryNeeds(const SearchProblem &problem, MemoryId memory);

/// The memories to which a limit without a name applies. These are the memories of accelerators that compute, or the
/// host's memory if parameters stream into it from a file. Each memory is listed once, in the order of the devices.
std::vector<MemoryId> limitableMemories(const Machine &machine);

/// Sets the capacity of one memory from "NAME=SIZE" or "NAME=P%", or the capacities of all
/// limitableMemories from "SIZE" or "P%". P% means least + P/100 x (peak - least), with the
/// numbers of memoryNeeds for this memory; P must not be negative. The problem must have a
/// capacity for each memory, and its graph, machine and costs must pass their checks.
Status applyMemoryOption(SearchProblem &problem, std::string_view option);

} // namespace sluice

#endif // SLUICE_SEARCH_MEMORYOPTION_H
