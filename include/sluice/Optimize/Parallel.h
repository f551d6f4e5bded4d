//===- Parallel.h - Loops over independent items ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_OPTIMIZE_PARALLEL_H
#define SLUICE_OPTIMIZE_PARALLEL_H

#include <cstddef>
#include <functional>

namespace sluice {

/// The number asked for; 0: one a core.
int usableThreads(int asked);

/// Calls body(i) once for each i in [0, count), on at most `threads` threads
/// (this one included), in any order; returns when all are done. Where the
/// system gives no thread, the others do the work.
void parallelFor(int threads, size_t count, const std::function<void(size_t)> &body);

} // namespace sluice

#endif // SLUICE_OPTIMIZE_PARALLEL_H
