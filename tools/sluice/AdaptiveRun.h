//===- AdaptiveRun.h - Re-planning while a model runs -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_ADAPTIVERUN_H
#define SLUICE_TOOLS_SLUICE_ADAPTIVERUN_H

#include "RunSession.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Placement/DriftMonitor.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace sluice::driver {

/// An emulated device that takes `factor` times as long from a step on.
struct Disturbance {
  std::string device;
  double factor = 1;
  int64_t step = 0;

  /// Parses "NAME=FACTOR@STEP". The failure says what is wrong.
  static Expected<Disturbance> parse(const std::string &text);
  /// Fails if there is no emulated device of this name, and names those that exist.
  Status apply(const RunSession &session) const;
};

/// A plan made while the model ran.
struct Replan {
  int64_t step = 0;                                      ///< The number of steps before it.
  std::vector<std::pair<std::string, double>> slowdowns; ///< The names and factors of devices whose speed had changed.
  int64_t plannedNs = 0;                                 ///< The simulated time of the new plan's step.
};

/// The opened artifact of another plan.
struct Reopened {
  TemporaryDirectory directory;
  RunSession session;
};

class AdaptiveRun {
public:
  AdaptiveRun(std::string model, const CompilerOptions &options, const DriftParams &params)
      : model(std::move(model)), options(options), monitor(params) {}

  /// Call it after a step of a session that keeps its command times. If a device has become slower or faster, makes a
  /// plan for the new speeds. If the change still lasts then, returns the model by the new plan, with the session's
  /// states.
  Expected<std::optional<Reopened>> afterStep(const RunSession &session);
  const std::vector<Replan> &replans() const { return made; }

private:
  /// The new plan's model, which is used if the change lasts longer than the planning.
  struct Pending {
    CompilerOptions options;
    Replan replan;
    Reopened reopened;
  };

  Expected<std::optional<Pending>> planAnew(const sluice_model &running);

  std::string model;
  CompilerOptions options; ///< The options, with the slowdowns found so far.
  DriftMonitor monitor;
  int64_t steps = 0;
  std::optional<Pending> pending;
  std::vector<Replan> made;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_ADAPTIVERUN_H
