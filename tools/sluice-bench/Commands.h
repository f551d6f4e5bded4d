//===- Commands.h - The subcommands of sluice-bench -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_COMMANDS_H
#define SLUICE_TOOLS_SLUICEBENCH_COMMANDS_H

#include "tools/common/Driver.h"
#include <string>

namespace sluice::bench {

using driver::Action;

void addBarriersCommand(CLI::App &app, Action &action);
void addKernelsCommand(CLI::App &app, Action &action);
void addOperatorsCommand(CLI::App &app, Action &action);
void addModelsCommand(CLI::App &app, Action &action);
void addOnnxTestsCommand(CLI::App &app, Action &action);
void addRandomCommand(CLI::App &app, Action &action);
void addServingCommand(CLI::App &app, Action &action);
void addPartitionCommand(CLI::App &app, Action &action);
void addPlacementCommand(CLI::App &app, Action &action);
void addSimulatorCommand(CLI::App &app, Action &action);
void addSwapCommand(CLI::App &app, Action &action);
void addTiersCommand(CLI::App &app, Action &action);
void addTrainingModelsCommand(CLI::App &app, Action &action);

/// --format and --repeat, of every subcommand.
struct CommonOptions {
  std::string format = "text";
  int repeats = 21;

  void addTo(CLI::App &command);
  bool json() const { return format == "json"; }
};

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_COMMANDS_H
