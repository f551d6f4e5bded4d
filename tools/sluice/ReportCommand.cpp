//===- ReportCommand.cpp - sluice report ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "PlanStories.h"
#include "sluice/Compiler/Report.h"
#include "sluice/Simulator/Simulator.h"

#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace sluice::driver {
namespace {

struct ReportOptions {
  std::string plan, output, trace, against;
  std::vector<std::string> measured;
  std::string format; ///< Empty: html for a file, text for the terminal.
};

std::string dump(const Json &json) { return jsonText(json) + "\n"; }

std::string perfettoTrace(const PlanFile &file) {
  const ProblemFile &problem = file.problem;
  const Timeline timeline = simulate(problem.graph, problem.machine, problem.costs, file.plan);
  return dump(traceJson(problem.graph, problem.machine, file.plan, timeline));
}

std::string reportAs(const std::string &format, const PlanFile &file, const ReportExtras &extras) {
  if (format == "dot")
    return reportDot(file);
  if (format == "svg")
    return reportSvg(file);
  if (format == "text")
    return reportText(file, terminalColumns());
  if (format == "perfetto")
    return perfettoTrace(file);
  if (format == "html")
    return reportHtml(file, extras);
  return dump(reportData(file, extras));
}

Status checkFormat(const std::string &format, const char *option) {
  if (format == "html" || format == "json")
    return {};
  return makeError(ErrorCode::InvalidInput, "format '", format, "' can show only the plan itself, and option '", option,
                   "' adds other data, leave this option out or give --format html or json");
}

Status runReport(ReportOptions options) {
  if (options.format.empty())
    options.format = options.output.empty() ? "text" : "html";
  SLUICE_ASSIGN_OR_RETURN(PlanFile file, readPlanAt(options.plan));
  ReportExtras extras;
  std::optional<PlanFile> other;
  std::optional<PlanDiff> diff;
  if (!options.against.empty()) {
    SLUICE_RETURN_IF_ERROR(checkFormat(options.format, "--against"));
    SLUICE_ASSIGN_OR_RETURN(other, readPlanAt(options.against));
    diff = diffPlans(file, *other, {options.plan, options.against});
    extras.against = &*other;
    extras.diff = &*diff;
  }
  for (const std::string &path : options.measured) {
    SLUICE_RETURN_IF_ERROR(checkFormat(options.format, "--measured"));
    SLUICE_ASSIGN_OR_RETURN(std::vector<MeasuredStep> steps, readMeasuredSteps(file, path));
    std::move(steps.begin(), steps.end(), std::back_inserter(extras.measured));
  }
  if (!options.trace.empty())
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.trace, perfettoTrace(file)));
  if (options.output.empty()) {
    if (options.format != "text")
      return makeError(ErrorCode::InvalidInput, "format '", options.format,
                       "' is written only to a file, option '--format', name the file by --output");
    std::cout << reportText(file, terminalColumns());
    return {};
  }
  return writeFileAtomically(options.output, reportAs(options.format, file, extras));
}

} // namespace

void addReportCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App *command =
      driver::addCommand(app, "report", "Show a plan as one HTML page, or a part of it in other formats");
  addOption(*command, "PLAN", options->plan, "from 'sluice plan -o', or a compiled model's directory")->required();
  addOption(*command, "-o,--output", options->output, "output file; without it, format text is printed");
  addOption(*command, "--format", options->format,
            "html: the page, which needs --output; json: its data; perfetto: the timeline; svg: the timeline, "
            "memory and arenas as a drawing; text: timeline and memory in characters; dot: the graph, for Graphviz")
      ->check(oneOf({"html", "json", "perfetto", "svg", "text", "dot"}));
  addOption(*command, "--trace", options->trace, "also write the planned timeline, for Perfetto or chrome://tracing");
  addOption(*command, "--against", options->against,
            "another plan, which is shown beside this one with the differences")
      ->type_name("PLAN");
  addOption(
      *command, "--measured", options->measured,
      "a trace from 'run --trace' of this plan, which is shown below the planned timeline, with a lane for each run "
      "and rank")
      ->type_name("TRACE");
  command->callback([options, &action] { action = [options] { return runReport(*options); }; });
}

} // namespace sluice::driver
