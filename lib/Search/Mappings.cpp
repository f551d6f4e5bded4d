//===- Mappings.cpp - Placements worth being run for real -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Mappings.h"

#include "sluice/Placement/Placement.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <utility>

namespace sluice {

Machine withWaits(Machine machine) {
  for (Link &link : machine.links)
    link.latencyNs = saturatingAdd(link.latencyNs, saturatingMul(2, std::exchange(link.eventLatencyNs, 0)));
  return machine;
}

Expected<std::vector<std::vector<DeviceId>>> proposeMappings(const SearchProblem &problem, size_t count,
                                                             const SearchParams &params) {
  const Machine waiting = withWaits(*problem.machine);
  PlacementParams placing;
  placing.solver = "htf-mpr";
  placing.seed = params.seed;
  placing.threads = params.threads;
  placing.interrupt = params.interrupt;
  SLUICE_ASSIGN_OR_RETURN(PlacementSolution found,
                          solvePlacement({problem.graph, &waiting, problem.costs, problem.placement}, placing));
  std::vector<std::vector<DeviceId>> mappings{std::move(found.placement)};
  for (std::vector<DeviceId> &next : found.runnersUp)
    if (mappings.size() < count && std::find(mappings.begin(), mappings.end(), next) == mappings.end())
      mappings.push_back(std::move(next));
  return mappings;
}

} // namespace sluice
