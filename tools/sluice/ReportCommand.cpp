//===- ReportCommand.cpp - sluice report ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PlanStories.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Simulator/Simulator.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::driver {
namespace {

struct ReportOptions {
  std::string plan, output, trace, against;
};

Status runReport(const ReportOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readPlanAt(options.plan));
  std::optional<PlanDiff> diff;
  if (!options.against.empty()) {
    SLUICE_ASSIGN_OR_RETURN(PlanFile other, readPlanAt(options.against));
    diff = diffPlans(file, other, {options.plan, options.against});
  }
  if (!options.trace.empty()) {
    const ProblemFile &problem = file.problem;
    const Timeline timeline = simulate(problem.graph, problem.machine, problem.costs, file.plan);
    const Json trace = traceJson(problem.graph, problem.machine, file.plan, timeline);
    if (Status status =
            writeFileAtomically(options.trace, trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
        !status)
      return status;
  }
  return writeFileAtomically(options.output, reportHtml(file, diff ? &*diff : nullptr));
}

} // namespace

void addReportCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App *command = driver::addCommand(app, "report", "Show a plan as one HTML page");
  addOption(*command, "PLAN", options->plan, "from 'sluice plan -o', or a compiled model's directory")->required();
  addOption(*command, "-o,--output", options->output, "the page")->required();
  addOption(*command, "--trace", options->trace, "also write the planned timeline, for Perfetto or chrome://tracing");
  addOption(*command, "--against", options->against, "another plan: a section says what differs in it")
      ->type_name("PLAN");
  command->callback([options, &action] { action = [options] { return runReport(*options); }; });
}

} // namespace sluice::driver
