//===- OffsetsBestFit.cpp - Greedy packings and their local search --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "OffsetsShared.h"
#include "PlacedItems.h"
#include "sluice/Support/Rng.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <numeric>
#include <tuple>

using namespace sluice;
using namespace sluice::memory;

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
  const Sections sections = sectionsOf(problem);
  std::vector<uint32_t> itemOf(problem.buffers.size(), ~0u), itemOrder;
  for (uint32_t i = 0; i < sections.items.size(); ++i)
    itemOf[sections.items[i].buffer] = i;
  for (uint32_t id : order)
    if (itemOf[id] != ~0u)
      itemOrder.push_back(itemOf[id]);
  PlacedItems placed;
  std::vector<int64_t> offsets(sections.items.size(), 0);
  OffsetSolution solution;
  solution.evaluations = 1;
  solution.peakBytes = packItems(sections, itemOrder, rule, placed, offsets);
  solution.offsets.assign(problem.buffers.size(), 0);
  for (uint32_t i = 0; i < sections.items.size(); ++i)
    solution.offsets[sections.items[i].buffer] = offsets[i] * sections.unitBytes;
  return solution;
}

Expected<OffsetSolution> sluice::solveOffsetsBestFit(const OffsetProblem &problem, const BestFitParams &params) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  LiveBytes bound = maxLive(problem);
  SLUICE_RETURN_IF_ERROR(withinBound(problem, bound));
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
  SLUICE_RETURN_IF_ERROR(validate({problem.buffers, problem.ids, std::nullopt}, best));
  return withinCapacity(problem, std::move(best));
}
