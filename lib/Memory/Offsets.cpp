//===- Offsets.cpp - Checks and bounds of static allocation ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OffsetsShared.h"
#include "Sections.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <map>

using namespace sluice;
using namespace sluice::memory;

static std::string idOf(const OffsetProblem &problem, size_t i) {
  return problem.ids.empty() ? std::to_string(i) : problem.ids[i];
}

Status sluice::check(const OffsetProblem &problem) {
  if (!problem.ids.empty() && problem.ids.size() != problem.buffers.size())
    return makeError(ErrorCode::InvalidInput, "there are ", problem.ids.size(), " ids for ", problem.buffers.size(),
                     " buffers, give each buffer one id");
  if (problem.capacityBytes && *problem.capacityBytes < 0)
    return makeError(ErrorCode::InvalidInput, "the capacity is negative, ", *problem.capacityBytes,
                     " bytes, give at least 0");
  int64_t total = 0;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    if (buffer.lower > buffer.upper)
      return makeError(ErrorCode::InvalidInput, "buffer '", idOf(problem, i), "' ends at ", buffer.upper,
                       ", before it starts at ", buffer.lower, ", correct its times");
    if (buffer.bytes < 0)
      return makeError(ErrorCode::InvalidInput, "buffer '", idOf(problem, i), "' has negative size ", buffer.bytes,
                       ", correct its size");
    if (buffer.alignment < 1)
      return makeError(ErrorCode::InvalidInput, "buffer '", idOf(problem, i), "' has alignment ", buffer.alignment,
                       ", which is not positive, give an alignment of at least 1");
    total = saturatingAdd(total, saturatingAdd(buffer.bytes, buffer.alignment));
  }
  if (total > int64_t(1) << 62)
    return makeError(ErrorCode::InvalidInput, "the buffers' sizes sum to more than 2^62 bytes, give smaller buffers");
  return {};
}

LiveBytes sluice::maxLive(const OffsetProblem &problem) {
  // (time, change): ends sort before starts of the same time.
  std::vector<std::pair<int64_t, int64_t>> events;
  events.reserve(problem.buffers.size() * 2);
  for (const Buffer &buffer : problem.buffers)
    if (occupies(buffer)) {
      events.emplace_back(buffer.lower, buffer.bytes);
      events.emplace_back(buffer.upper, -buffer.bytes);
    }
  std::sort(events.begin(), events.end());
  LiveBytes best;
  int64_t live = 0;
  for (auto [time, change] : events) {
    live += change;
    if (live > best.bytes)
      best = {live, time};
  }
  return best;
}

Status sluice::validate(const OffsetProblem &problem, const OffsetSolution &solution) {
  if (solution.offsets.size() != problem.buffers.size())
    return makeError(ErrorCode::Internal, "solution has ", solution.offsets.size(), " offsets for ",
                     problem.buffers.size(), " buffers");
  int64_t peak = 0;
  std::vector<std::pair<int64_t, size_t>> starts, ends;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer &buffer = problem.buffers[i];
    int64_t offset = solution.offsets[i];
    if (offset < 0)
      return makeError(ErrorCode::Internal, "buffer '", idOf(problem, i), "' has negative offset ", offset);
    if (offset % buffer.alignment != 0)
      return makeError(ErrorCode::Internal, "offset ", offset, " of buffer '", idOf(problem, i),
                       "' is not a multiple of ", buffer.alignment);
    if (!occupies(buffer))
      continue;
    int64_t end = saturatingAdd(offset, buffer.bytes);
    peak = std::max(peak, end);
    if (problem.capacityBytes && end > *problem.capacityBytes)
      return makeError(ErrorCode::Internal, "buffer '", idOf(problem, i), "' ends at ", end, ", beyond the capacity ",
                       *problem.capacityBytes);
    starts.emplace_back(buffer.lower, i);
    ends.emplace_back(buffer.upper, i);
  }
  if (peak != solution.peakBytes)
    return makeError(ErrorCode::Internal, "the solution states a peak of ", solution.peakBytes,
                     " bytes, and the buffers reach ", peak);

  std::sort(starts.begin(), starts.end());
  std::sort(ends.begin(), ends.end());
  std::map<int64_t, size_t> live; // By offset.
  size_t nextEnd = 0;
  for (const auto &start : starts) {
    const int64_t time = start.first;
    const size_t i = start.second;
    for (; ends[nextEnd].first <= time; ++nextEnd)
      live.erase(solution.offsets[ends[nextEnd].second]);
    auto clash = [&](size_t other) {
      return makeError(ErrorCode::Internal, "buffers '", idOf(problem, i), "' and '", idOf(problem, other),
                       "' overlap at time ", time);
    };
    int64_t offset = solution.offsets[i];
    auto after = live.lower_bound(offset);
    if (after != live.end() && after->first < offset + problem.buffers[i].bytes)
      return clash(after->second);
    if (after != live.begin()) {
      auto before = std::prev(after);
      if (before->first + problem.buffers[before->second].bytes > offset)
        return clash(before->second);
    }
    live.emplace(offset, i);
  }
  return {};
}

Expected<OffsetSolution> memory::withinCapacity(const OffsetProblem &problem, OffsetSolution solution) {
  if (!problem.capacityBytes || solution.peakBytes <= *problem.capacityBytes)
    return solution;
  int64_t capacity = *problem.capacityBytes;
  if (solution.boundBytes > capacity)
    return makeError(ErrorCode::Infeasible, "the buffers need at least ", solution.boundBytes,
                     " bytes, which exceeds the capacity of ", capacity, " bytes by ",
                     formatBytes(solution.boundBytes - capacity), ", raise the capacity");
  return makeError(ErrorCode::Infeasible, "the best packing found takes ", formatBytes(solution.peakBytes), " (",
                   solution.peakBytes, " bytes), ", solution.peakBytes - capacity, " bytes above the capacity of ",
                   formatBytes(capacity), ", raise the capacity or the evaluations");
}

Status memory::withinBound(const OffsetProblem &problem, const LiveBytes &bound) {
  if (!problem.capacityBytes || bound.bytes <= *problem.capacityBytes)
    return {};
  return makeError(ErrorCode::Infeasible, "the buffers that are live at time ", bound.time, " need ",
                   formatBytes(bound.bytes), ", which exceeds the capacity of ", formatBytes(*problem.capacityBytes),
                   " by ", formatBytes(bound.bytes - *problem.capacityBytes), ", give a capacity of at least ",
                   bound.bytes, " bytes");
}
