//===- MeasuredMappings.cpp -----------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MeasuredMappings.h"

#include "RunSession.h"
#include "sluice/Compiler/Phases.h"
#include "sluice/Runtime/Tables.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sluice::driver {

/// The first steps touch pages and load what stays on devices.
static constexpr int kWarmUp = 2, kSteps = 11;

CLI::Option *addMeasureOption(CLI::App &app, size_t &count) {
  return addOption(app, "--measure-mappings", count,
                   "with --solver place=htf-mpr: compile and run so many of its best mappings and follow the fastest")
      ->check(CLI::Range(1, 25))
      ->excludes(app.get_option("--plan"))
      ->excludes(app.get_option("--device"))
      ->excludes(app.get_option("--devices"))
      ->excludes(app.get_option("--split-operators"))
      ->group("Planning");
}

static Expected<int64_t> timeStep(std::shared_ptr<const Planned> mapped, const CompilerOptions &options,
                                  std::vector<GivenInput> given) {
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory made, TemporaryDirectory::create());
  const std::string directory = made.path();
  if (Expected<Artifact> linked = compilePlan(std::move(mapped), options, directory); !linked)
    return propagate(linked);
  SLUICE_ASSIGN_OR_RETURN(RunSession session, RunSession::open(directory, options.threads, /*trace=*/false));
  const sluice_model &model = session.model();
  given.resize(model.num_inputs);
  for (const auto &[name, tensor] : options.fixedInputs)
    for (uint32_t i = 0; i < model.num_inputs; ++i)
      if (name == tableEntry(model.inputs, i).name && !given[i].tensor)
        given[i].tensor = tensor;
  // Of several batches one step sees one.
  SLUICE_ASSIGN_OR_RETURN(StepInputs inputs, StepInputs::create(session, std::move(given), kWarmUp + kSteps));
  SLUICE_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, session.makeOutputs());
  std::vector<int64_t> ns;
  for (int step = 0; step < kWarmUp + kSteps; ++step) {
    SLUICE_RETURN_IF_ERROR(session.step(inputs.at(step), outputs));
    if (step >= kWarmUp)
      ns.push_back(session.stats().step_ns);
  }
  std::nth_element(ns.begin(), ns.begin() + kSteps / 2, ns.end());
  return ns[kSteps / 2];
}

void measureMappings(Compilation &compilation, size_t count, std::vector<GivenInput> given) {
  CompilerOptions options = compilation.options();
  options.dumpPhases.clear();
  compilation.measureMappings({count, [given = std::move(given), options](std::shared_ptr<const Planned> mapped) {
                                 return timeStep(std::move(mapped), options, given);
                               }});
}

void printMappings(const std::vector<MeasuredMapping> &mappings) {
  for (const MeasuredMapping &mapping : mappings)
    printLine("mapping", concat("simulated ", formatDuration(mapping.simulatedNs), ", measured ",
                                formatDuration(mapping.measuredNs), mapping.kept ? ", kept" : ""));
}

Json mappingsToJson(const std::vector<MeasuredMapping> &mappings) {
  Json list = Json::array();
  for (const MeasuredMapping &mapping : mappings)
    list.push_back({{"simulatedNs", mapping.simulatedNs}, {"measuredNs", mapping.measuredNs}, {"kept", mapping.kept}});
  return list;
}

} // namespace sluice::driver
