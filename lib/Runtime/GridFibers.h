//===- GridFibers.h - Grids of threads on a CPU -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_GRIDFIBERS_H
#define SLUICE_RUNTIME_GRIDFIBERS_H

#include "ThreadPool.h"

namespace sluice::runtime {

/// Failures of runGrid. kGridWithoutCode: this CPU cannot run the grid. kGridStuck: threads wait for others that have
/// ended or that wait elsewhere.
enum GridFailure : int32_t { kGridWithoutCode = 101, kGridStuck = 102 };

/// Runs the host code of a grid. The pool's threads share the blocks. The threads of a block take turns as fibers, from
/// barrier to barrier, alternately in ascending and descending order, so that a missing barrier changes the result. The
/// shared memory of a block starts as NaN. Returns 0 or a GridFailure.
int32_t runGrid(ThreadPool &pool, const sluice_grid &grid, void **args);

/// The grid with another number of blocks.
inline sluice_grid withBlocks(sluice_grid grid, int64_t blocks) {
  grid.blocks = static_cast<uint32_t>(blocks);
  return grid;
}

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_GRIDFIBERS_H
