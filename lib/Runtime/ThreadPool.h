//===- ThreadPool.h - Parallel loops for kernels ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One loop runs at a time. Each thread, the caller included, has a share of neighbouring chunks of the loop and claims
// them one by one. A thread whose share is empty claims chunks of other shares. So loops over the same rows give each
// thread the same rows, which its cache still holds. The caller returns when all chunks are finished. It waits for a
// worker only while that worker runs a chunk, and not until the operating system wakes it. If a loop cannot have the
// workers, because it is nested or another stream's loop has them, its caller runs all chunks. The chunks, and so the
// results, are the same.
//
// Waking a blocked worker takes longer than most loops, so workers spin between
// the loops of a step. docs/rationale/threads.md has the measurements.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_THREADPOOL_H
#define SLUICE_RUNTIME_THREADPOOL_H

#include "sluice/Runtime/abi.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace sluice::runtime {

/// The number of cores that this process may run on, at least 1.
uint32_t usableCores();

/// Starts a thread that blocks all signals, which the application handles. Throws std::system_error if the system has
/// no more threads.
std::thread startThread(void (*body)(void *), void *argument, const char *name);

class ThreadPool {
public:
  /// `threads` includes the caller of parallelFor. The pool has fewer if the system gives no more.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  uint32_t threads() const { return static_cast<uint32_t>(workers.size()) + 1; }

  /// Runs fn(args, begin, end) over [0, extent) in chunks of `grain` indices, of which the last may be shorter. A grain
  /// below 1 means one chunk. Any thread may call it.
  void parallelFor(int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args);

private:
  /// The chunks of one thread: (loop number << 32) | unclaimed chunks. The loop number makes a claim fail that read the
  /// fields of an earlier loop.
  struct alignas(64) Share {
    std::atomic<uint64_t> unclaimed{0};
  };

  void work();
  /// Wakes blocked workers for a loop of `count` chunks once enough chunks have run without them.
  void wakeWorkers(uint32_t count);
  /// Runs chunks of the current loop until all are claimed, first those of this thread's share.
  void runChunks(uint32_t thread);
  bool runOneOf(uint32_t share);

  // The fields of the loop. They are written while no chunk can be claimed, and read before a claim, which fails if
  // they could have changed since.
  std::atomic<sluice_chunk_fn> fn{nullptr};
  std::atomic<void **> args{nullptr};
  std::atomic<int64_t> extent{0}, grain{0};
  std::atomic<uint32_t> chunks{0};

  // The next two fields belong to the thread that has set `busy`.
  uint32_t loopNumber = 0;
  uint32_t missed = 0; ///< Chunks that ran without the blocked workers since workers were last woken.

  uint32_t numShares; ///< One per requested thread, even if the system gave fewer.
  std::unique_ptr<Share[]> shares;
  alignas(64) std::atomic<uint32_t> finished{0};
  /// Counts loops. Idle workers wait for a change.
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> asleep{0};     ///< Workers that are blocked or about to block.
  std::atomic<uint32_t> numStarted{0}; ///< Workers that have taken a number; numbers start at 1.
  std::atomic<bool> busy{false};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_THREADPOOL_H
