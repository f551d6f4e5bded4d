//===- MappingsTest.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Search/Mappings.h"

#include "RandomGraph.h"
#include "sluice/Placement/Placement.h"

#include <catch2/catch.hpp>
#include <set>

using namespace sluice;
using namespace sluice::test;

TEST_CASE("mappings to be run differ, keep pins, and begin with the simulated best", "[search]") {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    Instance instance = randomInstance(seed, 14, 3);
    instance.placement.assign(instance.graph.numOperators(), DeviceId());
    const DeviceId pin = instance.machine.computeDevices().back();
    instance.placement[3] = pin;
    const SearchProblem problem = instance.problem(1);
    SearchParams params;
    params.seed = seed;
    auto mappings = proposeMappings(problem, 6, params);
    REQUIRE(mappings);
    CHECK(mappings->size() == 6);
    CHECK(std::set<std::vector<DeviceId>>(mappings->begin(), mappings->end()).size() == mappings->size());
    for (const std::vector<DeviceId> &mapping : *mappings) {
      REQUIRE(mapping.size() == instance.graph.numOperators());
      CHECK(mapping[3] == pin);
    }
    PlacementParams placing;
    placing.solver = "htf-mpr";
    placing.seed = seed;
    const Machine waiting = withWaits(instance.machine);
    CHECK(mappings->front() ==
          solvePlacement({&instance.graph, &waiting, &instance.costs, instance.placement}, placing)->placement);
    params.threads = 3;
    CHECK(*proposeMappings(problem, 6, params) == *mappings);
    CHECK(proposeMappings(problem, 1, params)->size() == 1);
  }
}

TEST_CASE("a transfer with its waits is a longer transfer", "[search]") {
  Machine machine = starMachine(2);
  machine.links[0].latencyNs = 100;
  machine.links[0].eventLatencyNs = 7;
  const Machine waiting = withWaits(machine);
  CHECK(waiting.links[0].latencyNs == 114);
  CHECK(waiting.links[0].eventLatencyNs == 0);
  CHECK(waiting.links[1].latencyNs == machine.links[1].latencyNs);
}
