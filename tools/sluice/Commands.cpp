//===- Commands.cpp - All subcommands of sluice ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

void sluice::driver::addCommands(CLI::App &app, Action &action) {
  addCompileCommand(app, action);
  addRunCommand(app, action);
  addGenerateCommand(app, action);
  addFitCommand(app, action);
  addPlanCommand(app, action);
  addProfileCommand(app, action);
  addTuneCommand(app, action);
  addReportCommand(app, action);
  addComposeCommand(app, action);
  addExportCommand(app, action);
  addInfoCommand(app, action);
  addMachineCommand(app, action);
}
