//===- Mappings.h - Candidate placements for measurement --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_MAPPINGS_H
#define SLUICE_SEARCH_MAPPINGS_H

#include "sluice/Search/Search.h"

namespace sluice {

/// A copy of the machine for placement solvers, for which a transfer has no separate waits before and after it. The
/// latency of each link therefore includes its event latency twice, and the event latency is 0.
Machine withWaits(Machine machine);

/// The candidates for HTF-MPR's last step (Albaqsami's thesis, chapter 4): at most `count`
/// distinct placements of the solver `htf-mpr`, by ascending simulated time. They keep the devices that the problem
/// fixes. Fails as solvePlacement does.
Expected<std::vector<std::vector<DeviceId>>> proposeMappings(const SearchProblem &problem, size_t count,
                                                             const SearchParams &params = {});

} // namespace sluice

#endif // SLUICE_SEARCH_MAPPINGS_H
