//===- WindowPlacer.cpp - The cheapest range of addresses -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Placers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace sluice;
using namespace sluice::swap;

void WindowPlacer::weighExtents(const StepPlanner &state, const PlaceRequest &request) {
  const std::vector<Extent> &extents = state.arena(request.memory).extents();
  size_t count = extents.size();
  size_t horizon = 2 * state.index.numPositions + 2;
  if (weightAt.empty())
    for (size_t distance = 0; distance < horizon; ++distance)
      weightAt.push_back(std::pow(std::max<double>(1.0, static_cast<double>(distance)), -params.distanceExponent));
  key.assign(count, 0.0);
  costs.resize(count);
  sums.resize(count + 1);
  sums[0] = 0;
  for (size_t i = 0; i < count; ++i) {
    const ResidencyId occupant = extents[i].occupant;
    double cost = 0;
    if (occupant.valid()) {
      bool live = state.live(occupant);
      Position next = live ? state.nextUse(occupant) : kNever;
      switch (params.eviction) {
      case EvictionPolicy::CostAware:
        key[i] = static_cast<double>(state.availableNs(occupant));
        if (live) {
          double weight = next == kNever ? 0.0 : weightAt[next.value - request.position.value];
          if (state.mustSave(occupant))
            weight += 1.0;
          cost = weight * static_cast<double>(state.copyInNs(occupant));
        }
        break;
      case EvictionPolicy::Belady:
        if (next != kNever)
          key[i] = static_cast<double>(horizon - next.value);
        break;
      case EvictionPolicy::EarliestAvailable:
        key[i] = static_cast<double>(state.availableNs(occupant));
        break;
      case EvictionPolicy::LeastRecentlyUsed:
        if (live)
          key[i] = static_cast<double>(state.lastTouchNs(occupant));
        break;
      }
      if (params.eviction != EvictionPolicy::CostAware && live)
        cost = static_cast<double>(extents[i].end - extents[i].offset);
    }
    costs[i] = cost;
    sums[i + 1] = sums[i] + cost;
  }
}

void WindowPlacer::findIdle(const StepPlanner &state, const PlaceRequest &request) {
  const std::vector<Extent> &extents = state.arena(request.memory).extents();
  idleUntil.resize(extents.size());
  for (size_t i = 0; i < extents.size(); ++i) {
    const ResidencyId occupant = extents[i].occupant;
    if (!occupant.valid())
      idleUntil[i] = 0;
    else if (state.live(occupant) && (state.nextUse(occupant) != kNever || state.mustSave(occupant)))
      idleUntil[i] = std::numeric_limits<double>::infinity();
    else
      idleUntil[i] = static_cast<double>(state.lastTouchNs(occupant));
  }
}

int64_t WindowPlacer::alignIn(const StepPlanner &state, const PlaceRequest &request, Gap gap, size_t first, size_t last,
                              int64_t from, int64_t overhang) const {
  const std::vector<Extent> &extents = state.arena(request.memory).extents();
  const bool leftFree = extents[first].offset > gap.begin && !state.live(extents[first - 1].occupant);
  const bool rightFree = extents[last - 1].end < gap.end && !state.live(extents[last].occupant);
  return leftFree && !rightFree ? from + overhang : from;
}

void WindowPlacer::searchIdle(const StepPlanner &state, const PlaceRequest &request, Gap gap,
                              const Allocation &allocation, int64_t &overhang, int64_t &bestOffset) const {
  if (gap.end - gap.begin < allocation.bytes)
    return;
  const AddressMap &arena = state.arena(request.memory);
  const std::vector<Extent> &extents = arena.extents();
  const size_t end = arena.find(gap.end - 1) + 1;
  const double soon = allocation.fetch ? swapInNs : computeNs;
  size_t last = 0; // Of the run, one past what the window from `first` needs.
  for (size_t first = arena.find(gap.begin); first < end; ++first) {
    const int64_t from = std::max(gap.begin, extents[first].offset);
    if (from + allocation.bytes > gap.end)
      return;
    for (last = std::max(last, first); last < end && extents[last].offset < from + allocation.bytes; ++last)
      if (idleUntil[last] > soon)
        break;
    if (last < end && extents[last].offset < from + allocation.bytes) {
      first = last++; // No window reaches over it.
      continue;
    }
    const int64_t over = std::min(gap.end, extents[last - 1].end) - from - allocation.bytes;
    if (bestOffset >= 0 && over >= overhang)
      continue;
    overhang = over;
    bestOffset = alignIn(state, request, gap, first, last, from, over);
  }
}

WindowPlacer::Score WindowPlacer::score(double sum, double worst, int64_t overhang,
                                        const Allocation &allocation) const {
  if (params.eviction != EvictionPolicy::CostAware)
    return {worst, sum + 1e-9 * static_cast<double>(overhang)};
  double total = sum;
  if (allocation.fetch) {
    double inTime = std::max(swapInNs, computeNs - copyNs);
    total += params.stallWeight * std::max(0.0, worst - inTime);
    total += params.idleWeight * std::max(0.0, worst - swapInNs);
  } else {
    total += params.stallWeight * std::max(0.0, worst - computeNs);
  }
  return {total, static_cast<double>(overhang)};
}

void WindowPlacer::searchGap(const StepPlanner &state, const PlaceRequest &request, Gap gap,
                             const Allocation &allocation, Score &best, int64_t &bestOffset) {
  if (gap.end - gap.begin < allocation.bytes)
    return;
  const AddressMap &arena = state.arena(request.memory);
  const std::vector<Extent> &extents = arena.extents();
  size_t begin = arena.find(gap.begin), end = arena.find(gap.end - 1) + 1;
  // Among the windows that start with an extent, the shortest displaces least. The
  // last extent moves on with the first; `falling` holds the extents between them
  // whose key no later one exceeds, so its front has the greatest key.
  size_t last = begin;
  falling.clear();
  size_t front = 0;
  for (size_t first = begin; first < end; ++first) {
    int64_t from = std::max(gap.begin, extents[first].offset);
    if (from + allocation.bytes > gap.end)
      return;
    for (; last < end && (last <= first || extents[last].offset < from + allocation.bytes); ++last) {
      while (falling.size() > front && key[falling.back()] <= key[last])
        falling.pop_back();
      falling.push_back(last);
    }
    while (falling[front] < first)
      ++front;
    int64_t overhang = std::min(gap.end, extents[last - 1].end) - from - allocation.bytes;
    Score candidate = score(sums[last] - sums[first], key[falling[front]], overhang, allocation);
    if (bestOffset >= 0 && !(candidate < best))
      continue;
    best = candidate;
    bestOffset = alignIn(state, request, gap, first, last, from, overhang);
  }
}

std::vector<Gap> WindowPlacer::gapsBetween(const StepPlanner &state, const PlaceRequest &request) const {
  std::vector<Gap> barriers;
  for (ResidencyId id : request.pinned) {
    const Residency &r = state.residency(id);
    if (r.bytes > 0)
      barriers.push_back({r.offset, r.offset + r.bytes});
  }
  std::sort(barriers.begin(), barriers.end(), [](const Gap &a, const Gap &b) { return a.begin < b.begin; });
  std::vector<Gap> gaps;
  int64_t cursor = base;
  for (const Gap &barrier : barriers) {
    if (barrier.begin > cursor)
      gaps.push_back({cursor, barrier.begin});
    cursor = std::max(cursor, barrier.end);
  }
  if (state.arena(request.memory).capacityBytes() > cursor)
    gaps.push_back({cursor, state.arena(request.memory).capacityBytes()});
  return gaps;
}

bool WindowPlacer::placeByWindows(const StepPlanner &state, PlaceRequest &request) {
  std::vector<Gap> gaps = gapsBetween(state, request);
  // With positive weights no window is cheaper than one that costs nothing.
  const bool idleIsBest =
      params.eviction == EvictionPolicy::CostAware && params.stallWeight > 0 && params.idleWeight > 0;
  for (Allocation &allocation : request.allocations) {
    allocation.reservedBytes = allocation.bytes;
    if (allocation.bytes == 0)
      continue;
    copyNs = allocation.fetch ? static_cast<double>(state.copyInNs(allocation.tensor, request.memory)) : 0.0;
    allocation.offset = -1;
    if (idleIsBest) {
      int64_t overhang = 0;
      for (Gap gap : gaps)
        searchIdle(state, request, gap, allocation, overhang, allocation.offset);
    }
    if (allocation.offset < 0) {
      if (!std::exchange(weighed, true))
        weighExtents(state, request);
      Score best{0, 0};
      for (Gap gap : gaps)
        searchGap(state, request, gap, allocation, best, allocation.offset);
    }
    if (allocation.offset < 0)
      return false;
    for (size_t g = 0; g < gaps.size(); ++g) {
      Gap gap = gaps[g];
      if (allocation.offset < gap.begin || allocation.offset >= gap.end)
        continue;
      gaps[g] = {gap.begin, allocation.offset};
      gaps.insert(gaps.begin() + static_cast<std::ptrdiff_t>(g) + 1, {allocation.offset + allocation.bytes, gap.end});
      break;
    }
  }
  return true;
}

bool WindowPlacer::placeByFirstFit(const StepPlanner &state, PlaceRequest &request) {
  std::vector<Gap> gaps = gapsBetween(state, request);
  for (Allocation &allocation : request.allocations) {
    allocation.reservedBytes = allocation.bytes;
    if (allocation.bytes == 0)
      continue;
    auto gap =
        std::find_if(gaps.begin(), gaps.end(), [&](const Gap &g) { return g.end - g.begin >= allocation.bytes; });
    if (gap == gaps.end())
      return false;
    allocation.offset = gap->begin;
    gap->begin += allocation.bytes;
  }
  return true;
}

Status WindowPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  weighed = false;
  computeNs = static_cast<double>(state.computeClockNs(request.position));
  swapInNs = static_cast<double>(state.swapInClockNs(request.memory));
  findIdle(state, request);
  auto largestFirst = [&] {
    for (Allocation &allocation : request.allocations)
      allocation.offset = 0;
    std::stable_sort(request.allocations.begin(), request.allocations.end(),
                     [](const Allocation &a, const Allocation &b) { return a.bytes > b.bytes; });
  };
  // The operand that is cheapest to copy goes to the back, because the last one moves first.
  auto moveCost = [&](ResidencyId id) { return state.residency(id).bytes * (state.mustSave(id) ? 2 : 1); };
  std::stable_sort(request.pinned.begin(), request.pinned.end(),
                   [&](ResidencyId a, ResidencyId b) { return moveCost(a) > moveCost(b); });
  for (;;) {
    largestFirst();
    if (placeByWindows(state, request) || placeByFirstFit(state, request))
      return {};
    // With nothing pinned the operands lie side by side, which fits whenever
    // the working set does.
    while (!request.pinned.empty() && state.residency(request.pinned.back()).offset < base)
      request.pinned.pop_back();
    if (request.pinned.empty())
      return infeasibleAt(state, request, "");
    const Residency &moved = state.residency(request.pinned.back());
    request.pinned.pop_back();
    request.allocations.push_back({moved.tensor, moved.bytes, true, 0, 0});
  }
}
