//===- SplitProgram.h - A program's tiling, decided -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_SPLITPROGRAM_H
#define SLUICE_COMPILER_SPLITPROGRAM_H

#include "passes/Bridge/ProgramBridge.h"
#include "sluice/Compiler/TrainingOptions.h"
#include "sluice/Tiling/Partition.h"

namespace sluice {

struct SplitProgram {
  TensorProgram program;
  PartitionMachine machine;
  PartitionSolution solution;
};

/// Decides how a function's program is split over `devices` of the machine's devices. Does not change the function.
Expected<SplitProgram> splitProgram(mlir::func::FuncOp function, std::string_view name, const Machine &machine,
                                    int64_t devices, const PartitionParams &params);

/// Decides how the program of a pipeline's rank is split over the ranks of its group. Memory does not limit the tiling.
Expected<SplitProgram> splitStage(mlir::func::FuncOp function, std::string_view name, const Machine &machine,
                                  const PipelineOptions &pipeline, PartitionParams params);

} // namespace sluice

#endif // SLUICE_COMPILER_SPLITPROGRAM_H
