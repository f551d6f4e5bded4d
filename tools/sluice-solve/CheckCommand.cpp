//===- CheckCommand.cpp - sluice-solve check ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Search/PlanFile.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

namespace sluice::solve {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string format = "text";
};

Status runCheck(const CheckOptions &options, const std::atomic<bool> &interrupt) {
  size_t invalid = 0;
  Json list = Json::array();
  for (const std::string &path : options.files) {
    if (interrupt)
      return makeError(ErrorCode::Interrupted, "the check was stopped before '", path, "', run it again");
    Expected<PlanFile> file = checkPlanFile(path);
    if (!file)
      ++invalid;
    if (options.format == "json")
      list.push_back(file ? Json{{"file", path}, {"valid", true}, {"makespanNs", file->summary.makespanNs}}
                          : Json{{"file", path}, {"valid", false}, {"error", file.error().message}});
    else if (file)
      std::cout << path << ": valid, makespan " << file->summary.makespanNs << " ns\n";
    else
      std::cout << path << ": " << file.error().message << '\n';
  }
  if (options.format == "json")
    printJson(list);
  if (invalid > 0)
    return makeError(ErrorCode::InvalidInput, invalid, " of ", options.files.size(),
                     " plans are invalid, see the lines above, make these plans again");
  return {};
}

} // namespace

void addCheckCommand(CLI::App &app, Action &action, const std::atomic<bool> &interrupt) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *command =
      driver::addCommand(app, "check", "Validate plan files against their problems, and print one line for each");
  driver::addOption(*command, "FILE", options->files, "plan files as 'sluice plan -o' writes them")->required();
  addFormatOption(*command, options->format);
  command->callback(
      [options, &action, &interrupt] { action = [options, &interrupt] { return runCheck(*options, interrupt); }; });
}

} // namespace sluice::solve
