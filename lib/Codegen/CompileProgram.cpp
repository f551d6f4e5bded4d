//===- CompileProgram.cpp - A program to an artifact ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Codegen/CompileProgram.h"

#include "dialects/Dataflow/TensorView.h"
#include "passes/ExecToLLVM/Passes.h"
#include "sluice/Codegen/KernelLowering.h"

#include "mlir/IR/Diagnostics.h"
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
  return ProgramDescription{{program.getSymName().str(), target.required, parameters, program.getNumRanks()},
                            describePorts<exec::InputOp>(program),
                            describePorts<exec::OutputOp>(program)};
}

Status writeArtifact(const ProgramDescription &program, std::span<const std::string> objects,
                     const std::string &directory) {
  if (Status linked = linkSharedLibrary(objects, directory + "/" + kModelFile); !linked)
    return linked;
  if (Status written = writeCHeader(directory, program.manifest.name, program.inputs, program.outputs); !written)
    return written;
  return writeManifest(directory, program.manifest);
}

Status compileProgram(ModuleOp module, const TargetSpec &target, const ParameterFileWriter::Summary &parameters,
                      const std::string &directory, const EmissionParams &params) {
  Expected<ProgramDescription> program = describeProgram(module, target, parameters);
  if (!program)
    return propagate(program);
  if (Status lowered = lowerKernelsToLLVM(module); !lowered)
    return lowered;
  std::string problem;
  {
    ScopedDiagnosticHandler capture(module.getContext(), [&](Diagnostic &diagnostic) {
      if (problem.empty())
        problem = diagnostic.str();
      return success();
    });
    if (failed(lowerExecToLLVM(*module.getOps<exec::ProgramOp>().begin(),
                               {compilerVersion(), target.required, parameters.hash})))
      return makeError(ErrorCode::Internal, "the program cannot be lowered: ", problem);
  }
  Expected<std::vector<std::string>> objects = emitObjects(module, target, params);
  if (!objects)
    return propagate(objects);
  return writeArtifact(*program, *objects, directory);
}

} // namespace sluice
