//===- SimulateCommand.cpp ------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Search/PlanFile.h"
#include "sluice/Simulator/Simulator.h"
#include "tools/sluice/LinkProbe.h"

#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::runner {

namespace {

struct SimulateOptions {
  std::vector<std::string> folders;
  std::string times;
  int64_t repeat = 5;
};

/// What the simulator makes of plans with the operators' times of one run and
/// links as they are measured now.
Status simulatePlans(const SimulateOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Json measured, readJsonFile(options.times));
  auto wrong = [&](const std::string &what) {
    return makeError(ErrorCode::InvalidInput, what, ", '", options.times,
                     "', give the output of 'sluice-runner run --repeat 9'");
  };
  if (!measured.is_object() || !measured.contains("operatorNs") || !measured["operatorNs"].is_object())
    return wrong("the file has no times of operators");
  const Json &times = measured["operatorNs"];
  Json json;
  std::map<std::string, LinkMeasurement> links;
  for (const std::string &folder : options.folders) {
    SLUICE_ASSIGN_OR_RETURN(PlanFile plan, readPlanFile(folder + "/model/" + kPlanFileName));
    ProblemFile &problem = plan.problem;
    for (size_t i = 0; i < problem.graph.numOperators(); ++i) {
      const OperatorId op(i);
      const std::string &name = problem.graph.op(op).name;
      if (!times.contains(name) || !times[name].is_number_integer())
        return wrong(concat("operator '", name, "' of '", folder, "' was not measured"));
      const DeviceId device = plan.plan.placement[i];
      problem.costs.operatorNs[i * problem.costs.numDevices + device.index()] = times[name];
    }
    for (size_t l = 0; l < problem.machine.links.size(); ++l) {
      Link &link = problem.machine.links[l];
      const std::string key = problem.machine.memory(link.a).name + " - " + problem.machine.memory(link.b).name;
      if (!links.contains(key)) {
        SLUICE_ASSIGN_OR_RETURN(LinkMeasurement measurement,
                                driver::measureLink(problem.machine, LinkId(l), options.repeat));
        links[key] = measurement;
        json["links"][key] = {{"bytesPerSec", measurement.bytesPerSec},
                              {"duplexBytesPerSec", measurement.duplexBytesPerSec},
                              {"latencyNs", measurement.latencyNs},
                              {"eventLatencyNs", measurement.eventLatencyNs}};
      }
      setMeasured(link, links[key]);
    }
    const Timeline timeline = simulate(problem.graph, problem.machine, problem.costs, plan.plan);
    json["simulatedNs"][folder] = timeline.makespanNs;
    json["plannedNs"][folder] = plan.summary.makespanNs;
    json["lowerBoundNs"][folder] = plan.summary.lowerBoundNs;
  }
  std::cout << jsonText(json, 1) << '\n';
  return {};
}

} // namespace

void addSimulateCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<SimulateOptions>();
  CLI::App *command = driver::addCommand(app, "simulate", "Simulate kept runs' plans with measured times");
  driver::addOption(*command, "FOLDER", options->folders, "folders that `sluice run --keep` wrote for one model")
      ->required();
  driver::addOption(*command, "--times", options->times, "output of `sluice-runner run --repeat N` for one of them")
      ->type_name("FILE")
      ->required();
  driver::addOption(*command, "--repeat", options->repeat, "number of measurements of each link")
      ->check(CLI::PositiveNumber);
  command->callback([options, &action] { action = [options] { return simulatePlans(*options); }; });
}

} // namespace sluice::runner
