//===- UnlimitedMemory.cpp - The ideal plan -------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Strategies.h"

#include "sluice/Support/Units.h"

#include <algorithm>

namespace sluice::search {

/// The orders to plan: every order where devices share the work. On one device, where
/// orders hardly matter, those whose live bytes promise a plan that fits, or the first.
static std::vector<size_t> ordersToPlan(const SearchState &state, bool isOneDevice) {
  const auto &orders = state.space->orders();
  // An order made for several devices leaves results cold in the cache that the next operator could read.
  auto suits = [&](const std::string &name) { return !isOneDevice || orders.size() == 1 || name != "placement"; };
  std::vector<size_t> chosen;
  for (size_t i = 0; i < orders.size(); ++i)
    if (suits(orders[i].first) && (state.machine.computeDevices().size() > 1 ||
                                   state.fits(livenessPeakBytes(state.space->problemFor(orders[i].second)))))
      chosen.push_back(i);
  if (chosen.empty())
    chosen.push_back(0);
  return chosen;
}

/// Solver 'ideal' has no plan: its arenas exceed a capacity.
static void refuseIdeal(SearchState &state, const Plan &plan) {
  const std::vector<int64_t> used = plan.bytesUsed(state.graph, state.machine);
  for (size_t m = 0; m < state.capacities.size(); ++m)
    if (int64_t needed = used[m]; needed > state.capacities[m])
      state.firstError =
          Error{ErrorCode::Infeasible,
                concat("solver 'ideal' needs ", formatBytes(needed), " (", needed, " bytes) of memory '",
                       state.machine.memories[m].name, "', which has ", state.capacities[m], ", use solver 'default'"),
                {}};
}

bool planWithUnlimitedMemory(SearchState &state) {
  const auto &orders = state.space->orders();
  const std::vector<DeviceId> &devices = state.space->placement();
  const bool isOneDevice = std::all_of(devices.begin(), devices.end(), [&](DeviceId d) { return d == devices[0]; });
  const std::vector<size_t> chosen = ordersToPlan(state, isOneDevice);
  Wave wave = state.evaluate(chosen.size(), /*firstAlways=*/true,
                             [&](size_t i) { return planIdeal(state.space->problemFor(orders[chosen[i]].second)); });
  state.result.idealNs = wave.bestNs;
  state.addBaseline("ideal", wave.evaluations[wave.best]);
  state.report(state.bestNs);
  if (wave.plan && state.fits(wave.plan->bytesUsed(state.graph, state.machine))) {
    // As fast as the placement's plan on one device: the ideal plan is taken.
    if (isOneDevice && wave.bestNs == state.bestNs)
      state.bestNs = kInfeasibleObjective;
    state.offer(wave, "ideal/" + orders[chosen[wave.best]].first);
    return true;
  }
  const std::string streaming = "ideal/streamed-states/";
  if (mayKeepStates(state.graph, state.machine)) {
    // Without all states there may be room for the rest. The search then finds out which states have room too.
    Wave streamed = state.evaluate(chosen.size(), /*firstAlways=*/true, [&](size_t i) {
      return planIdeal(state.space->problemFor(orders[chosen[i]].second), /*keepsStates=*/false);
    });
    if (streamed.plan && state.fits(streamed.plan->bytesUsed(state.graph, state.machine))) {
      state.offer(streamed, streaming + orders[chosen[streamed.best]].first);
      if (state.params.solver == "ideal")
        return true;
    }
  }
  if (state.params.solver != "ideal")
    return false;
  if (wave.plan)
    refuseIdeal(state, *wave.plan);
  else
    state.firstError = wave.evaluations[wave.best].error;
  return true;
}

} // namespace sluice::search
