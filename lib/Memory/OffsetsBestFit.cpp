//===- OffsetsBestFit.cpp - Greedy packings and their local search --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Memory/Offsets.h"

#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace sluice;

static bool occupies(const Buffer &buffer) { return buffer.bytes > 0 && buffer.lower < buffer.upper; }

std::vector<uint32_t> sluice::bufferOrder(const OffsetProblem &problem, BufferOrder order) {
  const std::vector<Buffer> &buffers = problem.buffers;
  std::vector<uint32_t> result(buffers.size());
  std::iota(result.begin(), result.end(), 0u);
  // Differences may exceed int64 and areas surely do: compare as long doubles.
  auto lifetime = [&](const Buffer &b) { return static_cast<long double>(b.upper) - b.lower; };
  auto area = [&](const Buffer &b) { return lifetime(b) * b.bytes; };
  auto before = [&](uint32_t i, uint32_t j) {
    const Buffer &a = buffers[i], &b = buffers[j];
    switch (order) {
    case BufferOrder::Size:
      return std::make_tuple(-static_cast<long double>(a.bytes), -lifetime(a), static_cast<long double>(a.lower), i) <
             std::make_tuple(-static_cast<long double>(b.bytes), -lifetime(b), static_cast<long double>(b.lower), j);
    case BufferOrder::Lifetime:
      return std::make_tuple(-lifetime(a), -static_cast<long double>(a.bytes), static_cast<long double>(a.lower), i) <
             std::make_tuple(-lifetime(b), -static_cast<long double>(b.bytes), static_cast<long double>(b.lower), j);
    case BufferOrder::Area:
      return std::make_tuple(-area(a), -static_cast<long double>(a.bytes), static_cast<long double>(a.lower), i) <
             std::make_tuple(-area(b), -static_cast<long double>(b.bytes), static_cast<long double>(b.lower), j);
    case BufferOrder::Start:
      return std::make_tuple(static_cast<long double>(a.lower), -static_cast<long double>(a.bytes), -lifetime(a), i) <
             std::make_tuple(static_cast<long double>(b.lower), -static_cast<long double>(b.bytes), -lifetime(b), j);
    }
    return i < j;
  };
  std::sort(result.begin(), result.end(), before);
  return result;
}

OffsetSolution sluice::packInOrder(const OffsetProblem &problem, const std::vector<uint32_t> &order, FitRule rule) {
  struct Placed {
    int64_t offset, end, lower, upper;
  };
  std::vector<Placed> placed; // By offset, so that one scan meets the gaps.
  placed.reserve(order.size());
  OffsetSolution solution;
  solution.offsets.assign(problem.buffers.size(), 0);
  solution.evaluations = 1;
  for (uint32_t id : order) {
    const Buffer &buffer = problem.buffers[id];
    if (!occupies(buffer))
      continue;
    int64_t cursor = 0, bestOffset = -1, bestGap = 0;
    for (const Placed &other : placed) {
      if (other.upper <= buffer.lower || buffer.upper <= other.lower)
        continue;
      int64_t start = alignUp(cursor, buffer.alignment);
      int64_t gap = other.offset - cursor;
      if (start + buffer.bytes <= other.offset && (bestOffset < 0 || gap < bestGap)) {
        bestOffset = start;
        bestGap = gap;
        if (rule == FitRule::FirstFit)
          break;
      }
      cursor = std::max(cursor, other.end);
    }
    int64_t offset = bestOffset >= 0 ? bestOffset : alignUp(cursor, buffer.alignment);
    solution.offsets[id] = offset;
    solution.peakBytes = std::max(solution.peakBytes, offset + buffer.bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                               [](int64_t value, const Placed &p) { return value < p.offset; });
    placed.insert(at, {offset, offset + buffer.bytes, buffer.lower, buffer.upper});
  }
  return solution;
}

/// Infeasible where a capacity is given and exceeded.
static Expected<OffsetSolution> withinCapacity(const OffsetProblem &problem, OffsetSolution solution) {
  if (!problem.capacityBytes || solution.peakBytes <= *problem.capacityBytes)
    return solution;
  int64_t capacity = *problem.capacityBytes;
  return makeError(ErrorCode::Infeasible, "the best packing found takes ", formatBytes(solution.peakBytes), " (",
                   solution.peakBytes, " bytes), ", solution.peakBytes - capacity, " bytes above the capacity of ",
                   formatBytes(capacity), ", raise the capacity or the evaluations");
}

static Status withinBound(const OffsetProblem &problem, const LiveBytes &bound) {
  if (!problem.capacityBytes || bound.bytes <= *problem.capacityBytes)
    return {};
  return makeError(ErrorCode::Infeasible, formatBytes(bound.bytes), " (", bound.bytes, " bytes) are live at time ",
                   bound.time, ", ", bound.bytes - *problem.capacityBytes, " bytes above the capacity of ",
                   formatBytes(*problem.capacityBytes));
}

/// Owl's blocks, for a checked problem.
static Expected<OffsetSolution> packOwl(const OffsetProblem &problem) {
  struct Block {
    int64_t bytes = 0;
    int64_t freeFrom = 0;
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> blockOf(problem.buffers.size(), 0);
  for (uint32_t id : bufferOrder(problem, BufferOrder::Start)) {
    const Buffer &buffer = problem.buffers[id];
    if (!occupies(buffer))
      continue;
    size_t smallestFit = blocks.size(), largest = blocks.size();
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (blocks[b].freeFrom > buffer.lower)
        continue;
      if (blocks[b].bytes >= buffer.bytes &&
          (smallestFit == blocks.size() || blocks[b].bytes < blocks[smallestFit].bytes))
        smallestFit = b;
      if (largest == blocks.size() || blocks[b].bytes > blocks[largest].bytes)
        largest = b;
    }
    size_t chosen = smallestFit != blocks.size() ? smallestFit : largest;
    if (chosen == blocks.size())
      blocks.emplace_back();
    blocks[chosen].bytes = std::max(blocks[chosen].bytes, buffer.bytes);
    blocks[chosen].freeFrom = buffer.upper;
    blockOf[id] = static_cast<uint32_t>(chosen);
  }
  // A block's start suits each of its buffers only if alignments divide one
  // another: powers of two do, others take their product.
  std::vector<int64_t> blockAlignment(blocks.size(), 1);
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (occupies(problem.buffers[i])) {
      int64_t &alignment = blockAlignment[blockOf[i]];
      int64_t step = problem.buffers[i].alignment / std::gcd(alignment, problem.buffers[i].alignment);
      alignment = saturatingMul(alignment, step);
      if (alignment > int64_t(1) << 40)
        return makeError(ErrorCode::Unsupported,
                         "alignments of buffers that share a block have no common multiple below "
                         "2^40, use powers of two");
    }
  std::vector<int64_t> blockOffset(blocks.size(), 0);
  int64_t end = 0;
  for (size_t b = 0; b < blocks.size(); ++b) {
    blockOffset[b] = alignUp(end, blockAlignment[b]);
    end = blockOffset[b] + blocks[b].bytes;
  }
  OffsetSolution solution;
  solution.evaluations = 1;
  solution.offsets.assign(problem.buffers.size(), 0);
  for (size_t i = 0; i < problem.buffers.size(); ++i)
    if (occupies(problem.buffers[i])) {
      solution.offsets[i] = blockOffset[blockOf[i]];
      solution.peakBytes = std::max(solution.peakBytes, solution.offsets[i] + problem.buffers[i].bytes);
    }
  return solution;
}

Expected<OffsetSolution> sluice::solveOffsetsBestFit(const OffsetProblem &problem, const BestFitParams &params) {
  if (Status status = check(problem); !status)
    return propagate(status);
  LiveBytes bound = maxLive(problem);
  if (Status status = withinBound(problem, bound); !status)
    return propagate(status);
  int64_t enough = problem.capacityBytes ? *problem.capacityBytes : bound.bytes;

  OffsetSolution best;
  best.peakBytes = std::numeric_limits<int64_t>::max();
  std::vector<uint32_t> bestOrder;
  FitRule bestRule = FitRule::FirstFit;
  int64_t evaluations = 0;
  auto done = [&] { return best.peakBytes <= enough || (evaluations > 0 && evaluations >= params.evaluations); };
  auto consider = [&](const std::vector<uint32_t> &order, FitRule rule) {
    OffsetSolution candidate = packInOrder(problem, order, rule);
    ++evaluations;
    if (candidate.peakBytes <= best.peakBytes) {
      best = std::move(candidate);
      bestOrder = order;
      bestRule = rule;
    }
  };
  for (BufferOrder criterion : {BufferOrder::Size, BufferOrder::Area, BufferOrder::Lifetime, BufferOrder::Start}) {
    std::vector<uint32_t> order = bufferOrder(problem, criterion);
    for (FitRule rule : {FitRule::FirstFit, FitRule::BestFit})
      if (!done())
        consider(order, rule);
  }
  // Packed anew in the order of its offsets, no buffer of a packing ends higher:
  // so the result is never worse than Owl's.
  if (!done())
    if (Expected<OffsetSolution> owl = packOwl(problem)) {
      std::vector<uint32_t> order = bufferOrder(problem, BufferOrder::Size);
      std::stable_sort(order.begin(), order.end(),
                       [&](uint32_t i, uint32_t j) { return owl->offsets[i] < owl->offsets[j]; });
      consider(order, FitRule::FirstFit);
    }

  Rng rng(params.seed);
  while (!done()) {
    // Only a change that reaches the buffers of the peak can lower it: move one
    // of them, and sometimes any other, to an earlier turn.
    std::vector<uint32_t> order = bestOrder;
    std::vector<uint32_t> positions;
    for (uint32_t i = 0; i < order.size(); ++i)
      if (best.offsets[order[i]] + problem.buffers[order[i]].bytes == best.peakBytes)
        positions.push_back(i);
    uint32_t from = positions[rng.below(positions.size())];
    uint32_t to = static_cast<uint32_t>(rng.below(from + 1));
    std::rotate(order.begin() + to, order.begin() + from, order.begin() + from + 1);
    if (rng.chance(0.3)) {
      uint32_t i = static_cast<uint32_t>(rng.below(order.size())), j = static_cast<uint32_t>(rng.below(order.size()));
      std::swap(order[i], order[j]);
    }
    consider(order, bestRule);
  }
  best.evaluations = evaluations;
  if (Status status = validate({problem.buffers, problem.ids, std::nullopt}, best); !status)
    return propagate(status);
  return withinCapacity(problem, std::move(best));
}

Expected<OffsetSolution> sluice::solveOffsetsOwl(const OffsetProblem &problem) {
  if (Status status = check(problem); !status)
    return propagate(status);
  if (Status status = withinBound(problem, maxLive(problem)); !status)
    return propagate(status);
  Expected<OffsetSolution> solution = packOwl(problem);
  if (!solution)
    return solution;
  if (Status status = validate({problem.buffers, problem.ids, std::nullopt}, *solution); !status)
    return propagate(status);
  return withinCapacity(problem, std::move(*solution));
}
