//===- ExportCommand.cpp - sluice export ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "RunInputs.h"
#include "SharedOptions.h"
#include "StagesFile.h"
#include "sluice/Onnx/Export.h"
#include "sluice/Search/PlanFile.h"

#include <algorithm>
#include <filesystem>
#include <memory>

namespace sluice::driver {
namespace {

struct ExportCommandOptions {
  std::string source, output, plan, model;
  std::vector<std::string> fixed;
  bool beside = false, noWeights = false;
  CompilerOptions compile;
};

bool isDirectory(const std::string &path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Status notForDirectory(const ExportCommandOptions &options, const char *option) {
  return makeError(ErrorCode::InvalidInput, "option '", option, "' is only for ONNX models, and '", options.source,
                   "' is already compiled, leave the option out");
}

/// Plans for such a machine are of programs whose loops are unrolled.
bool hasGpus(const Machine &machine) {
  const std::vector<DeviceId> devices = machine.computeDevices();
  return std::any_of(devices.begin(), devices.end(),
                     [&](DeviceId id) { return machine.device(id).kind == DeviceKind::Cuda; });
}

Status runExport(const ExportCommandOptions &options) {
  SLUICE_RETURN_IF_ERROR(refusePipeline(options.source));
  ExportOptions to;
  if (options.noWeights)
    to.weights = WeightStorage::Omit;
  else if (options.beside)
    to.weights = WeightStorage::External;
  if (isDirectory(options.source)) {
    if (!options.plan.empty())
      return notForDirectory(options, "--plan");
    if (!options.compile.dims.values.empty() || !options.compile.dims.ranges.empty())
      return notForDirectory(options, "--dim");
    if (!options.fixed.empty())
      return notForDirectory(options, "--fix");
    if (options.compile.maxIterations > 0)
      return notForDirectory(options, "--max-iterations");
    if (!options.compile.bounds.empty())
      return notForDirectory(options, "--bound");
    return exportArtifact(options.source, options.model, options.output, to);
  }
  if (!options.model.empty())
    return makeError(ErrorCode::InvalidInput, "option '--model' is only for compiled models, and '", options.source,
                     "' is an ONNX model, leave the option out");
  std::optional<PlanFile> plan;
  if (!options.plan.empty()) {
    // A compiled model's directory keeps its plan.
    SLUICE_ASSIGN_OR_RETURN(PlanFile read,
                            readPlanFile(isDirectory(options.plan)
                                             ? (std::filesystem::path(options.plan) / kPlanFileName).string()
                                             : options.plan));
    plan = std::move(read);
  }
  SLUICE_ASSIGN_OR_RETURN(auto fixed, readFixedInputs(options.fixed));
  CompilerOptions compile = options.compile;
  compile.fixedInputs = std::move(fixed);
  compile.unrollsLoops = plan && hasGpus(plan->problem.machine);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Compilation> compilation,
                          Compilation::create(options.source, std::move(compile)));
  return compilation->exportModel(options.output, to, plan ? &*plan : nullptr);
}

} // namespace

void addExportCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ExportCommandOptions>();
  CLI::App *command =
      driver::addCommand(app, "export", "Write a model, or what was compiled, as ONNX with decisions as node metadata");
  addOption(*command, "MODEL", options->source, "a compiled model's directory, or an ONNX file")->required();
  addOption(*command, "-o,--output", options->output, "the ONNX file")->required();
  addOption(*command, "--plan", options->plan,
            "for a model: the plan whose decisions are written, from 'sluice plan -o' or 'compile'");
  addDimOption(*command, options->compile.dims);
  addFixOption(*command, options->fixed);
  addMaxIterationsOption(*command, options->compile.maxIterations);
  addBoundOption(*command, options->compile.bounds);
  addOption(*command, "--target", options->compile.target, "for a model: the target of the plan")
      ->capture_default_str();
  addOption(*command, "--model", options->model,
            "for a compiled model: the present path of the model with its weights");
  CLI::Option *beside = addFlag(*command, "--external-data", options->beside,
                                "write weights to a file beside the model (default: above 1 GiB)");
  addFlag(*command, "--no-weights", options->noWeights, "leave weights out, for a file to look at that cannot run")
      ->excludes(beside);
  command->callback([options, &action] { action = [options] { return runExport(*options); }; });
}

} // namespace sluice::driver
