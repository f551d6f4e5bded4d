//===- Partitioning.h - A model split over devices --------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_COMPILER_PARTITIONING_H
#define SLUICE_COMPILER_PARTITIONING_H

#include "sluice/Compiler/Compilation.h"
#include "sluice/Tiling/Partition.h"

namespace sluice {

/// A partition's solver ("tile"), seed, threads and limits, as the compiler's options
/// have them; the clock starts here.
PartitionParams partitionParams(const CompilerOptions &options);

struct PlannedPartition {
  TensorProgram program;
  PartitionMachine machine;
  PartitionSolution solution;
  int64_t singleNs = 0; ///< The same program on one of the devices, memory not looked at.
};

/// Runs the phases up to Differentiate and splits the program over so many of the
/// machine's devices. The decisions become attributes, from which the program of each
/// device can be made; with options().dumpPhases, partition.mlir shows them.
Expected<PlannedPartition> planPartition(Compilation &compilation, int64_t devices, const PartitionParams &params);

} // namespace sluice

#endif // SLUICE_COMPILER_PARTITIONING_H
