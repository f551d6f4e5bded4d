//===- CompileProgram.h - A program to an artifact --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_CODEGEN_COMPILEPROGRAM_H
#define SLUICE_CODEGEN_COMPILEPROGRAM_H

#include "sluice/Codegen/Artifact.h"
#include "sluice/Codegen/ObjectEmission.h"

namespace sluice {

/// Of a module's one exec.program, before it is lowered. Fails where the program
/// reads other parameters than the file has.
Expected<ManifestInfo> describeProgram(mlir::ModuleOp module, const TargetSpec &target,
                                       const ParameterFileWriter::Summary &parameters);

/// Writes model.so, manifest.json and model.h into an existing directory, from a
/// module of one exec.program and its kernels (see lowerKernelsToLLVM), which is
/// consumed. The parameter file is written already; `parameters` is what its
/// writer said.
Status compileProgram(mlir::ModuleOp module, const TargetSpec &target, const ParameterFileWriter::Summary &parameters,
                      const std::string &directory, const EmissionParams &params = {});

} // namespace sluice

#endif // SLUICE_CODEGEN_COMPILEPROGRAM_H
