//===- CompileProgram.h - A program to an artifact --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_COMPILEPROGRAM_H
#define SLUICE_CODEGEN_COMPILEPROGRAM_H

#include "sluice/Codegen/Artifact.h"
#include "sluice/Codegen/ObjectEmission.h"

namespace sluice {

/// Describes the only exec.program of a module, before the program is lowered. Fails if the
/// module has several programs, or if the parameter file has another size than the program expects.
Expected<ManifestInfo> describeProgram(mlir::ModuleOp module, const TargetSpec &target,
                                       const ParameterFileWriter::Summary &parameters);

/// Writes model.so, manifest.json and model.h into an existing directory. The module has one
/// exec.program and its kernels (see lowerKernelsToLLVM), and is consumed. The parameter file
/// must already be written; `parameters` is the summary of its writer.
Status compileProgram(mlir::ModuleOp module, const TargetSpec &target, const ParameterFileWriter::Summary &parameters,
                      const std::string &directory, const EmissionParams &params = {});

} // namespace sluice

#endif // SLUICE_CODEGEN_COMPILEPROGRAM_H
