//===- Mappings.h - Placements worth being run for real ---------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_MAPPINGS_H
#define SLUICE_SEARCH_MAPPINGS_H

#include "sluice/Search/Search.h"

namespace sluice {

/// To a placement solver a transfer is one step: the machine whose links' latencies
/// have a wait on either side, and that has no event latency beside.
Machine withWaits(Machine machine);

/// HTF-MPR's last step begins with these (Albaqsami's thesis, chapter 4): at most
/// `count` placements, none twice, of the solver `htf-mpr`, the simulated fastest
/// first. They keep the problem's pins. Fails as solvePlacement does.
Expected<std::vector<std::vector<DeviceId>>> proposeMappings(const SearchProblem &problem, size_t count,
                                                             const SearchParams &params = {});

} // namespace sluice

#endif // SLUICE_SEARCH_MAPPINGS_H
