//===- Barrier.h - When a worker may begin its next step --------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A barrier decides when a worker (a rank that trains) may begin its next step. All barriers here follow one rule: a
// worker may begin if its clock (the number of steps that it has completed) exceeds none of the clocks in its *view* by
// more than the staleness that the barrier allows. The view of a worker consists of all other workers or of a random
// sample of them. The rule covers bulk synchronous (BSP), stale synchronous (SSP) and asynchronous parallel (ASP)
// training, and the probabilistic forms of BSP and SSP, which use samples (Zhao's thesis, section 2.4.3 and chapter 6).
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_BARRIERS_BARRIER_H
#define SLUICE_BARRIERS_BARRIER_H

#include "sluice/Support/Error.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sluice {

inline constexpr int64_t kMostStaleness = 1'000'000'000, kMostWorkers = 1'000'000;

struct Barrier {
  /// Steps by which a worker may be ahead of any worker in its view; at most kMostStaleness.
  int64_t staleness = 0;
  /// Number of other workers in a view, which each test draws anew. If it is absent, a view has all other workers. With
  /// 0 no worker waits.
  std::optional<int64_t> sample;

  bool passes(int64_t clock, std::span<const int64_t> view) const {
    return std::all_of(view.begin(), view.end(), [&](int64_t other) { return other >= clock - staleness; });
  }
  /// The number of workers in a view when `workers` workers train together. A worker is not in its own view.
  int64_t viewSize(int64_t workers) const { return std::min(sample.value_or(workers - 1), workers - 1); }
  /// Fails on a negative or too large staleness or sample.
  Status check() const;

  friend bool operator==(const Barrier &, const Barrier &) = default;
};

/// Parses "bsp", "ssp:4" (staleness 4), "asp", "pbsp:10" (a sample of 10 workers) or "pssp:4,10" (staleness 4, a sample
/// of 10). Fails on any other text.
Expected<Barrier> parseBarrier(std::string_view text);
/// The text that parseBarrier reads as this barrier.
std::string barrierText(const Barrier &barrier);

} // namespace sluice

#endif // SLUICE_BARRIERS_BARRIER_H
