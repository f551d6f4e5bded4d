//===- Wait.h - Spin briefly, then block ------------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_RUNTIME_WAIT_H
#define SLUICE_RUNTIME_WAIT_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <sched.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice::runtime {

inline int64_t nowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

inline void relax() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins until `done()` is true. Returns false if that takes longer than about `spinNs` and then `lingerNs` more,
/// during which other threads that want the core get it.
template <typename Predicate>
bool spin(const Predicate &done, int64_t spinNs, int64_t lingerNs = 0) {
  if (done())
    return true;
  const int64_t start = nowNs();
  for (int64_t now = start; now < start + spinNs + lingerNs; now = nowNs()) {
    for (int i = 0; i < 16; ++i) {
      if (done())
        return true;
      relax();
    }
    if (now >= start + spinNs)
      sched_yield();
  }
  return done();
}

/// Whether `counter`, which only grows and may wrap, has reached `target`.
inline bool reached(uint32_t counter, uint32_t target) { return static_cast<int32_t>(counter - target) >= 0; }

/// Returns once `counter` has reached `target`. The thread that advances the counter must notify it. Spins first,
/// because blocking costs both threads a system call.
inline void awaitCounter(const std::atomic<uint32_t> &counter, uint32_t target, int64_t spinNs, int64_t lingerNs = 0) {
  if (spin([&] { return reached(counter.load(std::memory_order_acquire), target); }, spinNs, lingerNs))
    return;
  for (uint32_t seen; !reached(seen = counter.load(std::memory_order_acquire), target);)
    counter.wait(seen, std::memory_order_acquire);
}

} // namespace sluice::runtime

#endif // SLUICE_RUNTIME_WAIT_H
