//===- OffsetsShared.h - What the solvers share -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_MEMORY_OFFSETSSHARED_H
#define SLUICE_LIB_MEMORY_OFFSETSSHARED_H

#include "sluice/Memory/Offsets.h"

namespace sluice::memory {

/// Fails with Infeasible if there is a capacity and more bytes than the capacity are live.
Status withinBound(const OffsetProblem &problem, const LiveBytes &bound);
/// Fails with Infeasible if there is a capacity and the solution exceeds it.
Expected<OffsetSolution> withinCapacity(const OffsetProblem &problem, OffsetSolution solution);
/// Owl's blocks, for a checked problem; the capacity is not read.
Expected<OffsetSolution> packOwl(const OffsetProblem &problem);

} // namespace sluice::memory

#endif // SLUICE_LIB_MEMORY_OFFSETSSHARED_H
