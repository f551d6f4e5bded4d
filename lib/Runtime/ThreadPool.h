//===- ThreadPool.h - Parallel loops for kernels ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One loop runs at a time. Its chunks are claimed one by one, by the caller as
// well, and the caller returns when the chunks are finished: a worker that the
// operating system has not woken is never waited for. Where a loop cannot have
// the workers (it is nested, or another stream's loop has them) its caller runs
// every chunk: the chunks, and so the results, are the same.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_THREADPOOL_H
#define SLUICE_RUNTIME_THREADPOOL_H

#include "sluice/Runtime/abi.h"

#include <atomic>
#include <cstdint>
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
  void work();
  bool runOneChunk();

  // The loop: written while no chunk is claimable, read before a claim that
  // fails if they could have changed since.
  std::atomic<sluice_chunk_fn> fn{nullptr};
  std::atomic<void **> args{nullptr};
  std::atomic<int64_t> extent{0}, grain{0};
  std::atomic<uint32_t> chunks{0};

  /// Loop number << 32 | chunks not yet claimed. The number makes a claim with
  /// an earlier loop's fields fail.
  alignas(64) std::atomic<uint64_t> unclaimed{0};
  alignas(64) std::atomic<uint32_t> finished{0};
  /// Counts loops; idle workers wait for it to change.
  alignas(64) std::atomic<uint32_t> epoch{0};
  std::atomic<bool> busy{false};
  std::atomic<bool> stopping{false};
  std::vector<std::thread> workers;
};

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_THREADPOOL_H
