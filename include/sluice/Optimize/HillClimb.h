//===- HillClimb.h - Best of neighbours, by measurements --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Hill climbing with the measurements outside: next() names a point, tell() says
// what it costs. Many climbs can so share one measurement, as kernels of one model do.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_HILLCLIMB_H
#define SLUICE_OPTIMIZE_HILLCLIMB_H

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace sluice {

/// Measures the starting points, then the neighbours of the best one, and moves as soon as one costs less by
/// `leastGain` (0.01: 1%). Ends where no neighbour does. Ordered points; none is measured twice.
template <typename Point>
class HillClimb {
public:
  using Neighbours = std::function<std::vector<Point>(const Point &)>;

  /// The first starting point stays the best until another gains.
  HillClimb(std::vector<Point> starts, Neighbours neighbours, double leastGain = 0.01)
      : queue(starts.rbegin(), starts.rend()), neighbours(std::move(neighbours)), leastGain(leastGain),
        numStarts(starts.size()) {}

  /// The point to measure now; nothing where the climb is over. The same until tell() is called.
  std::optional<Point> next() {
    if (current)
      return current;
    while (!queue.empty()) {
      Point point = std::move(queue.back());
      queue.pop_back();
      if (numStarts > 0)
        --numStarts;
      if (known.insert(point).second)
        return current = std::move(point);
      lookAround();
    }
    return std::nullopt;
  }

  /// What the point of next() costs.
  void tell(double cost) {
    if (!current)
      return;
    ++count;
    const bool isBetter = !top || cost < lowest * (1 - leastGain);
    if (isBetter) {
      top = *current;
      lowest = cost;
      hasMoved = true;
    }
    current.reset();
    lookAround();
  }

  /// Of the points told; there is one after the first tell().
  const std::optional<Point> &best() const { return top; }
  double bestCost() const { return lowest; }
  int64_t trials() const { return count; }
  bool isFinished() { return !next(); }

private:
  /// From the best point, once the starting points are measured.
  void lookAround() {
    if (numStarts > 0 || !hasMoved || !top)
      return;
    hasMoved = false;
    std::vector<Point> around = neighbours(*top);
    queue.assign(around.rbegin(), around.rend());
  }

  std::vector<Point> queue; ///< The next one is the last.
  Neighbours neighbours;
  double leastGain;
  size_t numStarts; ///< Starting points that are still in the queue.
  std::set<Point> known;
  std::optional<Point> current, top;
  double lowest = 0;
  int64_t count = 0;
  bool hasMoved = false;
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_HILLCLIMB_H
