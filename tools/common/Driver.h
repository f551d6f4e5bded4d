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

/// What a chosen subcommand does; set by its parse.
using Action = std::function<Status()>;

/// Raised by the first Ctrl-C that is heard; a second one ends the program.
extern std::atomic<bool> interrupted;
/// Lowers `interrupted` and hears the next Ctrl-C as the first.
void hearInterrupts();

/// Parses the command line and does what it asks for. Exit code 2 where it cannot be parsed, 1 where the action fails,
/// which it says. For a tool that is guarded (Guard.h).
int runTool(CLI::App &app, const Action &action, int argc, char **argv);

/// Wipes the line of progress, before anything else is printed.
void clearProgress();

/// Whether standard output is a terminal that shows the characters of drawings: in UTF-8, and not a dumb one.
bool showsDrawings();
/// Of the terminal on standard output; 100 where it is none.
int terminalColumns();

/// `app.add_subcommand`, compiled once: inline, it brings a third of CLI11 into every file that calls it.
CLI::App *addCommand(CLI::App &app, const std::string &name, const std::string &description);

/// `add_option` and `add_flag` of `command`, compiled once for each of the types that Driver.cpp names.
template <typename Value>
CLI::Option *addOption(CLI::App &command, const std::string &name, Value &value, const std::string &description);
CLI::Option *addFlag(CLI::App &command, const std::string &name, bool &value, const std::string &description);
/// Checks that each value is one of `names`.
CLI::Validator oneOf(const std::vector<std::string> &names);

/// --format of subcommands that print.
void addFormatOption(CLI::App &command, std::string &format);

/// "a, b, c", for help.
std::string joined(const std::vector<std::string> &names);
/// "label   value", values aligned.
void printLine(const std::string &label, const std::string &value);
void printJson(const Json &json);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_COMMON_DRIVER_H
