//===- MemoryOption.h - "--memory gpu0=60%" ---------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_MEMORYOPTION_H
#define SLUICE_SEARCH_MEMORYOPTION_H

#include "sluice/Search/Search.h"

#include <string_view>

namespace sluice {

/// Sets the capacity of one memory from "NAME=SIZE" or "NAME=P%", or of every
/// accelerator's from "SIZE" or "P%". P% means min + P/100 x (peak - min), where
/// min is the largest working set of one operator and peak the liveness peak
/// with all parameters resident, in the model's order; operators without a
/// placement count as if they were all on that memory's device. P is not
/// negative. The problem has a capacity per memory, and its graph, machine and
/// costs pass their checks.
Status applyMemoryOption(SearchProblem &problem, std::string_view option);

} // namespace sluice

#endif // SLUICE_SEARCH_MEMORYOPTION_H
