//===- Placers.cpp - Fixed, pooled and least-recently-used ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Placers.h"

#include "sluice/Support/Units.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

tl::unexpected<Error> swap::infeasibleAt(const StepPlanner &state, const PlaceRequest &request,
                                         const std::string &what) {
  const SwapProblem &problem = state.index.problem;
  OperatorId op = state.index.opAt(request.position);
  int64_t needed = problem.graph.workingSetBytes(op), capacity = problem.capacityBytes[request.memory];
  const std::string &memory = problem.machine.memories[request.memory].name;
  tl::unexpected<Error> error =
      what.empty()
          ? makeError(ErrorCode::Infeasible, "operator '", problem.graph.op(op).name, "' needs ", formatBytes(needed),
                      " at once, memory '", memory, "' allows ", formatBytes(capacity), ", raise --memory ", memory,
                      " by ", needed - capacity, " bytes to at least ", needed)
          : makeError(ErrorCode::Infeasible, "operator '", problem.graph.op(op).name, "' (", formatBytes(needed),
                      " at once) does not fit memory '", memory, "' of ", formatBytes(capacity), ": ", what);
  error.value().operators = {op.value};
  return error;
}

//===----------------------------------------------------------------------===//
// FixedPlacer
//===----------------------------------------------------------------------===//

Status FixedPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  for (Want &want : request.wants) {
    want.offset = want.tensor.valid() ? offsets[want.tensor.index()] : workspaceOffsets[request.position];
    want.takes = want.bytes;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// PoolPlacer
//===----------------------------------------------------------------------===//

PoolPlacer::PoolPlacer(std::vector<ObjectClass> pool, const PoolParams &params)
    : classes(std::move(pool)), params(params) {
  int64_t offset = 0;
  for (ObjectClass &c : classes) {
    c.bytes = alignUp(c.bytes);
    firstOf.push_back(objects.size());
    for (int64_t i = 0; i < c.count; ++i, offset += c.bytes)
      objects.push_back({offset, kNever});
  }
  firstOf.push_back(objects.size());
}

Status PoolPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  const Arena &arena = state.arena(request.memory);
  for (uint32_t id : request.pinned)
    for (size_t c = 0; c < classes.size(); ++c)
      if (state.residency(id).bytes > 0 && firstOf[c] < firstOf[c + 1] &&
          state.residency(id).offset >= objects[firstOf[c]].offset &&
          state.residency(id).offset <= objects[firstOf[c + 1] - 1].offset) {
        int64_t nth = (state.residency(id).offset - objects[firstOf[c]].offset) / classes[c].bytes;
        objects[firstOf[c] + static_cast<size_t>(nth)].takenAt = request.position;
      }

  int64_t now = state.computeClockNs(request.position);
  for (Want &want : request.wants) {
    if (want.bytes == 0)
      continue;
    auto fits =
        std::find_if(classes.begin(), classes.end(), [&](const ObjectClass &c) { return c.bytes >= want.bytes; });
    if (fits == classes.end())
      return infeasibleAt(state, request, concat("no size class holds ", formatBytes(want.bytes)));
    size_t c = static_cast<size_t>(fits - classes.begin());
    Object *best = nullptr;
    // Among what is free or was idle for long enough, or else all: the furthest
    // next use (dead data: never), ties by who is available soonest.
    bool bestIdle = false;
    uint32_t bestNext = 0;
    int64_t bestAvailable = 0;
    for (size_t o = firstOf[c]; o < firstOf[c + 1]; ++o) {
      if (objects[o].takenAt == request.position)
        continue;
      uint32_t occupant = arena.extents()[arena.find(objects[o].offset)].occupant;
      bool live = state.live(occupant);
      int64_t available = occupant == kNobody ? 0 : state.availableNs(occupant);
      uint32_t next = live ? state.nextUse(occupant) : kNever;
      bool idle = !live || state.lastTouchNs(occupant) + params.thresholdNs <= now;
      bool better = !best || idle > bestIdle ||
                    (idle == bestIdle && (next > bestNext || (next == bestNext && available < bestAvailable)));
      if (!better)
        continue;
      best = &objects[o];
      bestIdle = idle;
      bestNext = next;
      bestAvailable = available;
    }
    if (!best)
      return infeasibleAt(state, request,
                          concat("it needs more than the ", classes[c].count, " objects of the class of ",
                                 formatBytes(classes[c].bytes), ", raise their number"));
    best->takenAt = request.position;
    want.offset = best->offset;
    want.takes = classes[c].bytes;
  }
  return {};
}

//===----------------------------------------------------------------------===//
// LruPlacer
//===----------------------------------------------------------------------===//

Status LruPlacer::place(const StepPlanner &state, PlaceRequest &request) {
  const std::vector<Extent> &extents = state.arena(request.memory).extents();
  free.assign(extents.size(), 0);
  auto pinned = [&](uint32_t id) {
    return std::find(request.pinned.begin(), request.pinned.end(), id) != request.pinned.end();
  };
  for (size_t i = 0; i < extents.size(); ++i)
    free[i] = !state.live(extents[i].occupant);
  std::vector<Gap> taken;

  for (Want &want : request.wants) {
    want.takes = want.bytes;
    if (want.bytes == 0)
      continue;
    for (want.offset = -1;;) {
      // Best fit over the runs of free extents, less what earlier wants took.
      int64_t bestRun = 0;
      auto consider = [&](int64_t begin, int64_t end) {
        if (end - begin >= want.bytes && (want.offset < 0 || end - begin < bestRun)) {
          bestRun = end - begin;
          want.offset = begin;
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
      if (want.offset >= 0)
        break;
      size_t victim = extents.size();
      for (size_t i = 0; i < extents.size(); ++i)
        if (!free[i] && !pinned(extents[i].occupant) &&
            (victim == extents.size() ||
             state.lastTouchNs(extents[i].occupant) < state.lastTouchNs(extents[victim].occupant)))
          victim = i;
      if (victim == extents.size()) {
        int64_t needed = state.index.problem.graph.workingSetBytes(state.index.opAt(request.position));
        if (needed > state.arena(request.memory).capacityBytes())
          return infeasibleAt(state, request, "");
        return infeasibleAt(
            state, request,
            concat("the operands in place leave no free range of ", formatBytes(want.bytes), " (fragmentation)"));
      }
      free[victim] = 1;
      request.evictions.push_back(extents[victim].occupant);
    }
    auto at = std::find_if(taken.begin(), taken.end(), [&](const Gap &g) { return g.begin > want.offset; });
    taken.insert(at, {want.offset, want.offset + want.bytes});
  }
  return {};
}
