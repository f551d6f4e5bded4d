//===- PlacementCommand.cpp - sluice-solve placement ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Placement/Placement.h"
#include "sluice/Support/Units.h"

#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::solve {
namespace {

struct Options {
  std::string file, solver = "best", output, format = "text";
  bool free = false;
};

Status runPlacement(const Options &options) {
  Expected<ProblemFile> file = readProblemFile(options.file);
  if (!file)
    return propagate(file);
  PlacementProblem problem{&file->graph, &file->machine, &file->costs, file->placement};
  if (options.free)
    problem.pinned.clear();
  Stopwatch watch;
  Expected<PlacementSolution> solution = solvePlacement(problem, {options.solver});
  if (!solution)
    return propagate(solution);
  const double seconds = watch.seconds();
  const int64_t bound = placementLowerBoundNs(problem);
  if (!options.output.empty()) {
    file->placement = solution->placement;
    if (Status status = writeFileAtomically(options.output, problemToJson(*file).dump(1) + "\n"); !status)
      return status;
  }
  std::vector<size_t> perDevice(file->machine.devices.size());
  for (DeviceId device : solution->placement)
    ++perDevice[device.index()];
  if (options.format == "json") {
    Json devices = Json::object();
    for (size_t i = 0; i < perDevice.size(); ++i)
      devices[file->machine.devices[i].name] = perDevice[i];
    printJson({{"problem", "placement"},
               {"solver", solution->solver},
               {"objective", solution->makespanNs},
               {"bound", bound},
               {"seconds", seconds},
               {"operatorsPerDevice", std::move(devices)}});
    return {};
  }
  printLine("makespan", concat(solution->makespanNs, " ns (", formatDuration(solution->makespanNs), ")"));
  printLine("bound", concat(bound, " ns"));
  printLine("solver", solution->solver);
  printLine("seconds", concat(seconds));
  for (size_t i = 0; i < perDevice.size(); ++i)
    printLine(concat("on ", file->machine.devices[i].name), concat(perDevice[i], " operators"));
  return {};
}

} // namespace

void addPlacementCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("placement", "Give operators devices: the least makespan, links uncontended");
  command->add_option("FILE", options->file, "a planning problem as JSON; operators it places stay where they are")
      ->required();
  command->add_option("--solver", options->solver, joined(placementSolverNames()))
      ->check(CLI::IsMember(placementSolverNames()))
      ->capture_default_str();
  command->add_flag("--free", options->free, "place all operators anew");
  command->add_option("-o,--output", options->output, "write the problem with its placement");
  addFormatOption(*command, options->format);
  command->callback([options, &action] { action = [options] { return runPlacement(*options); }; });
}

} // namespace sluice::solve
