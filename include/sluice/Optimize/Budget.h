//===- Budget.h - Limits of a search ----------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_BUDGET_H
#define SLUICE_OPTIMIZE_BUDGET_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>

namespace sluice {

/// The limit of evaluations is deterministic. A deadline or an interrupt ends the search at
/// an arbitrary point, so another run may give another result.
struct Budget {
  int64_t evaluations = std::numeric_limits<int64_t>::max();
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool> *interrupt = nullptr;

  bool interrupted() const { return interrupt && interrupt->load(std::memory_order_relaxed); }
  bool late() const { return deadline && std::chrono::steady_clock::now() >= *deadline; }
  /// Whether the deadline has passed or the user has interrupted the search. The search itself
  /// counts evaluations.
  bool mustStop() const { return interrupted() || late(); }
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_BUDGET_H
