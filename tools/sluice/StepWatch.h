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

/// Steps a second, bytes copied, and how busy each stream is, on the terminal of standard error, drawn anew four times
/// a second.
class StepWatch {
public:
  /// Fails where standard error is no terminal.
  static Expected<StepWatch> start(int64_t steps);

  /// The session is traced. Draws where it is time.
  void afterStep(const RunSession &session);
  /// Draws once more; what is printed then stands below.
  void finish(const RunSession &session);

private:
  explicit StepWatch(int64_t steps);
  void draw(const RunSession &session, int64_t nowNs);

  const int64_t steps;
  int64_t done = 0;
  int64_t drawnNs, doneThen = 0; ///< At the last drawing.
  int drawnLines = 0;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_STEPWATCH_H
