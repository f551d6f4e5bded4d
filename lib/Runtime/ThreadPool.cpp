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

/// How long a thread that waits spins before it blocks: first alone, then while it yields its core to others. To wake
/// a blocked worker takes its caller 11 to 14 us, and the worker 30 to 50 us. One that lingers for 400 us is there for
/// the next loops of a step, is woken at most once in that time, which costs the caller less than 4% of it, and keeps a
/// core that nobody else wants busy for no longer after the last loop.
constexpr int64_t kSpinNs = 20'000, kLingerNs = 400'000;

/// Chunks to run without the blocked workers before they are woken: 40 us of work or more (Work.h of the kernels'
/// emitter), for one that is woken for less finds nothing left to do.
constexpr uint32_t kChunksWorthWaking = 8;

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

/// A loop's chunks in shares of neighbours, none empty, as many as threads at most.
struct Division {
  uint32_t chunks, shares;

  Division(uint32_t chunks, uint32_t threads) : chunks(chunks), shares(std::min(chunks, threads)) {}
  uint32_t first(uint32_t share) const { return static_cast<uint32_t>(uint64_t(share) * chunks / shares); }
};

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

ThreadPool::ThreadPool(uint32_t threads)
    : numShares(std::max(threads, 1u)), shares(std::make_unique<Share[]>(numShares)) {
  workers.reserve(numShares - 1);
  try {
    for (uint32_t i = 1; i < numShares; ++i)
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
  ++loopNumber;
  const Division division{static_cast<uint32_t>(count), numShares};
  for (uint32_t share = 0; share < division.shares; ++share)
    shares[share].unclaimed.store(uint64_t(loopNumber) << 32 | (division.first(share + 1) - division.first(share)),
                                  std::memory_order_release);
  epoch.fetch_add(1);
  wakeWorkers(static_cast<uint32_t>(count));

  runChunks(0);
  awaitCounter(finished, static_cast<uint32_t>(count), kSpinNs, kLingerNs);
  busy.store(false, std::memory_order_release);
}

/// A loop that misses a wake-up is run by those who are awake: workers block only if the epoch is what they have seen.
void ThreadPool::wakeWorkers(uint32_t count) {
  const auto all = static_cast<uint32_t>(workers.size());
  const uint32_t awake = all - std::min(asleep.load(), all), useful = std::min(count - 1, all);
  if (useful <= awake) {
    missed = 0;
    return;
  }
  missed += std::min(count, kChunksWorthWaking);
  if (missed < kChunksWorthWaking)
    return;
  missed = 0;
  if (useful == all)
    epoch.notify_all();
  else
    for (uint32_t i = awake; i < useful; ++i)
      epoch.notify_one();
}

void ThreadPool::runChunks(uint32_t thread) {
  const uint32_t numNow = Division(chunks.load(std::memory_order_relaxed), numShares).shares;
  for (uint32_t i = 0; i < numNow; ++i)
    while (runOneOf((thread + i) % numNow))
      ;
}

bool ThreadPool::runOneOf(uint32_t share) {
  std::atomic<uint64_t> &unclaimed = shares[share].unclaimed;
  uint64_t seen = unclaimed.load(std::memory_order_acquire);
  for (;;) {
    auto left = static_cast<uint32_t>(seen);
    if (left == 0)
      return false;
    // A chunk of loop `seen` is unclaimed if the exchange below succeeds; its
    // caller then cannot have returned, nor the next one written these fields.
    const Division division{chunks.load(std::memory_order_relaxed), numShares};
    sluice_chunk_fn loopFn = fn.load(std::memory_order_relaxed);
    void **loopArgs = args.load(std::memory_order_relaxed);
    int64_t loopExtent = extent.load(std::memory_order_relaxed), loopGrain = grain.load(std::memory_order_relaxed);
    if (!unclaimed.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    runChunk(loopFn, loopArgs, loopExtent, loopGrain, int64_t(division.first(share + 1)) - left);
    if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == division.chunks)
      finished.notify_all();
    return true;
  }
}

void ThreadPool::work() {
  const uint32_t thread = ++numStarted;
  // More workers than there are cores would take them from threads that have something to do.
  const int64_t lingerNs = thread < usableCores() ? kLingerNs : 0;
  for (uint32_t seen = 0;; runChunks(thread)) {
    if (!spin([&] { return epoch.load(std::memory_order_acquire) != seen; }, kSpinNs, lingerNs)) {
      ++asleep;
      epoch.wait(seen);
      --asleep;
    }
    seen = epoch.load(std::memory_order_acquire);
    if (stopping.load(std::memory_order_relaxed))
      return;
  }
}

} // namespace sluice::runtime
