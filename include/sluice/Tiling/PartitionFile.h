//===- PartitionFile.h - Reading a saved tiling -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_PARTITIONFILE_H
#define SLUICE_TILING_PARTITIONFILE_H

#include "sluice/Support/Json.h"
#include "sluice/Tiling/Partition.h"

namespace sluice {

/// The partition's name in the directory of a compiled model of several ranks.
inline constexpr const char *kPartitionFileName = "partition.json";

/// A mesh, and the tiling of a program on it.
struct MeshTiling {
  Mesh mesh;
  Tiling tiling;
};

/// Reads the mesh and the tiling that partitionToJson wrote for the same program. Fails if
/// the program's tensors or operators have other names, or if an operator lacks one of its rules
/// in the file.
Expected<MeshTiling> partitionFromJson(const TensorProgram &program, const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_TILING_PARTITIONFILE_H
