//===- Driver.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "tools/common/Driver.h"

#include "sluice/Support/NearestNames.h"
#include "tools/common/Guard.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <limits>
#include <malloc.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

// What CommandLine.h leaves out.
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace CLI {
const detail::ExistingFileValidator ExistingFile;
const detail::ExistingDirectoryValidator ExistingDirectory;
const detail::ExistingPathValidator ExistingPath;
const detail::NonexistentPathValidator NonexistentPath;
const detail::IPV4Validator ValidIPV4;
const TypeValidator<double> Number("NUMBER");
const Range NonNegativeNumber(std::numeric_limits<double>::max(), "NONNEGATIVE");
const Range PositiveNumber(std::numeric_limits<double>::min(), std::numeric_limits<double>::max(), "POSITIVE");
} // namespace CLI

namespace sluice::driver {

std::atomic<bool> interrupted{false};

static void onInterrupt(int) {
  std::signal(SIGINT, endBySignal);
  interrupted = true;
}

void hearInterrupts() {
  interrupted = false;
  std::signal(SIGINT, onInterrupt);
}

/// "error: what, command, what to do", in place of CLI11's text, which does not name the command.
static std::string usageError(const CLI::App *tool, const CLI::Error &error) {
  const CLI::App *command = tool;
  std::string path = tool->get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  const auto is = [&](CLI::ExitCodes code) { return error.get_exit_code() == static_cast<int>(code); };
  const bool needsCommand = is(CLI::ExitCodes::RequiredError) && command->get_require_subcommand_min() > 0;
  const std::vector<std::string> unread = command->remaining();

  std::string what = error.what();
  std::string word;
  std::vector<std::string> known;
  if (!unread.empty() && (needsCommand || is(CLI::ExitCodes::ExtrasError))) {
    word = unread.front().substr(0, unread.front().find('='));
    if (word.starts_with('-')) {
      what = "unknown option '" + word + "'";
      for (const CLI::Option *option : command->get_options())
        for (const std::string &name : option->get_lnames())
          known.push_back("--" + name);
    } else if (needsCommand) {
      what = "unknown command '" + word + "'";
      for (const CLI::App *other : command->get_subcommands([](const CLI::App *) { return true; }))
        known.push_back(other->get_name());
    } else {
      what = "unexpected argument '" + word + "'";
    }
  } else if (needsCommand) {
    what = "no command is given";
  } else if (is(CLI::ExitCodes::ArgumentMismatch)) {
    // CLI11 writes "--output: 1 required TEXT missing".
    if (const size_t end = what.find(": 1 required "); end != std::string::npos)
      what = what.substr(0, end) + " has no value";
  }
  const std::vector<std::string> near = nearestNames(word, {known.begin(), known.end()}, 1);
  // A path of one word is that of the program itself.
  const std::string noun = path.find(' ') == std::string::npos ? "program" : "command";
  return "error: " + what + ", " + noun + " '" + path + "', " + (near.empty() ? "" : "use '" + near.front() + "' or ") +
         "see '" + path + " --help'\n";
}

/// Planners allocate and free megabytes for each plan. By default, glibc returns them to the system each time, and the
/// next plan gets their pages again one by one, which takes about 6 % of its time.
static void keepFreedMemory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

int runTool(CLI::App &app, const Action &action, int argc, char **argv) {
  keepFreedMemory();
  app.failure_message(usageError);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (Status status = action(); !status) {
    clearProgress();
    std::cerr << "error: " << textForUsers(status.error()) << '\n';
    return 1;
  }
  return 0;
}

void clearProgress() {
  if (isatty(STDERR_FILENO))
    std::cerr << "\r\033[K" << std::flush;
}

bool showsDrawings() {
  const auto valueOf = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  // The first that is set decides, as in setlocale.
  std::string locale;
  for (const char *name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (locale.empty())
      locale = valueOf(name);
  const bool isUtf8 = locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  return isatty(STDOUT_FILENO) && isUtf8 && valueOf("TERM") != "dumb";
}

int terminalColumns() {
  constexpr int kOtherwise = 100;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kOtherwise;
}

template <typename Value>
CLI::Option *addOption(CLI::App &command, const std::string &name, Value &value, const std::string &description) {
  return command.add_option(name, value, description);
}
template CLI::Option *addOption(CLI::App &, const std::string &, std::string &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, int &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, int64_t &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, uint64_t &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, double &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, std::optional<double> &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, std::vector<std::string> &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, std::vector<int> &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, std::vector<int64_t> &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, std::vector<uint64_t> &, const std::string &);
template CLI::Option *addOption(CLI::App &, const std::string &, std::vector<double> &, const std::string &);

CLI::Option *addFlag(CLI::App &command, const std::string &name, bool &value, const std::string &description) {
  return command.add_flag(name, value, description);
}

CLI::Validator oneOf(const std::vector<std::string> &names) { return CLI::IsMember(names); }

CLI::App *addCommand(CLI::App &app, const std::string &name, const std::string &description) {
  return app.add_subcommand(name, description);
}

void addFormatOption(CLI::App &command, std::string &format) {
  addOption(command, "--format", format, "text for readers, json for programs")
      ->check(oneOf({"text", "json"}))
      ->capture_default_str();
}

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

void printLine(const std::string &label, const std::string &value) {
  constexpr int kLabelWidth = 14;
  std::cout << std::left << std::setw(kLabelWidth) << label << value << '\n';
}

void printJson(const Json &json) { std::cout << jsonText(json, 2) << '\n'; }

} // namespace sluice::driver
