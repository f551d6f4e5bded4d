//===- Partitioning.h - A model split over devices --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_PARTITIONING_H
#define SLUICE_COMPILER_PARTITIONING_H

#include "sluice/Compiler/Compilation.h"
#include "sluice/Tiling/Partition.h"

namespace sluice {

/// Derives the solver (of SolverStep::Tile), seed, threads and limits of a partition from the compiler's options. The
/// clock limit starts with this call.
PartitionParams partitionParams(const CompilerOptions &options);

struct PlannedPartition {
  TensorProgram program;
  PartitionMachine machine;
  PartitionSolution solution;
  int64_t singleNs = 0; ///< Time of the same program on one of the devices, even if it exceeds the device's memory.
};

/// Runs the phases up to Differentiate and splits the program over the given number of the
/// machine's devices. The decisions become attributes, from which the program of each device
/// can be made. With options().dumpPhases, the file partition.mlir shows them.
Expected<PlannedPartition> planPartition(Compilation &compilation, int64_t devices, const PartitionParams &params);

} // namespace sluice

#endif // SLUICE_COMPILER_PARTITIONING_H
