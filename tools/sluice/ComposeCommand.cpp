//===- ComposeCommand.cpp - sluice compose --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "ModelPorts.h"
#include "sluice/Onnx/Compose.h"

#include <memory>
#include <onnx/onnx_pb.h>

namespace sluice::driver {
namespace {

struct ComposeOptions {
  std::string pipeline, output;
  bool update = false, beside = false;
};

Status runCompose(const ComposeOptions &options) {
  SLUICE_ASSIGN_OR_RETURN(Composition composed,
                          composePipeline(options.pipeline, options.update ? PinMode::Renew : PinMode::Create));
  if (!options.output.empty()) {
    ExportOptions to;
    if (options.beside)
      to.weights = WeightStorage::External;
    SLUICE_RETURN_IF_ERROR(writeModel(composed.model, options.output, to));
  }
  printLine("pipeline", composed.model.graph().name());
  for (const ComposedService &service : composed.services)
    printLine("service", service.model.empty() ? concat(service.id, ": nodes, opset ", service.opset)
                                               : concat(service.id, ": ", service.model, ", opset ", service.opset,
                                                        ", SHA-256 ", service.sha256));
  for (const DeclaredTensor &input : composed.model.inputs())
    printLine("input", concat(input.name, ": ", describePort(input)));
  for (const DeclaredTensor &output : composed.model.outputs())
    printLine("output", concat(output.name, ": ", describePort(output)));
  return {};
}

} // namespace

void addComposeCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ComposeOptions>();
  CLI::App *command =
      driver::addCommand(app, "compose", "Join the models of a pipeline into one, and pin them by their hashes");
  addOption(*command, "PIPELINE", options->pipeline, "the pipeline's file (.json, docs/formats/pipeline.md)")
      ->required();
  CLI::Option *output = addOption(*command, "-o,--output", options->output, "write the composed model as ONNX");
  addFlag(*command, "--external-data", options->beside,
          "write weights to a file beside the model (default: above 1 GiB)")
      ->needs(output);
  addFlag(*command, "--update", options->update, "renew the hashes in the lock file beside the pipeline");
  command->callback([options, &action] { action = [options] { return runCompose(*options); }; });
}

} // namespace sluice::driver
