//===- StaysTest.cpp - Plans by stays against brute force -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "BruteForce.h"
#include "TinyInstance.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Swap/SwapPlanner.h"

#include <catch2/catch.hpp>

using namespace sluice;
using namespace sluice::test;

/// The fastest plan by stays over all orders and several parameters.
static std::optional<int64_t> bestByStays(const Instance &instance, const std::vector<int64_t> &capacities) {
  std::optional<int64_t> best;
  std::vector<OperatorId> order(instance.graph.numOperators());
  for (uint32_t i = 0; i < order.size(); ++i)
    order[i] = OperatorId(i);
  do {
    if (!instance.graph.isTopological(order))
      continue;
    for (auto [kept, resting] : {std::pair(0.0, 0.0), {1.0, 0.0}, {0.0, 0.5}})
      for (double slow : {0.0, 1.0}) {
        SwapParams params;
        params.keptStates = kept;
        params.restingStates = resting;
        params.idleWeight = slow;
        const Expected<Plan> plan = planSwapStays(
            {instance.graph, instance.machine, instance.costs, instance.placement, order, capacities}, params);
        if (!plan)
          continue;
        const int64_t ns = simulate(instance.graph, instance.machine, instance.costs, *plan).makespanNs;
        best = std::min(best.value_or(ns), ns);
      }
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST_CASE("plans by stays of tiny instances against brute force", "[search]") {
  int compared = 0, optimal = 0;
  int64_t total = 0, least = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const Instance instance = tinyInstance(seed);
    for (int64_t spare : {64, 192}) {
      const int64_t capacity = largestWorkingSet(instance.graph) + spare;
      const std::vector<int64_t> capacities{std::numeric_limits<int64_t>::max(), capacity};
      BruteForce force(instance.graph, timesOn(instance, 1), capacity, 1, 1, false);
      const std::optional<int64_t> once = force.solve(1), planned = bestByStays(instance, capacities);
      INFO("seed " << seed << " spare " << spare);
      if (!once || !planned)
        continue;
      ++compared;
      CHECK(*planned >= *once);
      optimal += *planned <= *once + 1;
      total += *planned;
      least += *once;
    }
  }
  UNSCOPED_INFO(compared << " compared, " << optimal << " optimal, " << total << " ns of " << least);
  CHECK(compared > 40);
  CHECK(2 * optimal > compared);
  // Brute force may also keep states beside their homes, and looks at no addresses.
  CHECK(static_cast<double>(total) < 1.25 * static_cast<double>(least));
}
