//===- StepWatch.h - A run's steps as they go -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_STEPWATCH_H
#define SLUICE_TOOLS_SLUICE_STEPWATCH_H

#include "RunSession.h"

#include <cstdint>
#include <string>

namespace sluice::driver {

/// Shows steps per second, copied bytes, and how busy each stream is, on the terminal of standard error, four times per
/// second.
class StepWatch {
public:
  /// Fails if standard error is no terminal.
  static Expected<StepWatch> start(int64_t steps);

  /// To be called after each step of a session that traces. Draws if a quarter of a second has passed.
  void afterStep(const RunSession &session);
  /// Draws a last time. Later output is printed below the drawing.
  void finish(const RunSession &session);

private:
  explicit StepWatch(int64_t steps);
  void draw(const RunSession &session, int64_t nowNs);

  const int64_t steps;
  int64_t done = 0;
  int64_t drawnNs, doneThen = 0; ///< The time and the number of steps at the last drawing.
  int drawnLines = 0;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_STEPWATCH_H
