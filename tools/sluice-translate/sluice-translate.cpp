//===- sluice-translate.cpp - Between ONNX and IR ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/Models.h"
#include "sluice/Onnx/Export.h"
#include "sluice/Onnx/Import.h"
#include "sluice/Support/IrText.h"
#include "sluice/Support/Json.h"
#include "tools/common/LlvmErrors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SourceMgr.h"

#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace sluice;

/// LLVM's name of a buffer that is no file.
static constexpr llvm::StringLiteral kUnnamed = "<stdin>";

static llvm::cl::list<std::string> dimOptions("dim", llvm::cl::desc("Bind a symbolic dimension (--import-onnx)"),
                                              llvm::cl::value_desc("name=value"));

static Expected<mlir::OwningOpRef<mlir::ModuleOp>> importBuffer(const llvm::MemoryBuffer &buffer,
                                                                mlir::MLIRContext &context) {
  ImportOptions options;
  for (const std::string &text : dimOptions)
    SLUICE_RETURN_IF_ERROR(addDimBinding(text, options.dims));
  // Read again by name where there is one: external data lies beside the file.
  std::string name = buffer.getBufferIdentifier().str();
  auto model = name == kUnnamed ? ModelFile::fromBytes(buffer.getBuffer(), name) : ModelFile::open(name);
  if (!model)
    return propagate(model);
  return importModel(context, *model, options);
}

static void registerDialects(mlir::DialectRegistry &registry) {
  dataflow::registerDataflow(registry);
  registry.insert<mlir::func::FuncDialect>();
}

static mlir::OwningOpRef<mlir::Operation *> importOnnx(llvm::SourceMgr &sources, mlir::MLIRContext *context) {
  context->loadDialect<dataflow::DataflowDialect, mlir::func::FuncDialect>();
  auto module = importBuffer(*sources.getMemoryBuffer(sources.getMainFileID()), *context);
  if (!module) {
    mlir::emitError(mlir::UnknownLoc::get(context)) << module.error().message;
    return nullptr;
  }
  return module->release().getOperation();
}

static mlir::LogicalResult exportOnnx(const std::shared_ptr<llvm::SourceMgr> &sources, llvm::raw_ostream &out,
                                      mlir::MLIRContext *context) {
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context->appendDialectRegistry(registry);
  auto fail = [&](const Error &error) { return mlir::emitError(mlir::UnknownLoc::get(context)) << error.message; };
  const llvm::MemoryBuffer &text = *sources->getMemoryBuffer(sources->getMainFileID());
  if (const Status status = checkResultNumbers(text.getBuffer(), text.getBufferIdentifier()); !status)
    return fail(status.error());
  const auto module = mlir::parseSourceFile<mlir::ModuleOp>(sources, context);
  if (!module)
    return mlir::failure();
  auto bytes = exportModelBytes(*module);
  if (!bytes)
    return fail(bytes.error());
  out << *bytes;
  return mlir::success();
}

/// Runs translations one after the other, each on the text of the one before, and puts the last one's text into `text`.
/// The handler prints their errors.
static mlir::LogicalResult translate(llvm::ArrayRef<const mlir::Translation *> translations,
                                     std::unique_ptr<llvm::MemoryBuffer> input, std::string &text) {
  for (const mlir::Translation *translation : translations) {
    auto sources = std::make_shared<llvm::SourceMgr>();
    sources->AddNewSourceBuffer(std::move(input), llvm::SMLoc());
    mlir::MLIRContext context;
    const mlir::SourceMgrDiagnosticHandler handler(*sources, &context);
    text.clear();
    llvm::raw_string_ostream stream(text);
    if (failed((*translation)(sources, stream, &context)))
      return mlir::failure();
    input = llvm::MemoryBuffer::getMemBufferCopy(text, kUnnamed);
  }
  return mlir::success();
}

/// MLIR's own driver reports files without the word error, and leaves half an output.
static int runMain(int argc, char **argv) {
  mlir::TranslateToMLIRRegistration onnx("import-onnx", "ONNX (binary, or textual as .onnxtxt) to the dataflow dialect",
                                         importOnnx, registerDialects);
  mlir::TranslateRegistration toOnnx("export-onnx", "The dataflow dialect to ONNX (binary)", exportOnnx);
  llvm::cl::list<const mlir::Translation *, bool, mlir::TranslationParser> chosen(
      "", llvm::cl::desc("Translations to perform, one after the other"), llvm::cl::OneOrMore);
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> output("o", llvm::cl::desc("Output filename"), llvm::cl::value_desc("filename"),
                                    llvm::cl::init("-"));
  mlir::registerAsmPrinterCLOptions();
  mlir::registerMLIRContextCLOptions();
  mlir::registerTranslationCLOptions();
  llvm::cl::ParseCommandLineOptions(argc, argv, "Sluice's translations\n");
  std::string message, text;
  auto file = mlir::openInputFile(input, &message);
  if (!file)
    return driver::fail(message + ", give a file that can be read");
  if (failed(translate(std::vector(chosen.begin(), chosen.end()), std::move(file), text)))
    return EXIT_FAILURE;
  if (output == "-") {
    std::cout << text;
    return EXIT_SUCCESS;
  }
  const Status written = writeFileAtomically(output, text);
  return written ? EXIT_SUCCESS : driver::fail(written.error().message);
}

int main(int argc, char **argv) {
  driver::guardLlvm();
  return driver::guarded([&] { return runMain(argc, argv); });
}
