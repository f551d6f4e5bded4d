//===- StagedCompile.h - A training step as a pipeline ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_STAGEDCOMPILE_H
#define SLUICE_TOOLS_SLUICE_STAGEDCOMPILE_H

#include "sluice/Compiler/Compilation.h"
#include "sluice/Compiler/PipelineChoice.h"

#include <functional>
#include <string>

namespace sluice::driver {

/// Fails on options with which a pipeline cannot be compiled.
Status checkStagedOptions(const CompilerOptions &options);

/// Compiles the program of each rank of options.training->pipeline into a folder of its own below `directory`, one
/// after the other, and calls `done` after each. stages.json is written last, with the choice that led to the number of
/// stages. Fails like Compilation, and if options.package is not a directory to run. On failure, removes the directory
/// if this call created it.
Status compileStages(const std::string &modelPath, const CompilerOptions &options,
                     const std::optional<PipelineChoice> &choice, const std::string &directory,
                     const std::function<void(uint32_t rank, const Compilation &)> &done);

/// Removes stages.json, so that the directory no longer counts as a pipeline. Call it before a single model is compiled
/// into the directory.
void forgetPipeline(const std::string &directory);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_STAGEDCOMPILE_H
