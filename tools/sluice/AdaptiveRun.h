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

  /// "NAME=FACTOR@STEP". Fails saying what is wrong.
  static Expected<Disturbance> parse(const std::string &text);
  /// Fails naming the emulated devices there are.
  Status apply(const RunSession &session) const;
};

/// A plan made while the model ran.
struct Replan {
  int64_t step = 0;                                      ///< After so many.
  std::vector<std::pair<std::string, double>> slowdowns; ///< Of devices whose speed had changed.
  int64_t plannedNs = 0;                                 ///< The new plan's step, simulated.
};

/// Another plan's artifact, opened.
struct Reopened {
  TemporaryDirectory directory;
  RunSession session;
};

class AdaptiveRun {
public:
  AdaptiveRun(std::string model, const CompilerOptions &options, const DriftParams &params)
      : model(std::move(model)), options(options), monitor(params) {}

  /// After a step of a session that keeps its command times: where a device has
  /// become slower or faster, and still is once another plan is made for that, the
  /// model by that plan, its states as the session's are.
  Expected<std::optional<Reopened>> afterStep(const RunSession &session);
  const std::vector<Replan> &replans() const { return made; }

private:
  /// Made, and taken if the change outlasts its making.
  struct Pending {
    CompilerOptions options;
    Replan replan;
    Reopened reopened;
  };

  Expected<std::optional<Pending>> planAnew(const sluice_model &running);

  std::string model;
  CompilerOptions options; ///< With the slowdowns found so far.
  DriftMonitor monitor;
  int64_t steps = 0;
  std::optional<Pending> pending;
  std::vector<Replan> made;
};

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_ADAPTIVERUN_H
