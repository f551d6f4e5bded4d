//===- Commands.cpp - All subcommands of sluice ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"

#include <algorithm>
#include <array>
#include <utility>

using namespace sluice::driver;

using AddCommand = void (*)(CLI::App &, Action &);

static constexpr std::array<std::pair<std::string_view, AddCommand>, 12> kCommands = {{{"compile", addCompileCommand},
                                                                                       {"run", addRunCommand},
                                                                                       {"generate", addGenerateCommand},
                                                                                       {"fit", addFitCommand},
                                                                                       {"plan", addPlanCommand},
                                                                                       {"profile", addProfileCommand},
                                                                                       {"tune", addTuneCommand},
                                                                                       {"report", addReportCommand},
                                                                                       {"compose", addComposeCommand},
                                                                                       {"export", addExportCommand},
                                                                                       {"info", addInfoCommand},
                                                                                       {"machine", addMachineCommand}}};

void sluice::driver::addCommands(CLI::App &app, Action &action) {
  for (const auto &[name, add] : kCommands)
    add(app, action);
}

bool sluice::driver::addCommand(CLI::App &app, Action &action, std::string_view name) {
  const auto *found =
      std::find_if(kCommands.begin(), kCommands.end(), [&](const auto &one) { return one.first == name; });
  if (found == kCommands.end())
    return false;
  found->second(app, action);
  return true;
}
