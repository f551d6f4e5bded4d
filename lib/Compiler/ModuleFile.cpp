//===- ModuleFile.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ModuleFile.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "passes/Bridge/FunctionCheck.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Support/IrText.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <filesystem>

using namespace mlir;

namespace sluice {

bool isModuleFile(const std::string &path) { return std::filesystem::path(path).extension() == ".mlir"; }

/// Ports without a name get one of their number.
static void nameThePorts(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!dataflow::inputName(function, i))
      dataflow::setInputName(function, i, "input" + Twine(i));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!dataflow::outputName(function, i) && !dataflow::updatedState(function, i))
      dataflow::setOutputName(function, i, "output" + Twine(i));
}

Expected<OwningOpRef<ModuleOp>> readModuleFile(MLIRContext &context, const std::string &path) {
  // A pipe would hang the open.
  std::error_code error;
  if (const auto type = std::filesystem::status(path, error).type();
      type == std::filesystem::file_type::fifo || type == std::filesystem::file_type::socket)
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not a regular file, give a file with IR");
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(path, &message);
  if (!file)
    return makeError(ErrorCode::Io, message, ", give a file of IR that can be read");
  SLUICE_RETURN_IF_ERROR(checkResultNumbers(file->getBuffer(), path));
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  const FirstError problem(&context);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(sources, &context);
  if (!module) {
    auto at = dyn_cast_if_present<FileLineColLoc>(problem.where());
    return makeError(ErrorCode::InvalidInput, at ? concat("line ", at.getLine(), " of ") : "", "'", path,
                     "': ", problem.messageOr("the file has no program, give a module of the dataflow dialect"));
  }
  auto functions = llvm::to_vector(module->getOps<func::FuncOp>());
  if (!llvm::hasSingleElement(*module->getBody()) || functions.size() != 1 || functions.front().isExternal())
    return makeError(ErrorCode::InvalidInput, "the module must have exactly one function, '", path,
                     "', give IR that --compile-to=import printed");
  nameThePorts(functions.front());
  SLUICE_RETURN_IF_ERROR(checkFunction(functions.front(), concat("'", path, "'")));
  return module;
}

} // namespace sluice
