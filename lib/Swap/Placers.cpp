//===- Placers.cpp - Fixed, pooled and least-recently-used ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Placers.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <cmath>

using namespace sluice;
using namespace sluice::swap;

tl::unexpected<Error> swap::infeasibleAt(const StepPlanner &state, const PlaceRequest &request,
                                         const std::string &what) {
  const SwapProblem &problem = state.index.problem;
  OperatorId op = state.index.opAt(request.position);
  int64_t needed = state.index.leastBytes(request.position), capacity = problem.capacityBytes[request.memory.index()];
  const std::string &memory = problem.machine.memory(request.memory).name;
  tl::unexpected<Error> error =
      what.empty()
          ? makeError(ErrorCode::Infeasible, "operator '", problem.graph.op(op).name, "' needs ", formatBytes(needed),
                      " at once, and the limit of memory '", memory, "' is ", formatBytes(capacity),
                      ", raise --memory ", memory, " by ", needed - capacity, " bytes to at least ", needed)
          : makeError(ErrorCode::Infeasible, "operator '", problem.graph.op(op).name, "' (", formatBytes(needed),
                      " at once) does not fit memory '", memory, "' of ", formatBytes(capacity), ": ", what);
  error.value().operators = {op.value};
  return error;
}

//===----------------------------------------------------------------------===//
// FixedPlacer
//===----------------------------------------------------------------------===//

Status FixedPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  for (Allocation &allocation : request.allocations) {
    allocation.offset =
        allocation.tensor.valid() ? offsets[allocation.tensor.index()] : workspaceOffsets[request.position.index()];
    allocation.reservedBytes = allocation.bytes;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// PoolPlacer
//===----------------------------------------------------------------------===//

PoolPlacer::PoolPlacer(std::vector<ObjectClass> pool, const PoolParams &params, MemoryId memory)
    : classes(std::move(pool)), params(params) {
  int64_t offset = 0;
  for (ObjectClass &c : classes) {
    c.bytes = alignUp(c.bytes);
    firstOf.push_back(objects.size());
    for (int64_t i = 0; i < c.count; ++i, offset += c.bytes)
      objects.push_back({offset, kNever});
  }
  firstOf.push_back(objects.size());
  if (memory.index() < params.classOfSize.size())
    classOfSize = params.classOfSize[memory.index()];
}

size_t PoolPlacer::classFor(int64_t bytes) const {
  auto entry = std::lower_bound(classOfSize.begin(), classOfSize.end(), std::pair(bytes, int64_t(0)));
  if (entry != classOfSize.end() && entry->first == bytes)
    bytes = entry->second;
  auto fits = std::lower_bound(classes.begin(), classes.end(), bytes,
                               [](const ObjectClass &c, int64_t least) { return c.bytes < least; });
  return static_cast<size_t>(fits - classes.begin());
}

PoolPlacer::Rank PoolPlacer::rank(const StepPlanner &state, const PlaceRequest &request, const Allocation &allocation,
                                  ResidencyId occupant) {
  const bool live = state.live(occupant);
  const int64_t available = occupant.valid() ? state.availableNs(occupant) : 0;
  const int64_t now = state.computeClockNs(request.position);
  const Position next = live ? state.nextUse(occupant) : kNever;
  const double availableNs = static_cast<double>(available);
  if (!params.costAware) {
    if (!live)
      return {0, 0, availableNs};
    // Residencies idle for long enough come first; among equals, the furthest next use.
    const bool idle = state.lastTouchNs(occupant) + params.thresholdNs <= now;
    return {idle ? 1.0 : 2.0, -static_cast<double>(next.value), availableNs};
  }
  double cost = 0;
  if (live) {
    double weight = next == kNever ? 0.0 : weightAt[next.value - request.position.value];
    weight += state.mustSave(occupant) ? 1.0 : 0.0;
    cost = weight * static_cast<double>(state.copyInNs(occupant));
  }
  double dueNs = static_cast<double>(now);
  if (allocation.fetch) {
    const double swapInNs = static_cast<double>(state.swapInClockNs(allocation.tensor, request.memory));
    const double copyNs = static_cast<double>(state.copyInNs(allocation.tensor, request.memory));
    dueNs = std::max(swapInNs, dueNs - copyNs);
    cost += params.idleWeight * std::max(0.0, availableNs - swapInNs);
  }
  cost += params.stallWeight * std::max(0.0, availableNs - dueNs);
  return {cost, availableNs, 0};
}

Status PoolPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  const AddressMap &arena = state.arena(request.memory);
  if (params.costAware && weightAt.empty())
    for (size_t distance = 0; distance < 2 * state.index.numPositions + 2; ++distance)
      weightAt.push_back(std::pow(std::max<double>(1.0, static_cast<double>(distance)), -params.distanceExponent));
  for (ResidencyId id : request.pinned)
    for (size_t c = 0; c < classes.size(); ++c)
      if (state.residency(id).bytes > 0 && firstOf[c] < firstOf[c + 1] &&
          state.residency(id).offset >= objects[firstOf[c]].offset &&
          state.residency(id).offset <= objects[firstOf[c + 1] - 1].offset) {
        int64_t nth = (state.residency(id).offset - objects[firstOf[c]].offset) / classes[c].bytes;
        objects[firstOf[c] + static_cast<size_t>(nth)].takenAt = request.position;
      }

  for (Allocation &allocation : request.allocations) {
    if (allocation.bytes == 0)
      continue;
    const size_t c = classFor(allocation.bytes);
    if (c == classes.size())
      return infeasibleAt(state, request, concat("no size class holds ", formatBytes(allocation.bytes)));
    Object *best = nullptr;
    Rank bestRank{};
    for (size_t o = firstOf[c]; o < firstOf[c + 1]; ++o) {
      if (objects[o].takenAt == request.position)
        continue;
      Rank own = rank(state, request, allocation, arena[arena.find(objects[o].offset)].occupant);
      if (best && !(own < bestRank))
        continue;
      best = &objects[o];
      bestRank = own;
    }
    if (!best)
      return infeasibleAt(state, request,
                          concat("more than the ", classes[c].count, " objects of the size class of ",
                                 formatBytes(classes[c].bytes), " are needed, raise the count of this class"));
    best->takenAt = request.position;
    allocation.offset = best->offset;
    allocation.reservedBytes = classes[c].bytes;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// LruPlacer
//===----------------------------------------------------------------------===//

Status LruPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  state.arena(request.memory).list(extents);
  free.assign(extents.size(), 0);
  auto pinned = [&](ResidencyId id) {
    return std::find(request.pinned.begin(), request.pinned.end(), id) != request.pinned.end();
  };
  for (size_t i = 0; i < extents.size(); ++i)
    free[i] = !state.live(extents[i].occupant);
  std::vector<Gap> taken;

  for (Allocation &allocation : request.allocations) {
    allocation.reservedBytes = allocation.bytes;
    if (allocation.bytes == 0)
      continue;
    for (allocation.offset = -1;;) {
      // Best fit over the runs of free extents, less what earlier allocations reserved.
      int64_t bestRun = 0;
      auto consider = [&](int64_t begin, int64_t end) {
        if (end - begin >= allocation.bytes && (allocation.offset < 0 || end - begin < bestRun)) {
          bestRun = end - begin;
          allocation.offset = begin;
        }
      };
      for (size_t i = 0; i < extents.size();) {
        if (!free[i]) {
          ++i;
          continue;
        }
        int64_t begin = extents[i].offset, end = begin;
        for (; i < extents.size() && free[i]; ++i)
          end = extents[i].end;
        for (const Gap &gap : taken)
          if (gap.begin >= begin && gap.end <= end) {
            consider(begin, gap.begin);
            begin = gap.end;
          }
        consider(begin, end);
      }
      if (allocation.offset >= 0)
        break;
      size_t victim = extents.size();
      for (size_t i = 0; i < extents.size(); ++i)
        if (!free[i] && !pinned(extents[i].occupant) &&
            (victim == extents.size() ||
             state.lastTouchNs(extents[i].occupant) < state.lastTouchNs(extents[victim].occupant)))
          victim = i;
      if (victim == extents.size()) {
        int64_t needed = state.index.leastBytes(request.position);
        if (needed > state.arena(request.memory).capacityBytes())
          return infeasibleAt(state, request, "");
        return infeasibleAt(
            state, request,
            concat("the operands in place leave no free range of ", formatBytes(allocation.bytes), " (fragmentation)"));
      }
      free[victim] = 1;
      request.evictions.push_back(extents[victim].occupant);
    }
    auto at = std::find_if(taken.begin(), taken.end(), [&](const Gap &g) { return g.begin > allocation.offset; });
    taken.insert(at, {allocation.offset, allocation.offset + allocation.bytes});
  }
  return {};
}
