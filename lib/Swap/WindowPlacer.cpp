//===- WindowPlacer.cpp - The cheapest range of addresses -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A window is a range of addresses that is large enough for a tensor. To use it, the planner evicts the tensors in it.
// A window costs the copies that these evictions cause, weighted by the distance of the next use, and the time that the
// new tensor waits for the range. The placer takes the cheapest window of all gaps between the operands of the
// operator, which must stay.
//
// Three searches find it. If a window without any cost exists, the tightest of these is taken. Otherwise a search by
// bounds (WindowSearch.cpp) looks only at windows that may be the cheapest. If it cannot decide, all windows are
// compared: one pointer moves over the first extents and one over the last, prefix sums give the costs, and a queue of
// falling keys gives the greatest waiting time.
//
// If the operands leave no window, the cheapest of them moves as well. With no operand in place, all tensors lie side
// by side, which fits whenever the working set of the operator fits.
//
//===----------------------------------------------------------------------===//

#include "Placers.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

using namespace sluice;
using namespace sluice::swap;

WindowCosts::WindowCosts(const ProblemIndex &index, const SwapParams &params) {
  if (params.eviction != EvictionPolicy::CostAware)
    return;
  const double exponent = params.distanceExponent;
  for (size_t distance = 0; distance < 2 * index.numPositions + 2; ++distance)
    weightAt.push_back(std::pow(std::max<double>(1.0, static_cast<double>(distance)), -exponent));
  areIntegers = exponent == 0;
  auto isBounded = [](double weight) { return weight >= 0 && std::isfinite(weight); };
  areBounded =
      !params.searchAllWindows && isBounded(exponent) && isBounded(params.stallWeight) && isBounded(params.idleWeight);
  leastNsPerByte.assign(index.numMemories, 0);
  for (MemoryId memory : index.acceleratorMemories()) {
    double least = std::numeric_limits<double>::infinity();
    auto bound = [&](MemoryId from) {
      const LinkId link = index.link(from, memory);
      if (!link.valid())
        return;
      for (TensorId t : index.tensors())
        if (const int64_t bytes = index.bytes[t.index()]; bytes > 0) {
          const int64_t ns = transferTimeNs(index.problem.machine.link(link), index.problem.graph.tensor(t).bytes);
          least = std::min(least, static_cast<double>(ns) / static_cast<double>(bytes));
        }
    };
    bound(Machine::hostMemory());
    for (MemoryId file : index.files())
      bound(file);
    leastNsPerByte[memory.index()] = std::isfinite(least) ? least : 0;
  }
}

WindowPlacer::Weight WindowPlacer::weigh(const StepPlanner &state, const PlaceRequest &request,
                                         const Extent &extent) const {
  Weight weight{0, 0};
  const ResidencyId occupant = extent.occupant;
  if (!occupant.valid())
    return weight;
  const bool live = state.live(occupant);
  const Position next = live ? state.nextUse(occupant) : kNever;
  switch (params.eviction) {
  case EvictionPolicy::CostAware:
    return weighCopies(state, request, occupant);
  case EvictionPolicy::Belady:
    if (next != kNever)
      weight.key = static_cast<double>(2 * state.index.numPositions + 2 - next.value);
    break;
  case EvictionPolicy::EarliestAvailable:
    weight.key = static_cast<double>(state.availableNs(occupant));
    break;
  case EvictionPolicy::LeastRecentlyUsed:
    if (live)
      weight.key = static_cast<double>(state.lastTouchNs(occupant));
    break;
  }
  if (live)
    weight.cost = static_cast<double>(extent.end - extent.offset);
  return weight;
}

int64_t WindowPlacer::alignIn(const AddressMap &arena, const Window &window) const {
  const Extent &first = arena[window.first], &last = arena[window.last];
  const bool leftFree = first.offset > window.gap.begin && arena.isVacant(arena.previous(window.first));
  const bool rightFree = last.end < window.gap.end && arena.isVacant(arena.next(window.last));
  return leftFree && !rightFree ? window.from + window.overhang : window.from;
}

std::optional<WindowPlacer::Window> WindowPlacer::searchIdle(const StepPlanner &state, const Allocation &allocation,
                                                             bool amongLive) const {
  std::optional<Window> best;
  if (gaps.empty())
    return best;
  const AddressMap &arena = state.arena(memory);
  const double soon = allocation.fetch ? swapInNs : computeNs;
  auto isIdle = [&](ExtentId id) {
    const ResidencyId occupant = arena[id].occupant;
    if (!occupant.valid())
      return true;
    if (!arena.isVacant(id) && (state.nextUse(occupant) != kNever || state.mustSave(occupant)))
      return false;
    return static_cast<double>(state.lastTouchNs(occupant)) <= soon;
  };
  const OffsetIndex &vacant = arena.vacant();
  OffsetIndex::Cursor at = vacant.floor(gaps.front().begin);
  auto atCursor = [&] { return vacant.valid(at) ? vacant[at].extent : ExtentId(); };
  auto advance = [&](ExtentId id) {
    if (amongLive)
      return arena.next(id);
    at = vacant.next(at);
    return atCursor();
  };
  // In the present gap: the extents from `first` to `last` are idle; no window reaches over the extent at `barrier`.
  size_t present = gaps.size();
  ExtentId last;
  int64_t barrier = -1;
  auto enter = [&](size_t gap) {
    present = gap;
    last = ExtentId();
    barrier = -1;
  };
  /// Tries the windows of the present gap that start with the extent.
  auto tryFrom = [&](ExtentId first) {
    const Gap gap = gaps[present];
    const int64_t from = std::max(gap.begin, arena[first].offset);
    if (from + allocation.bytes > gap.end || arena[first].offset <= barrier)
      return;
    if (!last.valid() || arena[last].offset < arena[first].offset) {
      last = first;
      if (!isIdle(first)) {
        barrier = arena[first].offset;
        return;
      }
    }
    while (arena[last].end < from + allocation.bytes && arena[last].offset > barrier) {
      last = arena.next(last);
      if (!isIdle(last))
        barrier = arena[last].offset;
    }
    if (arena[last].offset <= barrier)
      return;
    const int64_t overhang = std::min(gap.end, arena[last].end) - from - allocation.bytes;
    if (!best || overhang < best->overhang)
      best = Window{first, last, gap, from, overhang};
  };
  ExtentId first = amongLive ? arena.find(gaps.front().begin) : atCursor();
  for (; first.valid(); first = advance(first)) {
    const auto [begin, end] = std::pair(arena[first].offset, arena[first].end);
    // Most vacant extents are too short and have live neighbours.
    if (const ExtentId after = arena.next(first);
        !amongLive && end - begin < allocation.bytes && (!after.valid() || !arena.isVacant(after)))
      continue;
    for (size_t gap = gapAbove(begin); gap < gaps.size() && gaps[gap].begin < end; ++gap) {
      if (gap != present)
        enter(gap);
      tryFrom(first);
      if (best && best->overhang == 0)
        return best; // The first of the tightest.
    }
  }
  return best;
}

void WindowPlacer::weighExtents(const StepPlanner &state, const PlaceRequest &request) {
  state.arena(memory).list(extents);
  key.resize(extents.size());
  sums.assign(1, 0.0);
  for (size_t i = 0; i < extents.size(); ++i) {
    const Weight weight = weigh(state, request, extents[i]);
    key[i] = weight.key;
    sums.push_back(sums.back() + weight.cost);
  }
}

void WindowPlacer::searchGap(const StepPlanner &state, Gap gap, const Allocation &allocation,
                             std::optional<Scored> &best) {
  if (gap.end - gap.begin < allocation.bytes)
    return;
  const AddressMap &arena = state.arena(memory);
  auto listed = [&](int64_t offset) {
    auto after = std::upper_bound(extents.begin(), extents.end(), offset,
                                  [](int64_t value, const Extent &extent) { return value < extent.offset; });
    return static_cast<size_t>(after - extents.begin()) - 1;
  };
  const size_t begin = listed(gap.begin), end = listed(gap.end - 1) + 1;
  // Among the windows that start with an extent, the shortest displaces least. The
  // last extent moves on with the first; `falling` holds the extents between them
  // whose key no later one exceeds, so its front has the greatest key.
  size_t last = begin;
  falling.clear();
  size_t front = 0;
  for (size_t first = begin; first < end; ++first) {
    const int64_t from = std::max(gap.begin, extents[first].offset);
    if (from + allocation.bytes > gap.end)
      return;
    for (; last < end && (last <= first || extents[last].offset < from + allocation.bytes); ++last) {
      while (falling.size() > front && key[falling.back()] <= key[last])
        falling.pop_back();
      falling.push_back(last);
    }
    while (falling[front] < first)
      ++front;
    const int64_t overhang = std::min(gap.end, extents[last - 1].end) - from - allocation.bytes;
    const Score own = score(sums[last] - sums[first], key[falling[front]], overhang, allocation);
    if (best && !(own < best->score))
      continue;
    Scored better;
    better.window = {arena.find(extents[first].offset), arena.find(extents[last - 1].offset), gap, from, overhang};
    better.score = own;
    best = better;
  }
}

void WindowPlacer::listGaps(const StepPlanner &state, const PlaceRequest &request) {
  barriers.clear();
  for (ResidencyId id : request.pinned) {
    const Residency &r = state.residency(id);
    if (r.bytes > 0)
      barriers.push_back({r.offset, r.offset + r.bytes});
  }
  std::sort(barriers.begin(), barriers.end(), [](const Gap &a, const Gap &b) { return a.begin < b.begin; });
  gaps.clear();
  int64_t cursor = base;
  for (const Gap &barrier : barriers) {
    if (barrier.begin > cursor)
      gaps.push_back({cursor, barrier.begin});
    cursor = std::max(cursor, barrier.end);
  }
  if (state.arena(request.memory).capacityBytes() > cursor)
    gaps.push_back({cursor, state.arena(request.memory).capacityBytes()});
}

std::optional<WindowPlacer::Window> WindowPlacer::cheapestWindow(const StepPlanner &state, const PlaceRequest &request,
                                                                 const Allocation &allocation) {
  // With positive weights no window is cheaper than one that costs nothing.
  if (params.eviction == EvictionPolicy::CostAware && params.stallWeight > 0 && params.idleWeight > 0)
    if (std::optional<Window> idle = searchIdle(state, allocation, isLiveIdle))
      return idle;
  if (std::optional<Window> window = searchByBounds(state, request, allocation))
    return window;
  if (!std::exchange(weighed, true))
    weighExtents(state, request);
  std::optional<Scored> best;
  for (Gap gap : gaps)
    searchGap(state, gap, allocation, best);
  return best ? std::optional(best->window) : std::nullopt;
}

bool WindowPlacer::placeByWindows(const StepPlanner &state, PlaceRequest &request) {
  listGaps(state, request);
  for (Allocation &allocation : request.allocations) {
    allocation.reservedBytes = allocation.bytes;
    if (allocation.bytes == 0)
      continue;
    swapInNs = allocation.fetch ? static_cast<double>(state.swapInClockNs(allocation.tensor, request.memory)) : 0.0;
    inNs = allocation.fetch
               ? std::max(swapInNs, computeNs - static_cast<double>(state.copyInNs(allocation.tensor, request.memory)))
               : 0.0;
    allocation.offset = -1;
    if (const std::optional<Window> window = cheapestWindow(state, request, allocation)) {
      allocation.offset = alignIn(state.arena(memory), *window);
      allocation.extent = window->first;
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
  listGaps(state, request);
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

/// Sorts and keeps the order of equals; without memory of its own for few elements.
template <typename T, typename Less>
static void sortFew(std::vector<T> &list, const Less &less) {
  constexpr size_t kFew = 16;
  if (list.size() > kFew)
    return std::stable_sort(list.begin(), list.end(), less);
  for (size_t i = 1; i < list.size(); ++i)
    for (size_t j = i; j > 0 && less(list[j], list[j - 1]); --j)
      std::swap(list[j], list[j - 1]);
}

Status WindowPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  weighed = false;
  computeNs = static_cast<double>(state.computeClockNs(request.position));
  ++requests;
  memory = request.memory;
  known.resize(state.arena(memory).idBound());
  isLiveIdle = false;
  const UseCalendar &calendar = state.calendar(memory);
  const size_t never = state.slotOf(kNever);
  for (ExtentId id = calendar.front(never); id.valid() && !isLiveIdle; id = calendar.next(id))
    isLiveIdle = !state.mustSave(state.arena(memory)[id].occupant);
  auto largestFirst = [&] {
    for (Allocation &allocation : request.allocations)
      allocation.offset = 0;
    sortFew(request.allocations, [](const Allocation &a, const Allocation &b) { return a.bytes > b.bytes; });
  };
  // The operand that is cheapest to copy goes to the back, because the last one moves first.
  auto moveCost = [&](ResidencyId id) { return state.residency(id).bytes * (state.mustSave(id) ? 2 : 1); };
  sortFew(request.pinned, [&](ResidencyId a, ResidencyId b) { return moveCost(a) > moveCost(b); });
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
