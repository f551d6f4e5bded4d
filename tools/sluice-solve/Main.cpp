//===- Main.cpp - sluice-solve: one planning problem alone ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Support/Units.h"
#include "tools/common/Guard.h"

#include <nlohmann/json.hpp>

namespace sluice::solve {

/// An option whose text `parse` turns into a number.
static CLI::Option *addParsedOption(CLI::App &command, const std::string &name, int64_t &value, const std::string &help,
                                    Expected<int64_t> (*parse)(std::string_view), const std::string &type) {
  auto take = [&value, parse, name](const std::string &text) {
    Expected<int64_t> parsed = parse(text);
    if (!parsed)
      throw CLI::ValidationError(name, parsed.error().message);
    value = *parsed;
  };
  return command.add_option_function<std::string>(name, take, help)->type_name(type);
}

CLI::Option *addDurationOption(CLI::App &command, const std::string &name, int64_t &ns, const std::string &help) {
  return addParsedOption(command, name, ns, help, parseDuration, "TIME");
}

CLI::Option *addBytesOption(CLI::App &command, const std::string &name, int64_t &bytes, const std::string &help) {
  return addParsedOption(command, name, bytes, help, parseBytes, "SIZE");
}

Expected<ProblemFile> readProblemFile(const std::string &path) {
  SLUICE_ASSIGN_OR_RETURN(Json json, readJsonFile(path));
  return problemFromJson(JsonReader(json, path));
}

} // namespace sluice::solve

static int runMain(int argc, char **argv) {
  using namespace sluice::solve;
  CLI::App app("Solves one planning problem from a file; no model is needed.", "sluice-solve");
  app.require_subcommand(1);
  Action action;
  using sluice::driver::interrupted;
  addCheckCommand(app, action, interrupted);
  addMemoryCommand(app, action, interrupted);
  addPipelineCommand(app, action, interrupted);
  addPlacementCommand(app, action, interrupted);
  addSwapCommand(app, action, interrupted);
  addTilingCommand(app, action, interrupted);
  sluice::driver::hearInterrupts();
  return sluice::driver::runTool(app, action, argc, argv);
}

int main(int argc, char **argv) {
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
