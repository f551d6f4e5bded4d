//===- ThreadPool.h - Parallel loops for kernels ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One loop runs at a time. Each thread, the caller as well, has a share of the
// loop's chunks, neighbours of each other, and claims them one by one; a thread
// whose share is empty claims from the others'. Loops over the same rows so give
// each thread the same part of them, which its cache still holds. The caller
// returns when the chunks are finished: a worker that the operating system has
// not woken, or has taken its core from, is waited for only while it runs a
// chunk. Where a loop cannot have the workers (it is nested, or another stream's
// loop has them) its caller runs every chunk: the chunks, and so the results, are
// the same.
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

/// Cores this process may run on; at least 1.
uint32_t usableCores();

/// Starts a thread that takes no signals: those are the application's.
/// Throws std::system_error where the system has no more threads.
std::thread startThread(void (*body)(void *), void *argument, const char *name);

class ThreadPool {
public:
  /// `threads` counts the caller of parallelFor. Fewer are had where the system
  /// gives no more.
  explicit ThreadPool(uint32_t threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  uint32_t threads() const { return static_cast<uint32_t>(workers.size()) + 1; }

  /// Runs fn(args, begin, end) over [0, extent) in chunks of `grain`, the last
  /// perhaps shorter; a grain below 1 means one chunk. Any thread may call it.
  void parallelFor(int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args);

private:
  /// The chunks of one thread: loop number << 32 | those not yet claimed. The number makes a claim with an earlier
  /// loop's fields fail.
  struct alignas(64) Share {
    std::atomic<uint64_t> unclaimed{0};
  };

  void work();
  /// Wakes blocked workers for a loop of so many chunks where that pays.
  void wakeWorkers(uint32_t count);
  /// Runs chunks of the current loop until none is unclaimed: those of this thread's share first.
  void runChunks(uint32_t thread);
  bool runOneOf(uint32_t share);

  // The loop: written while no chunk is claimable, read before a claim that
  // fails if they could have changed since.
  std::atomic<sluice_chunk_fn> fn{nullptr};
  std::atomic<void **> args{nullptr};
  std::atomic<int64_t> extent{0}, grain{0};
  std::atomic<uint32_t> chunks{0};

  // The next two belong to the thread that has set `busy`.
  uint32_t loopNumber = 0;
  uint32_t missed = 0; ///< Chunks run since workers blocked, without these.

  uint32_t numShares; ///< One a thread, whether or not the system gave it.
  std::unique_ptr<Share[]> shares;
  alignas(64) std::atomic<uint32_t> finished{0};
  /// Counts loops; idle workers wait for it to change.
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<uint32_t> asleep{0};     ///< Workers that block, or are about to.
  std::atomic<uint32_t> numStarted{0}; ///< Workers that have a number, from 1 on.
  std::atomic<bool> busy{false};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_THREADPOOL_H
