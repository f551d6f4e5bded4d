//===- PlacementCommand.cpp - sluice-solve placement ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Optimize/Parallel.h"
#include "sluice/Placement/Offload.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Support/Text.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::solve {
namespace {

struct PlacementOptions {
  std::string file, output, format = "text";
  bool free = false, limited = false, validate = false;
  PlacementParams params;
};

/// An instance of Tarnawski et al.: subgraphs on accelerators.
Status runOffload(const PlacementOptions &options, const Json &json) {
  SLUICE_ASSIGN_OR_RETURN(OffloadProblem problem, offloadFromJson(JsonReader(json, options.file)));
  const std::vector<std::string> known = offloadSolverNames();
  if (std::find(known.begin(), known.end(), options.params.solver) == known.end())
    return makeError(ErrorCode::Unsupported, "file '", options.file,
                     "' has an offload problem (maxFPGAs, nodes, edges), which solver '", options.params.solver,
                     "' cannot solve, option '--solver', use ", alternatives(known));
  if (options.free || options.limited || !options.output.empty())
    return makeError(ErrorCode::Unsupported, "file '", options.file,
                     "' has an offload problem (maxFPGAs, nodes, edges), on which options '--free', '--limited' and "
                     "'--output' have no effect, leave these options out");
  OffloadParams params{options.params.solver, {}, options.params.seed, options.params.threads};
  params.budget.interrupt = options.params.interrupt;
  if (options.params.evaluations > 0)
    params.budget.evaluations = options.params.evaluations;
  // Rarely reached: the search's own evaluations take some seconds.
  constexpr int64_t kTimeNs = 45'000'000'000;
  if (const int64_t timeNs = options.params.timeNs > 0 ? options.params.timeNs : kTimeNs;
      options.params.timeNs > 0 || options.params.evaluations == 0)
    params.budget.deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeNs);
  params.threads = usableThreads(params.threads);
  Stopwatch watch;
  SLUICE_ASSIGN_OR_RETURN(OffloadSolution solution, solveOffload(problem, params));
  if (options.validate)
    SLUICE_RETURN_IF_ERROR(validateOffload(problem, solution));
  const double seconds = watch.seconds();
  std::vector<size_t> perPart(problem.accelerators + 1);
  for (int32_t part : solution.part)
    ++perPart[static_cast<size_t>(part + 1)];
  if (options.format == "json") {
    Json accelerators = Json::array();
    for (size_t a = 1; a < perPart.size(); ++a)
      accelerators.push_back(perPart[a]);
    printJson({{"problem", "offload"},
               {"solver", solution.solver},
               {"nodes", problem.nodes.size()},
               {"objective", solution.latency},
               {"bound", solution.bound},
               {"optimal", solution.optimal()},
               {"evaluations", solution.evaluations},
               {"stoppedByClock", solution.stoppedByClock},
               {"seconds", seconds},
               {"nodesOnCpu", perPart[0]},
               {"nodesOnAccelerators", std::move(accelerators)}});
    return {};
  }
  printLine("latency", concat(solution.latency, solution.optimal() ? ", optimal" : ""));
  printLine("bound", concat(solution.bound));
  printLine("solver", concat(solution.solver, solution.stoppedByClock ? ", stopped by the clock" : "",
                             options.validate ? ": valid" : ""));
  printLine("seconds", concat(seconds));
  printLine("on CPUs", concat(perPart[0], " nodes"));
  for (size_t a = 1; a < perPart.size(); ++a)
    printLine(concat("on accelerator ", a), concat(perPart[a], " nodes"));
  return {};
}

Status runPlacement(const PlacementOptions &options) {
  Expected<Json> json = readJsonFile(options.file);
  if (!json)
    return propagate(json);
  if (isOffloadJson(*json))
    return runOffload(options, *json);
  SLUICE_ASSIGN_OR_RETURN(ProblemFile file, problemFromJson(JsonReader(*json, options.file)));
  PlacementProblem problem{&file.graph, &file.machine, &file.costs, file.placement};
  if (options.free)
    problem.pinned.clear();
  if (options.limited)
    problem.capacityBytes = file.capacities;
  Stopwatch watch;
  SLUICE_ASSIGN_OR_RETURN(PlacementSolution solution, solvePlacement(problem, options.params));
  const double seconds = watch.seconds();
  if (options.validate)
    SLUICE_RETURN_IF_ERROR(validatePlacement(problem, solution));
  const int64_t bound = solution.optimal ? solution.makespanNs : placementLowerBoundNs(problem);
  if (!options.output.empty()) {
    file.placement = solution.placement;
    SLUICE_RETURN_IF_ERROR(writeFileAtomically(options.output, jsonText(problemToJson(file), 1) + "\n"));
  }
  std::vector<size_t> perDevice(file.machine.devices.size());
  for (DeviceId device : solution.placement)
    ++perDevice[device.index()];
  const std::vector<int64_t> bytes = placementBytes(problem, solution.placement);
  if (options.format == "json") {
    Json devices = Json::object(), memories = Json::object(), members = Json::object();
    for (size_t i = 0; i < perDevice.size(); ++i)
      devices[file.machine.devices[i].name] = perDevice[i];
    for (size_t m = 0; m < bytes.size(); ++m)
      memories[file.machine.memories[m].name] = bytes[m];
    for (const auto &[name, time] : solution.members)
      members[name] = time;
    Json json = {{"problem", "placement"},
                 {"solver", solution.solver},
                 {"objective", solution.makespanNs},
                 {"bound", bound},
                 {"optimal", solution.optimal},
                 {"evaluations", solution.evaluations},
                 {"stoppedByClock", solution.stoppedByClock},
                 {"seconds", seconds},
                 {"operatorsPerDevice", std::move(devices)},
                 {"bytesPerMemory", std::move(memories)},
                 {"members", std::move(members)}};
    if (solution.foldDistance >= 0)
      json["foldDistance"] = solution.foldDistance;
    printJson(json);
    return {};
  }
  printLine("makespan", concat(solution.makespanNs, " ns (", formatDuration(solution.makespanNs), ")",
                               solution.optimal ? ", optimal" : ""));
  printLine("bound", concat(bound, " ns"));
  printLine("solver", concat(solution.solver, solution.stoppedByClock ? ", stopped by the clock" : "",
                             options.validate ? ": valid" : ""));
  printLine("seconds", concat(seconds));
  for (size_t i = 0; i < perDevice.size(); ++i)
    printLine(concat("on ", file.machine.devices[i].name), concat(perDevice[i], " operators"));
  if (solution.foldDistance >= 0)
    printLine("predictor", concat("orders ", 100 * solution.foldDistance,
                                  "% of the pairs of mappings it has not seen "
                                  "the wrong way round"));
  for (const auto &[name, time] : solution.members)
    printLine(name, concat(time, " ns"));
  return {};
}

} // namespace

void addPlacementCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt) {
  auto options = std::make_shared<PlacementOptions>();
  PlacementParams &params = options->params;
  params.interrupt = &interrupt;
  params.threads = 0;
  CLI::App *command = driver::addCommand(
      app, "placement", "Assign devices to operators, for the least simulated makespan with copies that run in order");
  driver::addOption(
      *command, "FILE", options->file,
      "a planning problem as JSON, operators it places stay where they are; or an instance of subgraphs on "
      "accelerators (maxFPGAs, nodes, edges): the least latency")
      ->required();
  driver::addOption(*command, "--solver", params.solver,
                    joined(placementSolverNames()) + "; of subgraphs: " + joined(offloadSolverNames()))
      ->check(driver::oneOf([] {
        std::vector<std::string> names = placementSolverNames();
        for (const std::string &name : offloadSolverNames())
          names.push_back(name);
        return names;
      }()))
      ->capture_default_str();
  driver::addFlag(*command, "--free", options->free, "place all operators again");
  driver::addFlag(*command, "--limited", options->limited,
                  "obey the capacities of the file without swapping; parameters stay on their devices");
  addDurationOption(*command, "--time", params.timeNs,
                    "limit of the search; by default none, for subgraphs without --evals 45s");
  driver::addOption(*command, "--evals", params.evaluations,
                    "number of orders that the searches simulate; by default fewer for larger graphs")
      ->check(CLI::PositiveNumber);
  driver::addOption(*command, "--seed", params.seed, "seed of the searches")->capture_default_str();
  driver::addOption(*command, "--threads", params.threads,
                    "number of threads, 0: one for each core; never changes the result")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  driver::addFlag(*command, "--validate", options->validate, "validate the answer again");
  driver::addOption(*command, "-o,--output", options->output, "write the problem with its placement");
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runPlacement(*options); }; });
}

} // namespace sluice::solve
