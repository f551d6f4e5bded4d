//===- DriftMonitor.h - When a running plan no longer fits ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Adaptive HTF-MPR's monitor (Albaqsami's thesis, chapter 6): the mean of a
// window of iterations leaves what the first window says by beta deviations. Here
// medians stand for means, and the median absolute deviation for the standard
// one: an iteration that the system delays neither hides a change nor feigns one.
// And each device's share of the work is watched beside the iteration's time: what
// else runs on the machine changes all devices' times, one device's slowing the shares.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLACEMENT_DRIFTMONITOR_H
#define SLUICE_PLACEMENT_DRIFTMONITOR_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace sluice {

struct DriftParams {
  size_t window = 20; ///< Q, at least 4.
  double beta = 10;   ///< Positive.
};

/// Fed with each iteration's time, of all and of each device's work. Learns for a
/// window, watches, and once the time or a share of the last window has left its
/// middle +- beta x sigma listens for a quarter of a window more: whether the change
/// lasts, and what the devices do after it. Two iterations are let pass at first:
/// they touch pages. Sigma counts as at least 1.5% of the middle, and of a
/// tenth of the work.
class DriftMonitor {
public:
  explicit DriftMonitor(const DriftParams &params = {}) : params(params) {}

  /// True where the plan no longer fits; slowdowns() then says why. Every call has
  /// the same number of devices.
  bool observe(int64_t ns, const std::vector<int64_t> &deviceNs);
  /// Per device, by what factor it takes longer than in the first window (medians); 1
  /// where it has no work. Where several work, over the factor of the one that changed
  /// least: what slows all alike calls for no other plan. After observe() was true.
  std::vector<double> slowdowns() const;
  /// After observe() was true: listens for a quarter of a window again before it is
  /// so once more, or watches on where the change was over by then.
  void listenAgain() { change.clear(); }
  bool isListening() const { return left; }
  /// Learns anew: another plan, or one that stays although it has changed.
  void restart();

private:
  struct Iteration {
    int64_t ns;
    std::vector<int64_t> deviceNs;
  };

  struct Bounds {
    double middle = 0, sigma = 0;
  };

  /// The time (0), or device i - 1's share of all devices' work.
  static double valueOf(const Iteration &iteration, size_t i);
  template <typename Iterations>
  static std::vector<double> valuesOf(const Iterations &iterations, size_t i);
  template <typename Iterations>
  bool isOutside(const Iterations &iterations) const;
  void learn();

  DriftParams params;
  size_t passed = 0;
  std::vector<Iteration> first;  ///< The window that is learned from.
  std::deque<Iteration> last;    ///< The window that is watched.
  std::vector<Iteration> change; ///< What came after it left the bounds.
  std::vector<Bounds> learned;   ///< Of the first window, per value.
  bool left = false;
};

} // namespace sluice

#endif // SLUICE_PLACEMENT_DRIFTMONITOR_H
