//===- Commands.h - The subcommands of sluice-runner ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_RUNNER_COMMANDS_H
#define SLUICE_TOOLS_SLUICE_RUNNER_COMMANDS_H

#include "tools/common/Driver.h"

namespace sluice::runner {

using driver::Action;

void addRunCommand(CLI::App &app, Action &action);
void addGenerateCommand(CLI::App &app, Action &action);
void addSimulateCommand(CLI::App &app, Action &action);
void addRatesCommand(CLI::App &app, Action &action);

} // namespace sluice::runner

#endif // SLUICE_TOOLS_SLUICE_RUNNER_COMMANDS_H
