//===- Portfolio.cpp - The best of all, and what improves on it -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Evaluator.h"
#include "Exhaustive.h"
#include "Neighbourhoods.h"
#include "sluice/Optimize/Parallel.h"

#include <algorithm>
#include <optional>

namespace sluice {

static constexpr std::pair<const char *, PlacementSolver> kHeuristics[] = {
    {"heft", placeHeft},
    {"heft-no-comm", placeHeftNoComm},
    {"heft-lookahead", placeLookahead},
    {"cpop", placeCpop},
    {"peft", placePeft},
    {"m-etf", placeEtf},
    {"m-sct", placeSct},
    {"dp-split", placeDpSplit},
    {"single-device", placeSingleDevice},
    {"fastest-node", placeFastestNode},
    {"round-robin", placeRoundRobin},
};

std::span<const std::pair<const char *, PlacementSolver>> placementHeuristics() { return kHeuristics; }

namespace {

/// What the heuristics found, timed.
struct Members {
  std::vector<std::pair<std::string, int64_t>> times; ///< Of those that found one.
  std::vector<TimedSchedule> schedules;               ///< Likewise, by time.
  std::optional<Error> firstError;                    ///< Of those that did not.
};

Members runHeuristics(const SolverInput &input) {
  std::vector<std::optional<Expected<ListSchedule>>> found(std::size(kHeuristics));
  std::vector<int64_t> times(found.size());
  parallelFor(input.threads, found.size(), [&](size_t i) {
    found[i] = kHeuristics[i].second(input);
    if (*found[i])
      times[i] = Evaluator(input.index).makespanNs((*found[i])->placement, (*found[i])->order);
  });
  Members members;
  for (size_t i = 0; i < found.size(); ++i) {
    Expected<ListSchedule> &schedule = *found[i];
    if (schedule) {
      members.times.emplace_back(kHeuristics[i].first, times[i]);
      members.schedules.push_back({std::move(*schedule), times[i]});
      members.schedules.back().schedule.winner = kHeuristics[i].first;
    } else if (!members.firstError) {
      members.firstError = std::move(schedule.error());
    }
  }
  std::stable_sort(members.schedules.begin(), members.schedules.end(),
                   [](const TimedSchedule &a, const TimedSchedule &b) { return a.makespanNs < b.makespanNs; });
  return members;
}

} // namespace

Expected<ListSchedule> placeByNeighbourhoods(const SolverInput &input) {
  Members members = runHeuristics(input);
  if (members.schedules.empty())
    return tl::unexpected<Error>(std::move(*members.firstError));
  return searchNeighbourhoods(input, members.schedules).schedule;
}

Expected<ListSchedule> placeBest(const SolverInput &input) {
  Members members = runHeuristics(input);
  TimedSchedule best;
  if (!members.schedules.empty()) {
    best = searchNeighbourhoods(input, members.schedules);
    members.times.emplace_back("lns", best.makespanNs);
  }
  if (isSmallEnough(input)) {
    const int64_t before = best.makespanNs;
    const int64_t evaluations = best.schedule.evaluations;
    if (searchExhaustively(input, best.schedule, best.makespanNs))
      members.times.emplace_back("exhaustive", best.makespanNs);
    if (best.makespanNs < before)
      best.schedule.winner = "exhaustive";
    best.schedule.evaluations = evaluations;
  }
  if (best.schedule.placement.empty())
    return tl::unexpected<Error>(std::move(*members.firstError));
  best.schedule.members = std::move(members.times);
  return std::move(best.schedule);
}

} // namespace sluice
