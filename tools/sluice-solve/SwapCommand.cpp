//===- SwapCommand.cpp - sluice-solve swap --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Plan/CopiedBytes.h"
#include "sluice/Plan/PlanJson.h"
#include "sluice/Search/MemoryOption.h"
#include "sluice/Search/Search.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Units.h"

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace sluice::solve {
namespace {

struct SwapOptions {
  std::string file, planFile, output, trace, format = "text";
  std::vector<std::string> memory;
  SearchParams params;
  bool validate = false, timeGiven = false;
};

std::string fraction(int64_t part, int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f%%",
                100.0 * static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1)));
  return text;
}

Status writeOutputs(const SwapOptions &options, const ProblemFile &file, const Plan &plan) {
  if (!options.output.empty())
    if (Status status =
            writeFileAtomically(options.output, jsonText(planToJson(file.graph, file.machine, plan), 1) + "\n");
        !status)
      return status;
  if (options.trace.empty())
    return {};
  Timeline timeline = simulate(file.graph, file.machine, file.costs, plan);
  return writeFileAtomically(options.trace, jsonText(traceJson(file.graph, file.machine, plan, timeline)) + "\n");
}

/// Checks a saved plan against the problem's capacities and times it.
Status runValidate(const SwapOptions &options, const ProblemFile &file) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(options.planFile));
  SLUICE_ASSIGN_OR_RETURN(Plan plan, planFromJson(file.graph, file.machine, JsonReader(json, options.planFile)));
  SLUICE_RETURN_IF_ERROR(validatePlan(file.graph, file.machine, plan));
  const std::vector<int64_t> used = plan.bytesUsed(file.graph, file.machine);
  for (size_t m = 0; m < file.capacities.size(); ++m)
    if (used[m] > file.capacities[m])
      return makeError(ErrorCode::Infeasible, "the plan in '", options.planFile, "' uses ", used[m],
                       " bytes of memory '", file.machine.memories[m].name, "', and the limit is ", file.capacities[m],
                       " bytes, make a plan for this limit");
  const int64_t makespan = simulate(file.graph, file.machine, file.costs, plan).makespanNs;
  const int64_t bound =
      planLowerBounds(file.graph, file.machine, file.costs, file.capacities, plan.placement).always().ns;
  SLUICE_RETURN_IF_ERROR(writeOutputs(options, file, plan));
  if (options.format == "json") {
    printJson(
        {{"problem", "swap"}, {"valid", true}, {"solver", plan.solver}, {"objective", makespan}, {"bound", bound}});
    return {};
  }
  printLine("plan", "valid");
  printLine("solver", plan.solver);
  printLine("makespan", concat(makespan, " ns (", formatDuration(makespan), ")"));
  printLine("lower bound", concat(bound, " ns"));
  return {};
}

void printResult(const ProblemFile &file, const SearchResult &result, double seconds) {
  const Plan &plan = result.plan;
  printLine("makespan", concat(result.makespanNs, " ns (", formatDuration(result.makespanNs), ")"));
  printLine("ideal", concat(result.idealNs, " ns (", fraction(result.idealNs, result.makespanNs), " of it reached)"));
  auto printBound = [&](const char *what, int64_t ns, const std::optional<BoundCertificate> &certificate) {
    printLine(what, concat(ns, " ns (", fraction(ns, result.makespanNs), ")", certificate ? ", by " : "",
                           certificate ? describeBound(file.graph, file.machine, *certificate) : ""));
  };
  printBound("lower bound", result.lowerBoundNs, result.certificate);
  printBound("running once", result.onceBoundNs, result.onceCertificate);
  printLine("solver", plan.solver);
  printLine("plans made", concat(result.evaluations, plan.stoppedByClock ? ", stopped by the clock" : ""));
  printLine("seconds", concat(seconds));
  const CopiedBytes copied = copiedBytes(file.graph, file.machine, plan);
  printLine("copied in", formatBytes(copied.in));
  printLine("copied out", formatBytes(copied.out));
  if (file.machine.hasFiles()) {
    printLine("read of files", formatBytes(copied.read));
    printLine("written to files", formatBytes(copied.written));
  }
  for (size_t m = 0; m < plan.arenaBytes.size(); ++m)
    printLine(concat("memory ", file.machine.memories[m].name),
              concat("arena ", formatBytes(plan.arenaBytes[m]), ", minimum ", formatBytes(result.minimumBytes[m].bytes),
                     ", peak ", formatBytes(result.peakBytes[m])));
  std::cout << "baselines\n";
  for (const Baseline &baseline : result.baselines)
    std::cout << "  " << baseline.name << ": "
              << (baseline.makespanNs ? formatDuration(*baseline.makespanNs) : baseline.reason) << '\n';
}

Json resultToJson(const ProblemFile &file, const SearchResult &result, double seconds) {
  const Plan &plan = result.plan;
  Json memories = Json::object();
  for (size_t m = 0; m < plan.arenaBytes.size(); ++m)
    memories[file.machine.memories[m].name] = {{"arenaBytes", plan.arenaBytes[m]},
                                               {"minimumBytes", result.minimumBytes[m].bytes},
                                               {"peakBytes", result.peakBytes[m]}};
  Json baselines = Json::array();
  for (const Baseline &baseline : result.baselines) {
    Json entry{{"name", baseline.name}};
    if (baseline.makespanNs)
      entry["objective"] = *baseline.makespanNs;
    else
      entry["infeasible"] = baseline.reason;
    baselines.push_back(std::move(entry));
  }
  auto proof = [&](const std::optional<BoundCertificate> &certificate) {
    return certificate ? certificateToJson(file.graph, file.machine, *certificate) : Json();
  };
  return {{"problem", "swap"},
          {"solver", plan.solver},
          {"objective", result.makespanNs},
          {"ideal", result.idealNs},
          {"bound", result.lowerBoundNs},
          {"certificate", proof(result.certificate)},
          {"onceBound", result.onceBoundNs},
          {"onceCertificate", proof(result.onceCertificate)},
          {"evaluations", result.evaluations},
          {"stoppedByClock", plan.stoppedByClock},
          {"seconds", seconds},
          {"bytesSwappedIn", plan.bytesSwappedIn(file.graph)},
          {"bytesSwappedOut", plan.bytesSwappedOut(file.graph)},
          {"memories", std::move(memories)},
          {"baselines", std::move(baselines)}};
}

/// One line on a terminal, rewritten; nothing in a pipe.
void showProgress(const SearchProgress &progress) {
  std::cerr << "\r\033[K" << progress.evaluations << " plans, best "
            << (progress.makespanNs ? formatDuration(*progress.makespanNs) : "none yet") << ", ideal "
            << formatDuration(progress.idealNs) << ", bound " << formatDuration(progress.lowerBoundNs) << ", "
            << formatDuration(progress.elapsedNs) << std::flush;
}

Status runSwap(SwapOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(ProblemFile file, readProblemFile(options.file));
  SearchProblem problem{&file.graph, &file.machine, &file.costs, file.capacities, file.placement};
  for (const std::string &option : options.memory)
    SLUICE_RETURN_IF_ERROR(applyMemoryOption(problem, option));
  file.capacities = problem.capacityBytes;
  if (options.validate)
    return runValidate(options, file);

  // A number of plans is the reproducible limit; it needs no clock beside it.
  if (options.params.evaluations > 0 && !options.timeGiven)
    options.params.timeNs = 0;
  const bool terminal = isatty(STDERR_FILENO);
  if (terminal)
    options.params.progress = showProgress;
  Stopwatch watch;
  Expected<SearchResult> result = solveSearch(problem, options.params);
  const double seconds = watch.seconds();
  if (terminal)
    std::cerr << "\r\033[K";
  if (!result)
    return propagate(result);
  SLUICE_RETURN_IF_ERROR(writeOutputs(options, file, result->plan));
  if (options.format == "json")
    printJson(resultToJson(file, *result, seconds));
  else
    printResult(file, *result, seconds);
  return {};
}

} // namespace

void addSwapCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt) {
  auto options = std::make_shared<SwapOptions>();
  SearchParams &params = options->params;
  params.interrupt = &interrupt;
  CLI::App *command =
      driver::addCommand(app, "swap", "Choose order, addresses and swaps of a step, for the least simulated makespan");
  driver::addOption(*command, "FILE", options->file, "a planning problem as JSON")->required();
  driver::addOption(*command, "--solver", params.solver, joined(searchSolverNames()))
      ->check(driver::oneOf(searchSolverNames()))
      ->capture_default_str();
  driver::addOption(*command, "--placement-solver", params.placementSolver,
                    "for operators without a device: " + joined(placementSolverNames()))
      ->check(driver::oneOf(placementSolverNames()))
      ->capture_default_str();
  driver::addOption(*command, "--memory", options->memory,
                    "limit of a memory: NAME=SIZE, or NAME=P% of the way from the minimum to the peak; without NAME, "
                    "of all memories");
  CLI::Option *time =
      addDurationOption(*command, "--time", params.timeNs, "clock limit of the search (5s); 0s: no limit");
  driver::addOption(*command, "--evals", params.evaluations,
                    "number of plans to make; the result is then the same on any number of threads")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--seed", params.seed, "seed of the random choices")->capture_default_str();
  driver::addOption(*command, "--threads", params.threads, "number of threads, 0: one for each core")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addOption(*command, "-o,--output", options->output, "write the plan as JSON");
  driver::addOption(*command, "--trace", options->trace, "write the timeline for Perfetto");
  CLI::Option *plan = driver::addOption(*command, "--plan", options->planFile, "plan file, for --validate");
  CLI::Option *validate =
      driver::addFlag(*command, "--validate", options->validate, "validate and simulate --plan instead of solving");
  plan->needs(validate);
  validate->needs(plan);
  addFormatOption(*command, options->format);
  command->callback([options, time, &action] {
    options->timeGiven = time->count() > 0;
    action = [options] { return runSwap(*options); };
  });
}

} // namespace sluice::solve
