//===- TilingCommand.cpp - sluice-solve tiling ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Support/Gzip.h"
#include "sluice/Tiling/Tiling.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::solve {
namespace {

struct TilingOptions {
  std::string file, format = "text";
  int64_t timeNs = 0, evaluations = 0;
  bool validate = false;
  TilingParams params;
};

Expected<TilingProblem> readInstance(const std::string &path) {
  Expected<std::string> text = readFile(path);
  if (!text)
    return propagate(text);
  if (isGzip(*text)) {
    text = gunzip(*text, path);
    if (!text)
      return propagate(text);
  }
  SLUICE_ASSIGN_OR_RETURN(Json json, parseJson(*text, path));
  return tilingFromJson(JsonReader(json, path));
}

Status runTiling(const TilingOptions &options) {
  Stopwatch watch;
  TilingParams params = options.params;
  // Reading counts: who gives a time waits no longer for the answer.
  if (options.timeNs > 0)
    params.budget.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(options.timeNs);
  if (options.evaluations > 0)
    params.budget.evaluations = options.evaluations;
  params.threads = usableThreads(params.threads);
  SLUICE_ASSIGN_OR_RETURN(TilingProblem problem, readInstance(options.file));
  SLUICE_ASSIGN_OR_RETURN(TilingSolution solution, solveTiling(problem, params));
  const double seconds = watch.seconds();
  if (options.validate)
    SLUICE_RETURN_IF_ERROR(validateTiling(problem, solution));
  if (options.format == "json") {
    printJson({{"problem", "tiling"},
               {"instance", problem.name},
               {"solver", solution.solver},
               {"nodes", problem.nodes.size()},
               {"objective", solution.cost},
               {"bound", solution.bound},
               {"optimal", solution.optimal()},
               {"evaluations", solution.evaluations},
               {"stoppedByClock", solution.stoppedByClock},
               {"seconds", seconds},
               {"choice", solution.choice}});
    return {};
  }
  printLine("nodes", concat(problem.nodes.size()));
  printLine("cost", concat(solution.cost, solution.optimal() ? ", optimal" : ""));
  printLine("bound", concat(solution.bound));
  printLine("solver",
            concat(solution.solver, ", ", solution.evaluations, " evaluations",
                   solution.stoppedByClock ? ", stopped by the clock" : "", options.validate ? ": valid" : ""));
  printLine("seconds", concat(seconds));
  return {};
}

} // namespace

void addTilingCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt) {
  auto options = std::make_shared<TilingOptions>();
  TilingParams &params = options->params;
  params.budget.interrupt = &interrupt;
  params.threads = 0;
  CLI::App *command =
      driver::addCommand(app, "tiling", "Assign strategies to nodes, for the least cost within the memory");
  driver::addOption(*command, "FILE", options->file,
                    "an instance of the ASPLOS 2025 contest on intra-operator parallelism as JSON, may be gzipped")
      ->required();
  driver::addOption(*command, "--solver", params.solver, joined(tilingSolverNames()))
      ->check(driver::oneOf(tilingSolverNames()))
      ->capture_default_str();
  addDurationOption(*command, "--time", options->timeNs, "limit of the search; by default none");
  driver::addOption(*command, "--evals", options->evaluations,
                    "number of sub-problems to solve; by default fewer for larger ones")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--seed", params.seed, "seed of the search")->capture_default_str();
  driver::addOption(*command, "--threads", params.threads,
                    "number of threads, 0: one for each core; never changes the result")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addFlag(*command, "--validate", options->validate, "validate the answer again");
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runTiling(*options); }; });
}

} // namespace sluice::solve
