//===- Main.cpp - sluice-bench: how fast the parts are --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "tools/common/LlvmErrors.h"

namespace sluice::bench {

void CommonOptions::addTo(CLI::App &command) {
  driver::addOption(command, "--repeat", repeats, "number of measurements of each case; the median is used")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  driver::addFormatOption(command, format);
}

} // namespace sluice::bench

static int runMain(int argc, char **argv) {
  using namespace sluice::bench;
  CLI::App app("Measures how fast the parts are, each on one thread, and what they can do.", "sluice-bench");
  app.require_subcommand(1);
  Action action;
  addKernelsCommand(app, action);
  addSimulatorCommand(app, action);
  addSwapCommand(app, action);
  addServingCommand(app, action);
  addModelsCommand(app, action);
  addTrainingModelsCommand(app, action);
  addOnnxTestsCommand(app, action);
  addRandomCommand(app, action);
  addOperatorsCommand(app, action);
  addPartitionCommand(app, action);
  addPlacementCommand(app, action);
  addTiersCommand(app, action);
  addBarriersCommand(app, action);
  return sluice::driver::runTool(app, action, argc, argv);
}

int main(int argc, char **argv) {
  sluice::driver::guardLlvm();
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
