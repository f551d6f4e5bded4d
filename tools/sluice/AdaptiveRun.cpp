//===- AdaptiveRun.cpp ----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "AdaptiveRun.h"

#include "SharedOptions.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <cmath>

namespace sluice::driver {

/// A device whose time has changed by less is as it was.
static constexpr double kLeastChange = 0.3;

Expected<Disturbance> Disturbance::parse(const std::string &text) {
  const size_t equals = text.rfind('='), at = text.rfind('@');
  if (equals != text.npos && at != text.npos && equals > 0 && equals < at) {
    Expected<double> factor = parseNumber(text.substr(equals + 1, at - equals - 1));
    Expected<int64_t> step = parseInteger(text.substr(at + 1));
    if (factor && step && *factor >= 1 && *factor <= 1e6 && *step >= 0)
      return Disturbance{text.substr(0, equals), *factor, *step};
    if (factor && step)
      return makeError(ErrorCode::InvalidInput, "the factor or the step of '", excerpt(text), "' is out of range, ",
                       "option '--slow', give a factor from 1 to 1000000 and a step from 0");
  }
  return makeError(ErrorCode::InvalidInput, "'", excerpt(text), "' is not of the form DEVICE=FACTOR@STEP, ",
                   "option '--slow', write it as in 'accel0=3@100'");
}

Status Disturbance::apply(const RunSession &session) const {
  const sluice_model &model = session.model();
  std::vector<std::string> known;
  for (uint32_t i = 0; i < model.num_devices; ++i) {
    if (tableEntry(model.devices, i).kind != SLUICE_DEVICE_EMULATED)
      continue;
    if (device == tableEntry(model.devices, i).name)
      return session.slowDevice(i, factor);
    known.emplace_back(tableEntry(model.devices, i).name);
  }
  return makeError(ErrorCode::InvalidInput, "the machine has no emulated device '", device, "', option '--slow', ",
                   known.empty() ? "run on a machine that has one" : concat("use ", alternatives(known)));
}

Expected<std::optional<Reopened>> AdaptiveRun::afterStep(const RunSession &session) {
  ++steps;
  const sluice_model &running = session.model();
  std::vector<int64_t> deviceNs(running.num_devices);
  for (const CommandTime &time : session.commandTimes())
    if (time.op != UINT32_MAX)
      deviceNs[tableEntry(running.streams, time.stream).device] += tookNs(time);
  const bool isChanged = monitor.observe(session.stats().step_ns, deviceNs);
  if (!pending) {
    if (!isChanged)
      return std::nullopt;
    SLUICE_ASSIGN_OR_RETURN(std::optional<Pending> planned, planAnew(running));
    if (planned) {
      pending.emplace(std::move(*planned));
      monitor.listenAgain();
    } else {
      // Something else has changed: another plan would not help.
      monitor.restart();
    }
    return std::nullopt;
  }
  if (!isChanged) {
    if (!monitor.isListening())
      pending.reset();
    return std::nullopt;
  }
  SLUICE_RETURN_IF_ERROR(pending->reopened.session.takeStates(session));
  monitor.restart();
  options = std::move(pending->options);
  pending->replan.step = steps;
  made.push_back(std::move(pending->replan));
  std::optional<Reopened> taken(std::move(pending->reopened));
  pending.reset();
  return taken;
}

Expected<std::optional<AdaptiveRun::Pending>> AdaptiveRun::planAnew(const sluice_model &running) {
  const std::vector<double> slowdowns = monitor.slowdowns();
  CompilerOptions changed = options;
  Replan replan;
  for (size_t i = 0; i < slowdowns.size(); ++i)
    if (std::abs(std::log(slowdowns[i])) > std::log1p(kLeastChange)) {
      replan.slowdowns.emplace_back(tableEntry(running.devices, i).name, slowdowns[i]);
      double &factor = changed.slowdowns.emplace(tableEntry(running.devices, i).name, 1.0).first->second;
      factor *= slowdowns[i];
    }
  if (replan.slowdowns.empty())
    return std::nullopt;
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation, Compilation::create(model, changed));
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory directory, TemporaryDirectory::create());
  const std::string path = directory.path();
  SLUICE_RETURN_IF_ERROR(linkToRun(*compilation, path));
  SLUICE_ASSIGN_OR_RETURN(RunSession opened, RunSession::open(path, changed.threads, /*trace=*/true));
  replan.plannedNs = compilation->result().makespanNs;
  return std::optional<Pending>(
      Pending{std::move(changed), std::move(replan), Reopened{std::move(directory), std::move(opened)}});
}

} // namespace sluice::driver
