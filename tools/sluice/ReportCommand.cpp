//===- ReportCommand.cpp - sluice report ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Simulator/Simulator.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::driver {
namespace {

struct ReportOptions {
  std::string plan, output, trace;
};

Status runReport(const ReportOptions &options) {
  // A compiled model's directory keeps its plan.
  std::string path = options.plan;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    path = (std::filesystem::path(path) / kPlanFileName).string();
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readPlanFile(path));
  if (!options.trace.empty()) {
    const ProblemFile &problem = file.problem;
    const Timeline timeline = simulate(problem.graph, problem.machine, problem.costs, file.plan);
    const Json trace = traceJson(problem.graph, problem.machine, file.plan, timeline);
    if (Status status =
            writeFileAtomically(options.trace, trace.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
        !status)
      return status;
  }
  return writeFileAtomically(options.output, reportHtml(file));
}

} // namespace

void addReportCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App *command = driver::addCommand(app, "report", "Show a plan as one HTML page");
  addOption(*command, "PLAN", options->plan, "from 'sluice plan -o', or a compiled model's directory")->required();
  addOption(*command, "-o,--output", options->output, "the page")->required();
  addOption(*command, "--trace", options->trace, "also write the planned timeline, for Perfetto or chrome://tracing");
  command->callback([options, &action] { action = [options] { return runReport(*options); }; });
}

} // namespace sluice::driver
