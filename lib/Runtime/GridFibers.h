//===- GridFibers.h - Grids of threads on a CPU -----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_GRIDFIBERS_H
#define SLUICE_RUNTIME_GRIDFIBERS_H

#include "ThreadPool.h"

namespace sluice::runtime {

/// What runGrid returns where no CPU can run the grid, and where its threads
/// wait for some that have ended or that wait elsewhere.
enum GridFailure : int32_t { kGridWithoutCode = 101, kGridStuck = 102 };

/// Runs a grid's host code: blocks are spread over the pool; the threads of one
/// take turns as fibers, from barrier to barrier, alternately in ascending and
/// descending order, so that a barrier that is missing changes the result.
/// A block's shared memory starts as NaN. Returns 0 or a GridFailure.
int32_t runGrid(ThreadPool &pool, const sluice_grid &grid, void **args);

/// A grid of so many blocks.
inline sluice_grid withBlocks(sluice_grid grid, int64_t blocks) {
  grid.blocks = static_cast<uint32_t>(blocks);
  return grid;
}

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_GRIDFIBERS_H
