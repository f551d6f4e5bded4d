//===- Driver.h - What tools with subcommands share -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_COMMON_DRIVER_H
#define SLUICE_TOOLS_COMMON_DRIVER_H

#include "sluice/Support/Error.h"
#include "sluice/Support/Json.h"
#include "tools/common/CommandLine.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

namespace sluice::driver {

/// The action of the chosen subcommand; its parser sets it.
using Action = std::function<Status()>;

/// Set by the first Ctrl-C. A second one ends the program.
extern std::atomic<bool> interrupted;
/// Clears `interrupted`, so that the next Ctrl-C counts as the first.
void hearInterrupts();

/// Parses the command line and runs its action. Returns exit code 2 if the command line is invalid, and 1 if the action
/// fails; prints the error. Must run in a guarded tool (Guard.h).
int runTool(CLI::App &app, const Action &action, int argc, char **argv);

/// Wipes the line of progress, before anything else is printed.
void clearProgress();

/// Whether standard output is a terminal that shows the characters of drawings: in UTF-8, and not a dumb one.
bool showsDrawings();
/// The columns of the terminal on standard output; 100 if it is no terminal.
int terminalColumns();

/// `app.add_subcommand`, compiled once: inline, it brings a third of CLI11 into every file that calls it.
CLI::App *addCommand(CLI::App &app, const std::string &name, const std::string &description);

/// `add_option` and `add_flag` of `command`, compiled once for each of the types that Driver.cpp names.
template <typename Value>
CLI::Option *addOption(CLI::App &command, const std::string &name, Value &value, const std::string &description);
CLI::Option *addFlag(CLI::App &command, const std::string &name, bool &value, const std::string &description);
/// Checks that each value is one of `names`.
CLI::Validator oneOf(const std::vector<std::string> &names);

/// The option --format of subcommands that print.
void addFormatOption(CLI::App &command, std::string &format);

/// The names for help: "a, b, c".
std::string joined(const std::vector<std::string> &names);
/// "label   value", values aligned.
void printLine(const std::string &label, const std::string &value);
void printJson(const Json &json);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_COMMON_DRIVER_H
