//===- Registration.cpp - What every IR tool knows --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/common/Registration.h"

#include "dialects/Dataflow/Models.h"
#include "dialects/Exec/Exec.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Compiler/Pipeline.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"

void sluice::registerToolDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registerCodegenDialects(registry);
  dataflow::registerDataflow(registry);
  registry.insert<exec::ExecDialect>();
}

void sluice::registerToolPasses() {
  mlir::registerAllPasses();
  registerCompilerPasses();
}
