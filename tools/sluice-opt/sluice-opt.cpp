//===- sluice-opt.cpp - Runs passes on IR -----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "tools/common/LlvmErrors.h"
#include "tools/common/Registration.h"

#include "sluice/Support/IrText.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/ToolOutputFile.h"

#include <string>

static int runMain(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sluice::registerToolDialects(registry);
  sluice::registerToolPasses();
  const auto [input, output] = mlir::registerAndParseCLIOptions(argc, argv, "Sluice's passes on IR\n", registry);
  const mlir::MlirOptMainConfig config = mlir::MlirOptMainConfig::createFromCLOptions();
  if (config.shouldShowDialects() || config.shouldListPasses())
    return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, input, output, registry));
  // MLIR's driver reports files without the word error.
  std::string message;
  auto file = mlir::openInputFile(input, &message);
  if (!file)
    return sluice::driver::fail(message + ", give a file of IR that can be read");
  if (const sluice::Status status = sluice::checkResultNumbers(file->getBuffer(), input); !status)
    return sluice::driver::fail(status.error().message);
  auto result = mlir::openOutputFile(output, &message);
  if (!result)
    return sluice::driver::fail(message + ", give -o a file that can be written");
  if (failed(mlir::MlirOptMain(result->os(), std::move(file), registry, config)))
    return EXIT_FAILURE;
  result->keep();
  return EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  sluice::driver::guardLlvm();
  return sluice::driver::guarded([&] { return runMain(argc, argv); });
}
