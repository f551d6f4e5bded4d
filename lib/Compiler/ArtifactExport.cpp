//===- ArtifactExport.cpp - What an artifact was compiled from, as ONNX ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ImportedProgram.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/Models.h"
#include "dialects/Exec/Exec.h"
#include "sluice/Compiler/Compilation.h"
#include "sluice/Onnx/Compose.h"
#include "sluice/Onnx/Export.h"
#include "sluice/Onnx/Import.h"
#include "sluice/TensorIO/ElementType.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace sluice {

/// Binds the dimensions of an input with symbols as they were: by ranges, and by sizes where they have none.
static void bindRanges(const DeclaredTensor &declared, RankedTensorType type, DimBindings &dims) {
  const dataflow::SymbolsAttr symbols = dataflow::symbolsOf(type);
  for (size_t i = 0; i < symbols.size(); ++i)
    dims.ranges[symbols.getNames()[i].str()] = {symbols.getLeast()[i], symbols.getMost()[i], symbols.getSteps()[i]};
  if (!declared.dims || declared.dims->size() != static_cast<size_t>(type.getRank()))
    return;
  for (auto [dim, extent] : llvm::zip(*declared.dims, dataflow::extentsOf(type)))
    if (dim.value < 0 && extent.isConstant())
      dims.values[dim.symbol] = extent.most();
}

static ImportOptions asImported(func::FuncOp function, const ModelFile &model) {
  ImportOptions options;
  for (BlockArgument argument : function.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto name = dataflow::inputName(function, index);
    auto type = cast<RankedTensorType>(argument.getType());
    std::vector<int64_t> shape(type.getShape().begin(), type.getShape().end());
    if (dataflow::symbolsOf(type)) {
      for (const DeclaredTensor &declared : model.inputs())
        if (declared.name == name.str())
          bindRanges(declared, type, options.dims);
      continue;
    }
    options.dims.inputShapes[name.str()] = shape;
    auto fixed =
        function.getArgAttrOfType<DenseElementsAttr>(index, dataflow::DataflowDialect::FixedAttrHelper::getNameStr());
    if (std::optional<int32_t> number = exec::onnxElementType(type.getElementType()); fixed && number) {
      HostTensor tensor{name.str(), static_cast<ElementType>(*number), shape, {}};
      tensor.bytes.resize(static_cast<size_t>(dataflow::tensorBytes(type)));
      if (succeeded(dataflow::copyConstant(fixed, reinterpret_cast<char *>(tensor.bytes.data()))))
        options.fixedInputs[name.str()] = std::move(tensor);
    }
  }
  for (auto loop : function.front().getOps<dataflow::LoopOp>()) {
    constexpr auto kEndless = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (!dataflow::getIntegers(loop.getTrips()) && loop.getMost() != kEndless)
      options.maxIterations = static_cast<int64_t>(loop.getMost());
  }
  return options;
}

/// Gives the program of an artifact the weights of the model it was imported from.
static Expected<OwningOpRef<ModuleOp>> withWeights(MLIRContext &context, ProgramFile &file, const std::string &path) {
  Expected<ModelFile> model = openModel(path);
  if (!model)
    return makeError(model.error().code, "the weights of the compiled model cannot be read: ", model.error().message,
                     ", give the model's file with --model or leave the weights out with --no-weights");
  func::FuncOp function = *file.module->getOps<func::FuncOp>().begin();
  ImportOptions importing = asImported(function, *model);
  Expected<OwningOpRef<ModuleOp>> module = importModel(context, *model, importing);
  Expected<std::string> digest = module ? digestProgram(**module) : Expected<std::string>(propagate(module));
  if (!digest || *digest != file.digest) {
    // The program does not say whether it was imported for devices that run no loops.
    importing.unrollsLoops = true;
    module = importModel(context, *model, importing);
    digest = module ? digestProgram(**module) : Expected<std::string>(propagate(module));
  }
  if (!digest || *digest != file.digest)
    return makeError(ErrorCode::InvalidInput, "'", path, "' is not the model that was compiled, ",
                     digest ? "the file or its weights have changed" : digest.error().message,
                     ", give the original model with --model or leave the weights out with --no-weights");
  func::FuncOp whole = *(*module)->getOps<func::FuncOp>().begin();
  for (auto [decided, op] : llvm::zip(function.front(), whole.front()))
    for (NamedAttribute attribute : decided.getDiscardableAttrs())
      op.setAttr(attribute.getName(), attribute.getValue());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (Attribute memory = function.getArgAttr(i, dataflow::DataflowDialect::MemoryAttrHelper::getNameStr()))
      whole.setArgAttr(i, dataflow::DataflowDialect::MemoryAttrHelper::getNameStr(), memory);
  for (NamedAttribute attribute : (*file.module)->getDiscardableAttrs())
    (**module)->setAttr(attribute.getName(), attribute.getValue());
  return module;
}

Status exportArtifact(const std::string &directory, const std::string &modelPath, const std::string &path,
                      const ExportOptions &options) {
  MLIRContext context;
  dataflow::loadDataflow(context);
  context.loadDialect<func::FuncDialect>();
  SLUICE_ASSIGN_OR_RETURN(ProgramFile file, readProgramFile(context, directory));
  // A training program is refused without its weights too.
  bool hasWeights = false, trains = false;
  file.module->walk([&](dataflow::ConstantOp op) { hasWeights |= isa<DenseResourceElementsAttr>(op.getValue()); });
  file.module->walk([&](dataflow::StateOp) { trains = true; });
  if (hasWeights && !trains && options.weights != WeightStorage::Omit) {
    SLUICE_ASSIGN_OR_RETURN(OwningOpRef<ModuleOp> module,
                            withWeights(context, file, modelPath.empty() ? file.model : modelPath));
    file.module = std::move(module);
  }
  return exportModel(*file.module, path, options);
}

} // namespace sluice
