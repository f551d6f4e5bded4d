//===- BestFirst.h - Best-first search by measurements ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Best-first search whose caller measures the points: next() returns a point, and the
// caller passes its cost to tell(). Several searches can thus share one measurement, such
// as the searches for the kernels of one model.
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

/// The rules that decide how a search continues and when it ends.
struct BestFirstParams {
  double leastGain = 0.01; ///< A point replaces the best one if its cost is lower by more than this fraction.
  double slack = 0.05;     ///< A point is not expanded if its cost exceeds the best by more than this fraction.
  int64_t patience = 3;    ///< The search ends after this number of points is expanded without an improvement.
};

/// Measures the starting points. Then repeatedly expands the cheapest point that was not expanded yet, which means that
/// it measures the point's neighbours. With a patience of 1 this is a hill climb that measures all neighbours before it
/// moves. No point is measured twice. The type Point must have an operator<.
template <typename Point>
class BestFirst {
public:
  using Neighbours = std::function<std::vector<Point>(const Point &)>;

  /// The first starting point is the best until another one is better by leastGain.
  BestFirst(std::vector<Point> starts, Neighbours neighbours, BestFirstParams params = {})
      : queue(starts.rbegin(), starts.rend()), neighbours(std::move(neighbours)), params(params) {}

  /// The point to measure next. Until tell() is called, repeated calls return the same point. Empty if the search is
  /// over.
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

  /// Passes the cost of the point that next() returned.
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

  /// The best point so far. Call it after the first tell().
  const std::optional<Point> &best() const { return top; }
  double bestCost() const { return lowest; }
  int64_t trials() const { return count; }
  bool isFinished() { return !next(); }

private:
  /// Expands the cheapest point. Returns false if the search is over.
  bool lookAround() {
    if (open.empty() || inVain >= params.patience || open.begin()->first > lowest * (1 + params.slack))
      return false;
    ++inVain;
    std::vector<Point> around = neighbours(open.begin()->second);
    open.erase(open.begin());
    queue.assign(around.rbegin(), around.rend());
    return true;
  }

  std::vector<Point> queue; ///< The last element is measured next.
  Neighbours neighbours;
  BestFirstParams params;
  std::set<Point> known;
  std::set<std::pair<double, Point>> open; ///< Points that are measured but not expanded.
  std::optional<Point> current, top;
  double lowest = 0;
  int64_t count = 0;
  int64_t inVain = 0; ///< Number of points expanded since the best one was found.
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_BESTFIRST_H
