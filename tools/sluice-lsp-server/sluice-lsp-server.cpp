//===- sluice-lsp-server.cpp - IR in editors --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/common/LlvmErrors.h"
#include "tools/common/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

static int runMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sluice::registerToolDialects(registry);
  return int(mlir::failed(mlir::MlirLspServerMain(argc, argv, registry)));
}

int main(int argc, char **argv) {
  sluice::driver::guardLlvm();
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
