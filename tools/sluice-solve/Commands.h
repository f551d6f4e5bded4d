//===- Commands.h - The subcommands of sluice-solve -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_SOLVE_COMMANDS_H
#define SLUICE_TOOLS_SLUICE_SOLVE_COMMANDS_H

#include "sluice/Search/ProblemJson.h"
#include "tools/common/Driver.h"

#include <atomic>
#include <string>

namespace sluice::solve {

using driver::Action, driver::addFormatOption, driver::joined, driver::printJson, driver::printLine;

/// `interrupt` is raised by SIGINT.
void addCheckCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt);
void addMemoryCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt);
void addPipelineCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt);
void addPlacementCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt);
void addSwapCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt);
void addTilingCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt);

/// Options that take "5s" or "8GiB".
CLI::Option *addDurationOption(CLI::App &command, const std::string &name, int64_t &ns, const std::string &help);
CLI::Option *addBytesOption(CLI::App &command, const std::string &name, int64_t &bytes, const std::string &help);

Expected<ProblemFile> readProblemFile(const std::string &path);

/// Seconds since it was made.
class Stopwatch {
public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); }

private:
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

} // namespace sluice::solve

#endif // SLUICE_TOOLS_SLUICE_SOLVE_COMMANDS_H
