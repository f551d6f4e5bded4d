//===- SpartanPrograms.h - Spartan's random programs ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICEBENCH_SPARTANPROGRAMS_H
#define SLUICE_TOOLS_SLUICEBENCH_SPARTANPROGRAMS_H

#include "sluice/Support/Rng.h"
#include "sluice/Tiling/Partition.h"

namespace sluice::bench {

/// Extents are multiples of it.
constexpr int64_t kSpartanExtent = 131072;

/// A program as Huang's thesis draws them (section 3.2): `operators` of Spartan's kinds
/// (map, fold, scan, dot, transpose), each on what there is or on a new array, of
/// extents from 128K to 512K.
TensorProgram randomSpartanProgram(int operators, Rng &rng);

/// Figure 3.3, on arrays of size x size: d should be tiled unlike all others.
TensorProgram spartanFailure(int64_t size);

/// The fewest bytes sent by operators that each convert what they read and make, tensors
/// split over one axis that divides kSpartanExtent and nothing held whole, by trying all tilings and giving up those
/// that send `limit` or more already: `limit` where none sends less.
int64_t fewestBytes(const TensorProgram &program, const Mesh &mesh, int64_t limit);

} // namespace sluice::bench

#endif // SLUICE_TOOLS_SLUICEBENCH_SPARTANPROGRAMS_H
