//===- PartitionFile.h - A tiling that was decided, read back ---*- C++ -*-===//
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

/// The mesh and tiling that partitionToJson has written, for the same program. Fails
/// where the program's tensors, operators or rules have other names.
Expected<MeshTiling> partitionFromJson(const TensorProgram &program, const JsonReader &reader);

} // namespace sluice

#endif // SLUICE_TILING_PARTITIONFILE_H
