//===- Parallel.h - Loops over independent items ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_PARALLEL_H
#define SLUICE_OPTIMIZE_PARALLEL_H

#include <cstddef>
#include <functional>

namespace sluice {

/// The requested number of threads; 0 stands for one for each core.
int usableThreads(int asked);

/// Calls body(i) once for each i in [0, count), in any order, and returns when all calls are
/// done. It uses at most `threads` threads, including the calling one. If the system refuses
/// to create a thread, the other threads do its work.
void parallelFor(int threads, size_t count, const std::function<void(size_t)> &body);

} // namespace sluice

#endif // SLUICE_OPTIMIZE_PARALLEL_H
