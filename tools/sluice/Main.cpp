//===- Main.cpp - sluice: plan, compile and run models --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "Options.h"
#include "sluice/Codegen/Artifact.h"

#include <csignal>
#include <iostream>

std::atomic<bool> sluice::driver::interrupted{false};

static void onInterrupt(int) {
  std::signal(SIGINT, SIG_DFL);
  sluice::driver::interrupted = true;
}

void sluice::driver::hearInterrupts() {
  interrupted = false;
  std::signal(SIGINT, onInterrupt);
}

int main(int argc, char **argv) {
  using namespace sluice::driver;
  CLI::App app("Plans, compiles and runs ONNX models on machines with little memory.", "sluice");
  app.require_subcommand(1);
  app.set_version_flag("--version", sluice::compilerVersion());
  Action action;
  addCompileCommand(app, action);
  addRunCommand(app, action);
  addPlanCommand(app, action);
  addProfileCommand(app, action);
  addReportCommand(app, action);
  addExportCommand(app, action);
  addInfoCommand(app, action);
  addMachineCommand(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  hearInterrupts();
  if (sluice::Status status = action(); !status) {
    clearProgress();
    std::cerr << "error: " << status.error().message << '\n';
    return 1;
  }
  return 0;
}
