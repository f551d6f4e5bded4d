//===- sluice-translate.cpp - Between ONNX and IR ---------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "dialects/Dataflow/IR/Dataflow.h"
#include "dialects/Dataflow/Models.h"
#include "sluice/Onnx/Export.h"
#include "sluice/Onnx/Import.h"
#include "tools/common/LlvmErrors.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"
#include "mlir/Tools/mlir-translate/Translation.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace sluice;

static llvm::cl::list<std::string> dimOptions("dim", llvm::cl::desc("Bind a symbolic dimension (--import-onnx)"),
                                              llvm::cl::value_desc("name=value"));

static Expected<mlir::OwningOpRef<mlir::ModuleOp>> importBuffer(const llvm::MemoryBuffer &buffer,
                                                                mlir::MLIRContext &context) {
  ImportOptions options;
  for (const std::string &text : dimOptions)
    SLUICE_RETURN_IF_ERROR(addDimBinding(text, options.dims));
  // Read again by name where there is one: external data lies beside the file.
  std::string name = buffer.getBufferIdentifier().str();
  auto model = name == "<stdin>" ? ModelFile::fromBytes(buffer.getBuffer(), name) : ModelFile::open(name);
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

static mlir::LogicalResult exportOnnx(mlir::ModuleOp module, llvm::raw_ostream &out) {
  auto bytes = exportModelBytes(module);
  if (!bytes)
    return mlir::emitError(mlir::UnknownLoc::get(module.getContext())) << bytes.error().message;
  out << *bytes;
  return mlir::success();
}

static int runMain(int argc, char **argv) {
  mlir::TranslateToMLIRRegistration onnx("import-onnx", "ONNX (binary, or textual as .onnxtxt) to the dataflow dialect",
                                         importOnnx, registerDialects);
  mlir::TranslateFromMLIRRegistration toOnnx("export-onnx", "The dataflow dialect to ONNX (binary)", exportOnnx,
                                             registerDialects);
  return int(mlir::failed(mlir::mlirTranslateMain(argc, argv, "Sluice's translations\n")));
}

int main(int argc, char **argv) {
  driver::guardLlvm();
  return driver::guarded([&] { return runMain(argc, argv); });
}
