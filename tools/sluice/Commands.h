//===- Commands.h - The subcommands of sluice -------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_COMMANDS_H
#define SLUICE_TOOLS_SLUICE_COMMANDS_H

#include "tools/common/Driver.h"

namespace sluice::driver {

/// Adds all subcommands, in the order in which the help lists them.
void addCommands(CLI::App &app, Action &action);
/// Adds the subcommand of this name alone. Returns false if there is none.
bool addCommand(CLI::App &app, Action &action, std::string_view name);

void addCompileCommand(CLI::App &app, Action &action);
void addRunCommand(CLI::App &app, Action &action);
void addGenerateCommand(CLI::App &app, Action &action);
void addPlanCommand(CLI::App &app, Action &action);
void addFitCommand(CLI::App &app, Action &action);
void addProfileCommand(CLI::App &app, Action &action);
void addTuneCommand(CLI::App &app, Action &action);
void addReportCommand(CLI::App &app, Action &action);
void addComposeCommand(CLI::App &app, Action &action);
void addExportCommand(CLI::App &app, Action &action);
void addInfoCommand(CLI::App &app, Action &action);
void addMachineCommand(CLI::App &app, Action &action);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_COMMANDS_H
