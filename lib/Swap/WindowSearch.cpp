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
#include <utility>

using namespace sluice;
using namespace sluice::swap;

/// Longer windows are left to the search of all windows.
static constexpr size_t kLongestWindow = 1024;

const WindowPlacer::Weight &WindowPlacer::weightOf(const StepPlanner &state, const PlaceRequest &request,
                                                   ExtentId extent) {
  Known &entry = known[extent.index()];
  if (entry.weighedFor != requests) {
    const ResidencyId occupant = state.arena(memory)[extent].occupant;
    entry.weighedFor = requests;
    entry.weight = occupant.valid() ? weighCopies(state, request, occupant) : Weight{0, 0};
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
  const int64_t from = std::max(gap.begin, arena[first].offset), end = from + allocation.bytes;
  double sum = 0, worst = 0, primary = 0;
  ExtentId last = first, firstCostly, lastCostly;
  for (size_t length = 1;; ++length) {
    const Weight &weight = weightOf(state, request, last);
    sum += weight.cost;
    worst = std::max(worst, weight.key);
    // More extents cost no less: weights are not negative.
    primary = costOf(sum, worst, allocation.fetch);
    if (primary > limit)
      return;
    if (weight.cost != 0) {
      lastCostly = last;
      if (!firstCostly.valid())
        firstCostly = last;
    }
    steps += length > kLongestWindow ? maxSteps + 1 : 1;
    if (steps > maxSteps)
      return;
    if (arena[last].end >= end)
      break;
    last = arena.next(last);
  }
  const int64_t overhang = std::min(gap.end, arena[last].end) - end;
  Scored candidate{
      {first, last, gap, from, overhang}, {primary, static_cast<double>(overhang)}, 0, worst, firstCostly, lastCostly};
  if (costOf(0, worst, allocation.fetch) == 0)
    candidate.worst = 0; // All that is gone in time is alike.
  candidate.error = candidate.firstCostly.valid() ? errorOf(candidate.score.primary) : 0;
  offer(candidate);
}

void WindowPlacer::tryAround(const StepPlanner &state, const PlaceRequest &request, const Allocation &allocation,
                             ExtentId extent) {
  const Weight own = weightOf(state, request, extent);
  ++steps;
  if (costOf(own.cost, own.key, allocation.fetch) > limit)
    return;
  const AddressMap &arena = state.arena(memory);
  const auto [begin, end] = std::pair(arena[extent].offset, arena[extent].end);
  for (size_t g = gapAbove(begin); g < gaps.size() && gaps[g].begin < end; ++g) {
    const Gap gap = gaps[g];
    if (gap.end - gap.begin < allocation.bytes)
      continue;
    double sum = 0, worst = 0; // Of the extents from `first` to this one.
    for (ExtentId first = extent; first.valid() && arena[first].end > gap.begin; first = arena.previous(first)) {
      const int64_t from = std::max(gap.begin, arena[first].offset);
      if (first != extent && from + allocation.bytes <= begin)
        break;
      const Weight &weight = weightOf(state, request, first);
      sum += weight.cost;
      worst = std::max(worst, weight.key);
      if (costOf(sum, worst, allocation.fetch) > limit || ++steps > maxSteps)
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
