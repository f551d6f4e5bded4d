//===- WindowSearch.cpp - The cheapest window, by bounds ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A window of `bytes` addresses that costs less than L holds an extent that costs less than L / bytes for each of its
// bytes. Vacant extents cost nothing; a live tensor's copies weigh less the further its next use lies. So the search
// tries the windows around the vacant extents, then those around the live ones, from the furthest next use on, until
// the bound of a byte's cost exceeds what the best window found costs.
//
// The search of all windows subtracts prefix sums, which rounds; this search adds up each window by itself. Where
// rounding could decide between two windows, this search gives up, so that both find the same window.
//
//===----------------------------------------------------------------------===//

#include "Placers.h"

#include <algorithm>
#include <limits>

using namespace sluice;
using namespace sluice::swap;

/// Longer windows are left to the search of all windows.
static constexpr size_t kLongestWindow = 1024;

const WindowPlacer::Weight &WindowPlacer::weightOf(const StepPlanner &state, const PlaceRequest &request,
                                                   ExtentId extent) {
  Known &entry = known[extent.index()];
  if (entry.weighedFor != requests) {
    entry.weighedFor = requests;
    entry.weight = weigh(state, request, state.arena(memory)[extent]);
  }
  return entry.weight;
}

void WindowPlacer::offer(const Scored &candidate) {
  if (!cheapest) {
    cheapest = candidate;
  } else {
    // The other search adds the same numbers for both windows where they hold the same costly extents.
    const bool isSameSum =
        candidate.firstCostly == cheapest->firstCostly && candidate.lastCostly == cheapest->lastCostly;
    const bool isExact =
        (candidate.error == 0 && cheapest->error == 0) || (isSameSum && candidate.worst == cheapest->worst);
    const bool isEqual = !(candidate.score < cheapest->score) && !(cheapest->score < candidate.score);
    const bool isBetter =
        candidate.score < cheapest->score || (isEqual && candidate.window.from < cheapest->window.from);
    const Scored &loser = isBetter ? *cheapest : candidate;
    if (!isExact)
      rival = std::min(rival, loser.score.primary - loser.error);
    if (!isBetter)
      return;
    cheapest = candidate;
  }
  limit = (cheapest->score.primary + cheapest->error + errorPart * liveCost) * (1 + 2 * errorPart);
}

void WindowPlacer::tryWindow(const StepPlanner &state, const PlaceRequest &request, Gap gap,
                             const Allocation &allocation, ExtentId first) {
  const AddressMap &arena = state.arena(memory);
  Scored candidate;
  candidate.window = {first, first, gap, std::max(gap.begin, arena[first].offset), 0};
  const int64_t end = candidate.window.from + allocation.bytes;
  double sum = 0;
  size_t length = 0;
  for (ExtentId id = first;; id = arena.next(id)) {
    const Weight &weight = weightOf(state, request, id);
    sum += weight.cost;
    if (sum > limit)
      return;
    candidate.worst = length == 0 ? weight.key : std::max(candidate.worst, weight.key);
    if (weight.cost != 0) {
      candidate.lastCostly = id;
      if (!candidate.firstCostly.valid())
        candidate.firstCostly = id;
    }
    steps += ++length > kLongestWindow ? maxSteps + 1 : 1;
    if (steps > maxSteps)
      return;
    candidate.window.last = id;
    if (arena[id].end >= end)
      break;
  }
  candidate.window.overhang = std::min(gap.end, arena[candidate.window.last].end) - end;
  candidate.score = score(sum, candidate.worst, candidate.window.overhang, allocation);
  if (candidate.score.primary > limit)
    return;
  if (score(0, candidate.worst, 0, allocation).primary == 0)
    candidate.worst = 0; // All that is gone in time is alike.
  candidate.error = candidate.firstCostly.valid() ? errorOf(candidate.score.primary) : 0;
  offer(candidate);
}

void WindowPlacer::tryAround(const StepPlanner &state, const PlaceRequest &request, const Allocation &allocation,
                             ExtentId extent) {
  const Weight own = weightOf(state, request, extent);
  ++steps;
  if (score(own.cost, own.key, 0, allocation).primary > limit)
    return;
  const AddressMap &arena = state.arena(memory);
  for (Gap gap : gaps) {
    if (gap.end <= arena[extent].offset || gap.begin >= arena[extent].end || gap.end - gap.begin < allocation.bytes)
      continue;
    double sum = 0; // The cost of the extents from `first` to this one.
    for (ExtentId first = extent; first.valid() && arena[first].end > gap.begin; first = arena.previous(first)) {
      sum += weightOf(state, request, first).cost;
      const int64_t from = std::max(gap.begin, arena[first].offset);
      if (sum > limit || ++steps > maxSteps || (first != extent && from + allocation.bytes <= arena[extent].offset))
        break;
      if (from + allocation.bytes > gap.end)
        continue;
      // In a gap that starts within the extent, the same extent gives another window.
      const bool isWhole = arena[first].offset >= gap.begin;
      if (isWhole && known[first.index()].triedFor == searches)
        continue;
      if (isWhole)
        known[first.index()].triedFor = searches;
      tryWindow(state, request, gap, allocation, first);
    }
  }
}

std::optional<WindowPlacer::Window> WindowPlacer::searchByBounds(const StepPlanner &state, const PlaceRequest &request,
                                                                 const Allocation &allocation) {
  if (!windowCosts.areBounded || gaps.empty())
    return {};
  const AddressMap &arena = state.arena(memory);
  ++searches;
  cheapest.reset();
  limit = rival = std::numeric_limits<double>::infinity();
  steps = 0;
  // As much as a part of the search of all windows takes, which is what follows.
  maxSteps = arena.numExtents() / 2 + 64;
  // No copy weighs more than 1, and a copy out weighs 1.
  liveCost = 2.0 * static_cast<double>(state.liveCopyNs(memory));
  // Each of a window's extents rounds twice, in this search's sum and in the prefix sums, by at most half a unit in the
  // last place of all costs together; so do the last additions. This is more than twice as much.
  const bool isExact = windowCosts.areIntegers && liveCost < 0x1p53;
  errorPart = isExact ? 0.0 : static_cast<double>(kLongestWindow + 8) * 0x1p-51;

  const UseCalendar &calendar = state.calendar(memory);
  const size_t never = state.slotOf(kNever);
  // A good window first, so that most of the others are left at their first extents.
  if (const std::optional<size_t> furthest = calendar.lastBelow(never + 1))
    tryAround(state, request, allocation, calendar.front(*furthest));
  const OffsetIndex &vacant = arena.vacant();
  for (OffsetIndex::Cursor at = vacant.floor(base); vacant.valid(at) && steps <= maxSteps; at = vacant.next(at))
    tryAround(state, request, allocation, vacant[at].extent);
  const double nsOfBytes =
      windowCosts.leastNsPerByte[memory.index()] * static_cast<double>(allocation.bytes) * 0.999999;
  for (std::optional<size_t> slot = calendar.lastBelow(never + 1); slot && steps <= maxSteps;
       slot = calendar.lastBelow(*slot)) {
    const double weight = *slot == never ? 0.0 : windowCosts.weightAt[*slot - request.position.index()];
    if (weight * nsOfBytes > limit)
      break;
    for (ExtentId id = calendar.front(*slot); id.valid() && steps <= maxSteps; id = calendar.next(id))
      if (weight * static_cast<double>(state.copyInNs(arena[id].occupant)) <= limit)
        tryAround(state, request, allocation, id);
  }
  if (steps > maxSteps || !cheapest || rival <= cheapest->score.primary + cheapest->error)
    return {};
  return cheapest->window;
}
