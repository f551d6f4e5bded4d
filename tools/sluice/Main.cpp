//===- Main.cpp - sluice: plan, compile and run models --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "sluice/Codegen/Artifact.h"
#include "tools/common/LlvmErrors.h"

static int runMain(int argc, char **argv) {
  using namespace sluice::driver;
  CLI::App app("Plans, compiles and runs ONNX models on machines with little memory.", "sluice");
  app.require_subcommand(1);
  app.set_version_flag("--version", sluice::compilerVersion());
  Action action;
  addCommands(app, action);
  hearInterrupts();
  return sluice::driver::runTool(app, action, argc, argv);
}

int main(int argc, char **argv) {
  sluice::driver::guardLlvm();
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
