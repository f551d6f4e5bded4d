//===- Main.cpp - sluice-reduce: shrinks a failing model ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Reducer.h"
#include "sluice/Support/Json.h"
#include "sluice/Support/Units.h"
#include "tools/common/Driver.h"
#include "tools/common/Guard.h"

#include <csignal>
#include <iomanip>
#include <iostream>
#include <unistd.h>

using namespace sluice;
using namespace sluice::reduce;

namespace {

struct Options {
  std::string model, output;
  ReduceParams params{"", 60'000'000'000, 5000};
};

void onInterrupt(int) {
  // A second Ctrl-C ends the program at once.
  std::signal(SIGINT, driver::endBySignal);
  interrupted = true;
}

void printLine(const std::string &label, const std::string &value) {
  std::cout << std::left << std::setw(10) << label << value << '\n';
}

Status run(const Options &options) {
  SLUICE_ASSIGN_OR_RETURN(TemporaryDirectory scratch, TemporaryDirectory::create());
  SLUICE_ASSIGN_OR_RETURN(Subject subject, Subject::open(options.model, scratch, options.params.timeoutNs));
  std::optional<Progress> first;
  auto accept = [&](const std::string &bytes, const Progress &progress) {
    if (!first)
      first = progress;
    if (isatty(STDERR_FILENO))
      std::cerr << "\r\033[K" << progress.nodes << " nodes, " << formatBytes(progress.bytes) << ", " << progress.tests
                << " tests\r" << std::flush;
    return writeFileAtomically(options.output, bytes);
  };
  Expected<Reduction> reduction = reduceModel(subject, options.model, scratch, options.params, accept);
  driver::clearProgress();
  if (!reduction)
    return propagate(reduction);
  const Progress &last = reduction->progress;
  printLine("nodes", concat(first->nodes, " -> ", last.nodes));
  printLine("size", concat(formatBytes(first->bytes), " -> ", formatBytes(last.bytes)));
  printLine("tests", concat(last.tests, ", ", last.interesting, " of them interesting"));
  if (interrupted)
    printLine("stopped", "by Ctrl-C");
  else if (reduction->outOfTests)
    printLine("stopped", "at --max-tests; more may shrink it further");
  return {};
}

} // namespace

static int runMain(int argc, char **argv) {
  CLI::App app("Shrinks an ONNX model while a command still finds it interesting.", "sluice-reduce");
  Options options;
  driver::addOption(app, "MODEL", options.model, "an ONNX file")->required();
  driver::addOption(app, "-o,--output", options.output,
                    "file of the smallest model so far, with its data; replaced as the model shrinks")
      ->required()
      ->check([](const std::string &path) {
        return path.ends_with(".onnxtxt") ? "the model is written in binary, name it .onnx" : std::string();
      });
  driver::addOption(app, "--test", options.params.command,
                    "shell command that exits 0 when the model at {} is still interesting, as in: "
                    "sluice compile {} -o out 2>&1 | grep -q 'not supported'")
      ->required()
      ->check([](const std::string &command) {
        return command.find("{}") == std::string::npos ? "the command has no {} for the model's path" : std::string();
      })
      ->type_name("COMMAND");
  auto takeTimeout = [&options](const std::string &text) {
    Expected<int64_t> ns = parseDuration(text);
    if (!ns)
      throw CLI::ValidationError("--timeout", ns.error().message);
    options.params.timeoutNs = *ns;
  };
  app.add_option_function<std::string>("--timeout", takeTimeout,
                                       "limit of one test; a test that exceeds it counts as not interesting")
      ->type_name("TIME")
      ->default_str("60s")
      ->group("Limits");
  driver::addOption(app, "--max-tests", options.params.maxTests, "greatest number of tests")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group("Limits");
  std::signal(SIGINT, onInterrupt);
  return driver::runTool(
      app, [&] { return run(options); }, argc, argv);
}

int main(int argc, char **argv) {
  return driver::guarded([&] { return runMain(argc, argv); });
}
