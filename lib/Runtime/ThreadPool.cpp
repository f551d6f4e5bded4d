//===- ThreadPool.cpp - Parallel loops for kernels ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ThreadPool.h"
#include "Wait.h"

#include <algorithm>
#include <limits>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <system_error>

namespace sluice::runtime {

namespace {

/// How long an idle worker looks for the next loop before it blocks: longer
/// than a small kernel, far shorter than a scheduler's slice.
constexpr int64_t kIdleSpinNs = 20'000;
constexpr int64_t kJoinSpinNs = 20'000;

/// Set while this thread runs a chunk: a loop inside it runs serially.
thread_local bool insideChunk = false;

void runChunk(sluice_chunk_fn fn, void **args, int64_t extent, int64_t grain, int64_t index) {
  int64_t begin = index * grain;
  int64_t end = extent - begin < grain ? extent : begin + grain;
  bool outer = insideChunk;
  insideChunk = true;
  fn(args, begin, end);
  insideChunk = outer;
}

} // namespace

uint32_t usableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::thread startThread(void (*body)(void *), void *argument, const char *name) {
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  struct Restore {
    sigset_t &old;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &old, nullptr); }
  } restore{old};
  std::thread thread(body, argument);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

ThreadPool::ThreadPool(uint32_t threads) {
  workers.reserve(threads);
  try {
    for (uint32_t i = 1; i < threads; ++i)
      workers.push_back(startThread([](void *pool) { static_cast<ThreadPool *>(pool)->work(); }, this, "sluice-pool"));
  } catch (const std::system_error &) {
    // Fewer workers: slower, and still right.
  }
}

ThreadPool::~ThreadPool() {
  stopping.store(true, std::memory_order_relaxed);
  epoch.fetch_add(1, std::memory_order_release);
  epoch.notify_all();
  for (std::thread &worker : workers)
    worker.join();
}

void ThreadPool::parallelFor(int64_t loopExtent, int64_t loopGrain, sluice_chunk_fn loopFn, void **loopArgs) {
  if (loopExtent <= 0)
    return;
  if (loopGrain < 1)
    loopGrain = loopExtent;
  int64_t count = loopExtent / loopGrain + (loopExtent % loopGrain != 0);
  bool serial = count == 1 || workers.empty() || insideChunk || count > std::numeric_limits<uint32_t>::max() ||
                busy.exchange(true, std::memory_order_acquire);
  if (serial) {
    for (int64_t i = 0; i < count; ++i)
      runChunk(loopFn, loopArgs, loopExtent, loopGrain, i);
    return;
  }

  fn.store(loopFn, std::memory_order_relaxed);
  args.store(loopArgs, std::memory_order_relaxed);
  extent.store(loopExtent, std::memory_order_relaxed);
  grain.store(loopGrain, std::memory_order_relaxed);
  chunks.store(static_cast<uint32_t>(count), std::memory_order_relaxed);
  finished.store(0, std::memory_order_relaxed);
  uint64_t number = (unclaimed.load(std::memory_order_relaxed) >> 32) + 1;
  unclaimed.store(number << 32 | static_cast<uint64_t>(count), std::memory_order_release);
  epoch.fetch_add(1, std::memory_order_release);
  if (static_cast<size_t>(count) > workers.size())
    epoch.notify_all();
  else
    for (int64_t i = 1; i < count; ++i)
      epoch.notify_one();

  while (runOneChunk())
    ;
  awaitCounter(finished, static_cast<uint32_t>(count), kJoinSpinNs);
  busy.store(false, std::memory_order_release);
}

bool ThreadPool::runOneChunk() {
  uint64_t seen = unclaimed.load(std::memory_order_acquire);
  for (;;) {
    auto left = static_cast<uint32_t>(seen);
    if (left == 0)
      return false;
    // A chunk of loop `seen` is unclaimed if the exchange below succeeds; its
    // caller then cannot have returned, nor the next one written these fields.
    uint32_t count = chunks.load(std::memory_order_relaxed);
    sluice_chunk_fn loopFn = fn.load(std::memory_order_relaxed);
    void **loopArgs = args.load(std::memory_order_relaxed);
    int64_t loopExtent = extent.load(std::memory_order_relaxed), loopGrain = grain.load(std::memory_order_relaxed);
    if (!unclaimed.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    runChunk(loopFn, loopArgs, loopExtent, loopGrain, int64_t(count) - left);
    if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == count)
      finished.notify_all();
    return true;
  }
}

void ThreadPool::work() {
  uint32_t seen = 0;
  for (;;) {
    awaitCounter(epoch, seen + 1, kIdleSpinNs);
    seen = epoch.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
    while (runOneChunk())
      ;
  }
}

} // namespace sluice::runtime
