//===- PlacementChoice.cpp - Which placement the search plans for ---------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ResultBounds.h"
#include "Strategies.h"

#include "sluice/Placement/Placement.h"
#include "sluice/Search/Mappings.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <functional>

namespace sluice::search {
namespace {

/// A placement solver's answer.
struct PlacementOption {
  std::string name;
  std::shared_ptr<CandidateSpace> space;
  Schedule order;
};

} // namespace

static bool isOnOneDevice(const std::vector<DeviceId> &placement) {
  return std::adjacent_find(placement.begin(), placement.end(), std::not_equal_to<>()) == placement.end();
}

/// The placement and the order of the plan to search on from.
static Status takeStartPlacement(SearchState &state) {
  const Plan &start = *state.params.start;
  if (Status status = validatePlan(state.graph, state.machine, start); !status)
    return makeError(ErrorCode::InvalidInput, "the given plan is not a plan of this problem: ", status.error().message,
                     ", give another plan to start from");
  for (size_t i = 0; i < state.pinned.size(); ++i)
    if (state.pinned[i].valid() && state.pinned[i] != start.placement[i])
      return makeError(ErrorCode::InvalidInput, "operator '", state.graph.op(OperatorId(i)).name,
                       "' is on another device in the given plan than the device to which this operator is pinned, "
                       "give another plan to start from");
  state.space = state.spaceFor(start.placement, firstLaunches(state.graph, start));
  return {};
}

/// The distinct placements of the solver asked for, or of the portfolio.
static Expected<std::vector<PlacementOption>> placementOptions(const SearchState &state) {
  std::vector<std::string> names{state.params.placementSolver};
  if (state.params.placementSolver == "best") {
    names = placementSolverNames();
    std::erase_if(names,
                  [](const std::string &name) { return name == "best" || name == "htf-mpr" || name == "exhaustive"; });
  }
  const bool isShared = state.machine.computeDevices().size() > 1;
  // A placement solver models a transfer as one step: its latency includes a wait on either side.
  const Machine waiting = withWaits(state.machine);
  std::vector<PlacementOption> options;
  for (const std::string &name : names) {
    SLUICE_ASSIGN_OR_RETURN(PlacementSolution solution,
                            solvePlacement({&state.graph, &waiting, &state.costs, state.pinned}, {name}));
    if (std::none_of(options.begin(), options.end(),
                     [&](const PlacementOption &option) { return option.space->placement() == solution.placement; }))
      options.push_back(
          {name, state.spaceFor(solution.placement, isShared ? solution.order : Schedule()), solution.order});
  }
  return options;
}

/// Goes back to the fastest option on one device unless the placement chosen, which
/// uses several, gains enough over it. `plans` has the options' greedy plans.
static void preferOneDevice(SearchState &state, const std::vector<PlacementOption> &options, const Wave &plans) {
  std::optional<size_t> single;
  int64_t singleNs = kInfeasibleObjective;
  for (size_t i = 0; i < options.size(); ++i)
    if (isOnOneDevice(options[i].space->placement()) && plans.evaluations[i].makespanNs < singleNs) {
      single = i;
      singleNs = plans.evaluations[i].makespanNs;
    }
  const int64_t fastestNs = std::min(state.bestNs, plans.bestNs);
  const double leastGain = state.params.leastGain;
  if (!single || static_cast<double>(fastestNs) <= (1 - leastGain) * static_cast<double>(singleNs))
    return;
  auto isOptionOnOneDevice = [&](const std::string &name) {
    return std::any_of(options.begin(), options.end(), [&](const PlacementOption &option) {
      return name == "place=" + option.name && isOnOneDevice(option.space->placement());
    });
  };
  for (Baseline &baseline : state.result.baselines)
    if (baseline.makespanNs && *baseline.makespanNs < singleNs && !isOptionOnOneDevice(baseline.name))
      baseline.reason = concat("gains less than ", leastGain * 100, "% over one device");
  const PlacementOption &option = options[*single];
  state.space = option.space;
  if (!state.isGreedy())
    return;
  state.bestNs = kInfeasibleObjective;
  Candidate candidate;
  candidate.order = option.order;
  Wave wave = state.evaluate(1, /*firstAlways=*/true, [&](size_t) { return state.space->plan(candidate); });
  state.offer(wave, "place=" + option.name);
}

/// Takes the option whose greedy plan in the placement's own order is fastest. Plans
/// may differ from the solvers' schedules, because links are contended and memories
/// are finite.
static void chooseAmong(SearchState &state, const std::vector<PlacementOption> &options) {
  Wave wave = state.evaluate(options.size(), /*firstAlways=*/true, [&](size_t i) {
    Candidate candidate;
    candidate.order = options[i].order;
    return options[i].space->plan(candidate);
  });
  state.isStopped |= !wave.isComplete();
  for (size_t i = 0; i < options.size(); ++i)
    if (wave.evaluations[i].isDone)
      state.addBaseline("place=" + options[i].name, wave.evaluations[i]);
  const PlacementOption &best = options[wave.best];
  state.space = best.space;
  // The rivals are measured by the plans that they find themselves.
  if (state.isGreedy())
    state.offer(wave, "place=" + best.name);
  const bool isPortfolio = state.params.placementSolver == "best";
  if (state.breeds() && isPortfolio && wave.bestNs != kInfeasibleObjective)
    improvePlacement(state, best.order, wave.bestNs);
  if (isPortfolio && !isOnOneDevice(state.space->placement()))
    preferOneDevice(state, options, wave);
}

/// Of the placement that is chosen; without one, of all placements.
static BoundProblem problemOf(const SearchState &state) {
  BoundProblem problem{state.graph, state.machine, state.costs, state.capacities, {}, state.pinned};
  if (state.space)
    problem.placement = state.space->placement();
  return problem;
}

Status choosePlacement(SearchState &state) {
  const bool isOpen = state.pinned.empty() || std::any_of(state.pinned.begin(), state.pinned.end(),
                                                          [](DeviceId device) { return !device.valid(); });
  if (isOpen)
    boundAllPlacements(problemOf(state), state.result);
  const bool isSingle = state.machine.computeDevices().size() == 1;
  if (state.params.start)
    SLUICE_RETURN_IF_ERROR(takeStartPlacement(state));
  if (!isOpen && !state.params.start)
    state.space = state.spaceFor(state.pinned, {});
  if (!isOpen || (state.params.start && isSingle))
    boundPlacement(problemOf(state), state.result);
  if (state.space)
    return {};

  SLUICE_ASSIGN_OR_RETURN(std::vector<PlacementOption> options, placementOptions(state));
  if (options.size() > 1) {
    chooseAmong(state, options);
    return {};
  }
  state.space = options.front().space;
  if (isSingle)
    boundPlacement(problemOf(state), state.result);
  return {};
}

} // namespace sluice::search
