//===- StaticLayout.cpp ---------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// If all tensors fit into the memory, no tensor needs to be evicted, and addresses follow from the stays alone. Two
// stays may share addresses if they do not overlap in time. Stays are lengthened first by the estimated times of their
// copies and exchanges. Otherwise a copy would delay the operator that uses the same addresses next.
//
//===----------------------------------------------------------------------===//

#include "StaticLayout.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

std::vector<Stay> swap::timedStays(const ProblemIndex &index, MemoryId memory, std::vector<Stay> stays) {
  const SwapProblem &problem = index.problem;
  if (index.numPositions == 0)
    return stays;
  // Computation overlaps communication until an operator reads the communicated results.
  std::vector<int64_t> startNs(index.numPositions + 1, 0), endNs(index.numPositions, 0);
  int64_t communicatedNs = 0;
  for (size_t p = 0; p < index.numPositions; ++p) {
    OperatorId op = index.opAt(Position(p));
    if (index.memoryOf(Position(p)) == memory) {
      for (TensorId input : index.operatorAt(Position(p)).inputs)
        if (OperatorId maker = problem.graph.tensor(input).producer;
            maker.valid() && problem.graph.op(maker).communicates)
          startNs[p] = std::max(startNs[p], endNs[index.positionOf[maker.index()].index()]);
      const bool apart = problem.graph.op(op).communicates;
      endNs[p] = (apart ? std::max(startNs[p], communicatedNs) : startNs[p]) +
                 problem.costs.timeNs(op, problem.placement[op.index()]);
      (apart ? communicatedNs : startNs[p + 1]) = endNs[p];
    }
    startNs[p + 1] = std::max(startNs[p + 1], startNs[p]);
  }
  auto copyNs = [&](TensorId t) {
    return transferTimeNs(problem.machine.link(index.link(Machine::hostMemory(), memory)),
                          problem.graph.tensor(t).bytes);
  };
  // The position whose operator runs at a time.
  auto positionAt = [&](int64_t timeNs) {
    auto after = std::upper_bound(startNs.begin(), startNs.end() - 1, timeNs);
    return Position(static_cast<size_t>(std::max<std::ptrdiff_t>(after - startNs.begin() - 1, 0)));
  };
  for (Stay &stay : stays) {
    auto lasts = [&](OperatorId op) {
      if (const Position p = index.positionOf[op.index()];
          problem.graph.op(op).communicates && index.memoryOf(p) == memory)
        stay.last = std::max(stay.last, positionAt(endNs[p.index()] - 1));
    };
    if (!stay.tensor.valid()) {
      lasts(index.opAt(stay.first));
      continue;
    }
    const Tensor &tensor = problem.graph.tensor(stay.tensor);
    if (tensor.producer.valid())
      lasts(tensor.producer);
    for (OperatorId reader : tensor.consumers)
      lasts(reader);
  }
  if (memory == Machine::hostMemory())
    return stays;
  std::vector<uint32_t> out, in;
  for (uint32_t i = 0; i < stays.size(); ++i) {
    TensorId t = stays[i].tensor;
    if (!t.valid() || index.staysResident(t))
      continue;
    const Position produced = index.producedAt(t);
    if (!produced.valid() || index.memoryOf(produced) != memory)
      in.push_back(i);
    else if (index.hasHome[t.index()] || index.pushToHost[t.index()])
      out.push_back(i);
  }
  std::stable_sort(out.begin(), out.end(), [&](uint32_t i, uint32_t j) { return stays[i].first < stays[j].first; });
  int64_t busyNs = 0;
  for (uint32_t i : out) {
    busyNs = std::max(busyNs, startNs[stays[i].first.index() + 1]) + copyNs(stays[i].tensor);
    stays[i].last = std::max(stays[i].last, positionAt(busyNs - 1));
  }
  std::stable_sort(in.begin(), in.end(), [&](uint32_t i, uint32_t j) { return stays[i].first > stays[j].first; });
  busyNs = startNs.back();
  for (uint32_t i : in) {
    busyNs = std::min(busyNs, startNs[stays[i].first.index()]) - copyNs(stays[i].tensor);
    stays[i].first = std::min(stays[i].first, positionAt(std::max<int64_t>(busyNs, 0)));
  }
  return stays;
}

namespace {
struct Placed {
  int64_t offset, end;
  Position first, last;
};
} // namespace

/// Whether both are in the memory at some position. A stay whose first position is behind its last one is there at the
/// begin and at the end of the step.
static bool overlaps(const Placed &a, const Stay &b) {
  const bool wrapsA = a.first > a.last, wrapsB = b.first > b.last;
  if (wrapsA && wrapsB)
    return true;
  if (wrapsA || wrapsB)
    return b.first <= a.last || a.first <= b.last;
  return b.first <= a.last && a.first <= b.last;
}

/// First fit in the order given, above `base`. Returns the peak.
static int64_t packFirstFit(std::span<const Stay> stays, const std::vector<uint32_t> &order, int64_t base,
                            std::vector<Placed> &placed, std::vector<int64_t> &offsets) {
  placed.clear();
  int64_t peak = base;
  for (uint32_t id : order) {
    const Stay &stay = stays[id];
    int64_t cursor = base;
    for (const Placed &other : placed) {
      if (!overlaps(other, stay))
        continue;
      if (cursor + stay.bytes <= other.offset)
        break;
      cursor = std::max(cursor, other.end);
    }
    offsets[id] = cursor;
    peak = std::max(peak, cursor + stay.bytes);
    auto at = std::upper_bound(placed.begin(), placed.end(), cursor,
                               [](int64_t value, const Placed &p) { return value < p.offset; });
    placed.insert(at, {cursor, cursor + stay.bytes, stay.first, stay.last});
  }
  return peak;
}

StaticLayout swap::packStays(const ProblemIndex &index, std::span<const Stay> stays, int64_t capacityBytes) {
  StaticLayout best;
  best.offsets.assign(stays.size(), 0);
  int64_t base = 0;
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < stays.size(); ++i) {
    if (stays[i].bytes == 0)
      continue;
    if (stays[i].first == Position(0u) && stays[i].last == index.lastPosition()) {
      best.offsets[i] = base;
      base += stays[i].bytes;
    } else {
      order.push_back(i);
    }
  }
  best.peakBytes = base;
  if (order.empty())
    return best;
  int64_t bound = peakOfStays(index, stays).first;
  std::vector<int64_t> offsets = best.offsets;
  std::vector<Placed> placed;
  placed.reserve(order.size());
  best.peakBytes = std::numeric_limits<int64_t>::max();
  auto length = [&](uint32_t i) {
    const int64_t wrapped = stays[i].first > stays[i].last ? static_cast<int64_t>(index.numPositions) : 0;
    return int64_t(stays[i].last.value) - stays[i].first.value + 1 + wrapped;
  };
  auto area = [&](uint32_t i) { return static_cast<double>(stays[i].bytes) * static_cast<double>(length(i)); };
  enum { Size, Area, Length, Start, NumOrders };
  for (int criterion = Size; criterion < NumOrders; ++criterion) {
    if (best.peakBytes <= std::max(bound, criterion > Area ? capacityBytes : 0))
      break;
    std::stable_sort(order.begin(), order.end(), [&](uint32_t i, uint32_t j) {
      switch (criterion) {
      case Size:
        return std::pair(-stays[i].bytes, -length(i)) < std::pair(-stays[j].bytes, -length(j));
      case Area:
        return area(i) > area(j);
      case Length:
        return std::pair(-length(i), -stays[i].bytes) < std::pair(-length(j), -stays[j].bytes);
      default:
        return std::pair(stays[i].first, -stays[i].bytes) < std::pair(stays[j].first, -stays[j].bytes);
      }
    });
    int64_t peak = packFirstFit(stays, order, base, placed, offsets);
    if (peak < best.peakBytes) {
      best.peakBytes = peak;
      best.offsets = offsets;
    }
  }
  return best;
}
