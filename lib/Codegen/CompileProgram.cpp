//===- CompileProgram.cpp - A program to an artifact ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/CompileProgram.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/TensorView.h"
#include "dialects/Exec/ProgramName.h"
#include "passes/ExecToLLVM/Passes.h"
#include "sluice/Codegen/KernelLowering.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace sluice {

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
    ports.push_back(std::move(info));
  }
  return ports;
}

Expected<ProgramDescription> describeProgram(ModuleOp module, const TargetSpec &target,
                                             const ParameterFileWriter::Summary &parameters) {
  auto programs = llvm::to_vector(module.getOps<exec::ProgramOp>());
  if (programs.size() != 1)
    return makeError(ErrorCode::Internal, "a module of ", programs.size(), " programs, compile exactly one");
  exec::ProgramOp program = programs.front();
  if (static_cast<int64_t>(program.getParameterBytes()) != parameters.rankBytes())
    return makeError(ErrorCode::Internal, "the program reads ", program.getParameterBytes(),
                     " bytes of parameters and the file has ", parameters.rankBytes());
  return ProgramDescription{
      {exec::modelName(program.getSymName()).str(), target.required, parameters, program.getNumRanks()},
      describePorts<exec::InputOp>(program),
      describePorts<exec::OutputOp>(program)};
}

Status writeArtifact(const ProgramDescription &program, std::span<const std::string> objects,
                     const std::string &directory) {
  SLUICE_RETURN_IF_ERROR(linkSharedLibrary(objects, directory + "/" + kModelFile));
  SLUICE_RETURN_IF_ERROR(writeCHeader(directory, program.manifest.name, program.inputs, program.outputs));
  return writeManifest(directory, program.manifest);
}

Status compileProgram(ModuleOp module, const TargetSpec &target, const ParameterFileWriter::Summary &parameters,
                      const std::string &directory, const EmissionParams &params) {
  SLUICE_ASSIGN_OR_RETURN(ProgramDescription program, describeProgram(module, target, parameters));
  SLUICE_RETURN_IF_ERROR(lowerKernelsToLLVM(module));
  {
    const FirstError problem(module.getContext());
    if (failed(lowerExecToLLVM(*module.getOps<exec::ProgramOp>().begin(),
                               {compilerVersion(), target.required, parameters.hash})))
      return makeError(ErrorCode::Internal, "the program cannot be lowered: ", problem.message());
  }
  SLUICE_ASSIGN_OR_RETURN(std::vector<std::string> objects, emitObjects(module, target, params));
  return writeArtifact(program, objects, directory);
}

} // namespace sluice
