//===- Budget.h - When a search must stop -----------------------*- C++ -*-===//
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

/// Evaluations are the deterministic limit; a deadline or an interrupt ends the
/// search wherever it is, so that another run may end elsewhere.
struct Budget {
  int64_t evaluations = std::numeric_limits<int64_t>::max();
  std::optional<std::chrono::steady_clock::time_point> deadline;
  const std::atomic<bool> *interrupt = nullptr;

  bool interrupted() const { return interrupt && interrupt->load(std::memory_order_relaxed); }
  bool late() const { return deadline && std::chrono::steady_clock::now() >= *deadline; }
  /// True once the clock or the user says so; evaluations are counted by the
  /// search itself.
  bool mustStop() const { return interrupted() || late(); }
};

} // namespace sluice

#endif // SLUICE_OPTIMIZE_BUDGET_H
