//===- Main.cpp -----------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Runs what `sluice run --keep` wrote, where the compiler is not: it needs libc
// alone, and NVIDIA's driver where a model has a GPU. Everything it says is JSON.
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "tools/common/Guard.h"

static int runMain(int argc, char **argv) {
  using namespace sluice::runner;
  CLI::App app("Runs and measures compiled models on a machine without the compiler.", "sluice-runner");
  app.require_subcommand(1);
  Action action;
  addRunCommand(app, action);
  addGenerateCommand(app, action);
  addSimulateCommand(app, action);
  addRatesCommand(app, action);
  return sluice::driver::runTool(app, action, argc, argv);
}

int main(int argc, char **argv) {
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
