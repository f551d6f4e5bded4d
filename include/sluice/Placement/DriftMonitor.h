//===- DriftMonitor.h - When a running plan no longer fits ------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The monitor of adaptive HTF-MPR (Placement/HtfMpr.h; Albaqsami's thesis, chapter 6). HTF-MPR is a mapper of operators
// to heterogeneous devices. The thesis compares the mean of a window of iterations with the mean of the first window; a
// difference of more than beta standard deviations is a change. There are two differences here. First, medians replace
// means, and the median absolute deviation replaces the standard deviation, because a single delayed iteration changes
// them little. Second, the monitor watches the time of an iteration and also each device's share of the work: other
// programs on the machine change the times of all devices, while a slow device changes the shares.
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
  size_t window = 20; ///< Iterations in a window (the thesis's Q), at least 4.
  double beta = 10;   ///< Allowed difference from the median in multiples of sigma; positive.
};

/// Observes the time of each iteration and the work of each device in it. The monitor learns
/// the medians of a first window. It then compares the last window with them. If the time, or a device's share of
/// the work, leaves the interval median +- beta x sigma, the monitor observes another quarter of a window, to find out
/// whether the change lasts and how fast the devices are now. The first two iterations are ignored because they
/// touch new pages. Sigma is the scaled median absolute deviation, and at least 1.5% of the median. For a device's
/// share of the work it is also at least 0.15% of the whole work, so small changes of a nearly idle device are ignored.
class DriftMonitor {
public:
  explicit DriftMonitor(const DriftParams &params = {}) : params(params) {}

  /// Returns true if the measured times no longer fit the first window, so that another plan may be faster; slowdowns()
  /// then says which devices became slower. Every call must have the same number of devices.
  bool observe(int64_t ns, const std::vector<int64_t> &deviceNs);
  /// Per device, the factor by which it is slower than in the first window (medians); 1 for a
  /// device without work. If several devices work, each factor is divided by the factor of the device
  /// that changed least, because a slowdown of all devices together needs no other plan. Call it after
  /// observe() returned true.
  std::vector<double> slowdowns() const;
  /// After observe() returned true, call this function to observe another quarter of a window. After this quarter,
  /// observe() returns true again if the change lasts. Otherwise the monitor continues to watch as before.
  void listenAgain() { change.clear(); }
  /// Whether the last window has left the bounds, so that the monitor observes another quarter of a window.
  bool isListening() const { return left; }
  /// Forgets the first window and learns a new one: for another plan, or for a plan that is kept in spite of a change.
  void restart();

private:
  struct Iteration {
    int64_t ns;
    std::vector<int64_t> deviceNs;
  };

  struct Bounds {
    double middle = 0, sigma = 0;
  };

  /// For i = 0 the time, otherwise the share of device i - 1 in the work of all devices.
  static double valueOf(const Iteration &iteration, size_t i);
  template <typename Iterations>
  static std::vector<double> valuesOf(const Iterations &iterations, size_t i);
  template <typename Iterations>
  bool isOutside(const Iterations &iterations) const;
  void learn();

  DriftParams params;
  size_t passed = 0;
  std::vector<Iteration> first;  ///< The first window, from which the bounds are learned.
  std::deque<Iteration> last;    ///< The last window, which is compared with the bounds.
  std::vector<Iteration> change; ///< The iterations since the last window left the bounds.
  std::vector<Bounds> learned;   ///< The bounds, per value of valueOf().
  bool left = false;
};

} // namespace sluice

#endif // SLUICE_PLACEMENT_DRIFTMONITOR_H
