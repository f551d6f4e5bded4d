//===- CompileProgram.cpp - A program to an artifact ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/CompileProgram.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/TensorView.h"
#include "dialects/Exec/ProgramName.h"
#include "dialects/Exec/ProgramSymbols.h"
#include "passes/ExecToLLVM/Passes.h"
#include "sluice/Codegen/KernelLowering.h"
#include "sluice/Codegen/Package.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace sluice {

/// An extent with the names of its symbols, "" for a number.
static std::string nameExtent(const dataflow::Extent &extent) {
  std::string text;
  if (extent.isConstant())
    return text;
  llvm::raw_string_ostream(text) << extent.expr();
  // Expressions print a symbol as `s` and its number; the rest are digits, operators and words without an `s`.
  std::string named;
  for (size_t i = 0; i < text.size();) {
    if (text[i] != 's') {
      named += text[i++];
      continue;
    }
    size_t number = 0;
    for (++i; i < text.size() && llvm::isDigit(text[i]); ++i)
      number = number * 10 + static_cast<size_t>(text[i] - '0');
    named += extent.symbols().getNames()[number].getValue();
  }
  return named;
}

template <typename Port>
static std::vector<PortInfo> describePorts(exec::ProgramOp program) {
  std::vector<PortInfo> ports;
  for (Port port : program.getBody().template getOps<Port>()) {
    auto type = cast<RankedTensorType>(port.getType());
    PortInfo info;
    info.name = port.getTensor().str();
    if (dataflow::isString(type.getElementType()))
      info.elementType = "string";
    else
      llvm::raw_string_ostream(info.elementType) << type.getElementType();
    info.shape.assign(type.getShape().begin(), type.getShape().end());
    info.bytes = *exec::denseBytes(type);
    for (const dataflow::Extent &extent : dataflow::extentsOf(type))
      info.expressions.push_back(nameExtent(extent));
    ports.push_back(std::move(info));
  }
  return ports;
}

Expected<ManifestInfo> describeProgram(ModuleOp module, const TargetSpec &target,
                                       const ParameterFileWriter::Summary &parameters) {
  auto programs = llvm::to_vector(module.getOps<exec::ProgramOp>());
  if (programs.size() != 1)
    return makeError(ErrorCode::Internal, "the module has ", programs.size(),
                     " programs instead of one, this is a bug of Sluice, please report it");
  exec::ProgramOp program = programs.front();
  if (static_cast<int64_t>(program.getParameterBytes()) != parameters.rankBytes())
    return makeError(ErrorCode::Internal, "the program reads ", program.getParameterBytes(),
                     " bytes of parameters and the file has ", parameters.rankBytes(),
                     ", this is a bug of Sluice, please report it");
  ManifestInfo info;
  info.name = exec::modelName(program.getSymName()).str();
  info.cpuFeatures = target.required;
  info.parameters = parameters;
  info.numRanks = program.getNumRanks();
  info.inputs = describePorts<exec::InputOp>(program);
  info.outputs = describePorts<exec::OutputOp>(program);
  const SmallVector<exec::ProgramSymbol> symbols = *exec::findSymbols(program); // The program is verified.
  const auto states = llvm::to_vector(program.getBody().getOps<exec::StateOp>());
  for (const exec::ProgramSymbol &symbol : symbols) {
    const bool isKept = symbol.input == exec::ProgramSymbol::kKept;
    info.symbols.push_back({symbol.name.str(), symbol.least, symbol.most, symbol.step, symbol.input, symbol.dimension,
                            symbol.input == exec::ProgramSymbol::kFound,
                            isKept ? exec::StateOp(states[symbol.dimension]).getTensor().str() : std::string()});
  }
  for (exec::StepOp step : program.getBody().getOps<exec::StepOp>())
    if (step.getBounds())
      info.buckets.emplace_back(step.getBounds()->begin(), step.getBounds()->end());
  info.staticBytes = freestandingMemoryBytes(program);
  for (exec::LaunchOp launch : program.getStep().getBody().getOps<exec::LaunchOp>())
    info.kernels.emplace_back(launch.getKernel().str(), launch.getOp().str());
  return info;
}

Status compileProgram(ModuleOp module, const TargetSpec &target, const ParameterFileWriter::Summary &parameters,
                      const std::string &directory, const EmissionParams &params) {
  SLUICE_ASSIGN_OR_RETURN(ManifestInfo info, describeProgram(module, target, parameters));
  SLUICE_RETURN_IF_ERROR(lowerKernelsToLLVM(module));
  {
    const FirstError problem(module.getContext());
    if (failed(lowerExecToLLVM(*module.getOps<exec::ProgramOp>().begin(),
                               {compilerVersion(), target.required, parameters.hash})))
      return makeError(ErrorCode::Internal, "the program cannot be lowered: ", problem.message());
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> objects, emitObjects(module, target, params));
  return writePackage(info, target, {}, objects, directory + "/" + kParameterFile, directory);
}

} // namespace sluice
