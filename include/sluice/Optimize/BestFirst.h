//===- BestFirst.h - Best-first search by measurements ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Best-first search with the measurements outside: next() names a point, tell()
// says what it costs. Many searches can so share one measurement, as kernels of
// one model do.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_BESTFIRST_H
#define SLUICE_OPTIMIZE_BESTFIRST_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice {

/// When a search moves, and when it ends.
struct BestFirstParams {
  double leastGain = 0.01; ///< A point is better if it costs less by so much: 1%.
  double slack = 0.05;     ///< Points that cost more than the best by more than this are not searched around.
  int64_t patience = 3;    ///< So many points are searched around in vain before the search ends.
};

/// Measures the starting points, then the neighbours of the cheapest point that was not searched around yet, and so on.
/// A hill climb is the same with a patience of 1, but that this measures all neighbours before it moves. Ordered
/// points; none is measured twice.
template <typename Point>
class BestFirst {
public:
  using Neighbours = std::function<std::vector<Point>(const Point &)>;

  /// The first starting point stays the best until another gains.
  BestFirst(std::vector<Point> starts, Neighbours neighbours, BestFirstParams params = {})
      : queue(starts.rbegin(), starts.rend()), neighbours(std::move(neighbours)), params(params) {}

  /// The point to measure now; nothing where the search is over. The same until tell() is called.
  std::optional<Point> next() {
    while (!current) {
      if (queue.empty() && !lookAround())
        return std::nullopt;
      while (!queue.empty() && !current) {
        if (known.insert(queue.back()).second)
          current = std::move(queue.back());
        queue.pop_back();
      }
    }
    return current;
  }

  /// What the point of next() costs.
  void tell(double cost) {
    if (!current)
      return;
    ++count;
    if (!top || cost < lowest * (1 - params.leastGain)) {
      top = *current;
      lowest = cost;
      inVain = 0;
    }
    open.emplace(cost, std::move(*current));
    current.reset();
  }

  /// Of the points told; there is one after the first tell().
  const std::optional<Point> &best() const { return top; }
  double bestCost() const { return lowest; }
  int64_t trials() const { return count; }
  bool isFinished() { return !next(); }

private:
  /// Queues the neighbours of the cheapest point; false where the search is over.
  bool lookAround() {
    if (open.empty() || inVain >= params.patience || open.begin()->first > lowest * (1 + params.slack))
      return false;
    ++inVain;
    std::vector<Point> around = neighbours(open.begin()->second);
    open.erase(open.begin());
    queue.assign(around.rbegin(), around.rend());
    return true;
  }

  std::vector<Point> queue; ///< The next one is the last.
  Neighbours neighbours;
  BestFirstParams params;
  std::set<Point> known;
  std::set<std::pair<double, Point>> open; ///< Measured, and not searched around.
  std::optional<Point> current, top;
  double lowest = 0;
  int64_t count = 0;
  int64_t inVain = 0; ///< Points searched around since the best one was found.
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_BESTFIRST_H
