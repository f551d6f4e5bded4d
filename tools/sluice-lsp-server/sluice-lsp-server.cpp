//===- sluice-lsp-server.cpp - IR in editors --------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/common/LlvmErrors.h"
#include "tools/common/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sluice::registerToolDialects(registry);
  sluice::driver::guardLlvm();
  return sluice::driver::guarded([&] { return int(mlir::failed(mlir::MlirLspServerMain(argc, argv, registry))); });
}
