//===- Export.cpp - The dataflow dialect to ONNX --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Onnx/Export.h"

#include "../WeightFiles.h"
#include "ProgramWriter.h"
#include "dialects/Dataflow/IR/FoundSymbols.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice {
namespace onnxexport {
namespace {

Expected<std::unique_ptr<ProgramWriter>> writeProgram(ModuleOp module) {
  auto functions = llvm::to_vector(module.getOps<func::FuncOp>());
  if (functions.size() == 1 && (functions[0].isExternal() || !llvm::hasSingleElement(functions[0].getBody())))
    return makeError(ErrorCode::InvalidInput, "function '", functions[0].getSymName().str(),
                     "' has no body or several blocks, give the function one block");
  if (functions.size() != 1)
    return makeError(ErrorCode::InvalidInput, "a module of ", functions.size(),
                     " functions is not a program, give one function with one block");
  for (Type type : functions[0].front().getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type); !tensor || !elementTypeToOnnx(tensor.getElementType()))
      return makeError(ErrorCode::InvalidInput, "an argument of function '", functions[0].getSymName().str(),
                       "' is not a tensor of an ONNX type, give a program of the dataflow dialect");
  for (int64_t opset = kExportOpset;;) {
    auto writer = std::make_unique<ProgramWriter>(functions[0], opset);
    SLUICE_RETURN_IF_ERROR(writer->run());
    if (writer->needed <= opset)
      return writer;
    opset = writer->needed;
  }
}

/// A weight's bytes: its own, or a copy in `storage`.
Expected<std::span<const char>> bytesOf(const ProgramWriter::Weight &weight, StringRef name,
                                        std::vector<char> &storage) {
  TensorView view;
  bool isSplat;
  if (getConstantBytes(weight.value, view, isSplat) && !isSplat)
    return std::span(view.data, weight.bytes);
  storage.resize(weight.bytes);
  if (failed(copyConstant(weight.value, storage.data())))
    return makeError(ErrorCode::InvalidInput, "the data of weight '", name.str(),
                     "' is missing, supply the model's external data");
  return std::span<const char>(storage);
}

std::vector<PendingWeight> weightsOf(ProgramWriter &writer) {
  std::vector<PendingWeight> weights;
  for (const ProgramWriter::Weight &weight : writer.weights) {
    ::onnx::TensorProto *tensor = writer.model.mutable_graph()->mutable_initializer(weight.initializer);
    weights.push_back({tensor, weight.bytes, [&weight, tensor](std::vector<char> &storage) {
                         return bytesOf(weight, tensor->name(), storage);
                       }});
  }
  return weights;
}

} // namespace
} // namespace onnxexport

/// The program with operators behind those that find their extents: the module itself where a step finds none, or a
/// copy, which `copy` then owns.
static ModuleOp behindFinders(ModuleOp module, OwningOpRef<ModuleOp> &copy) {
  if (symbolsFoundBy(module) == 0)
    return module;
  copy = module.clone();
  for (func::FuncOp function : copy->getOps<func::FuncOp>())
    if (!function.isExternal())
      sortBehindFinders(function.front());
  return *copy;
}

Expected<std::string> exportModelBytes(ModuleOp module) {
  OwningOpRef<ModuleOp> copy;
  SLUICE_ASSIGN_OR_RETURN(auto writer, onnxexport::writeProgram(behindFinders(module, copy)));
  return modelBytes(writer->model, onnxexport::weightsOf(*writer));
}

Status exportModel(ModuleOp module, const std::string &path, const ExportOptions &options) {
  OwningOpRef<ModuleOp> copy;
  SLUICE_ASSIGN_OR_RETURN(auto writer, onnxexport::writeProgram(behindFinders(module, copy)));
  return writeModelFiles(writer->model, onnxexport::weightsOf(*writer), path, options);
}

} // namespace sluice
