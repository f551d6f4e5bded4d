//===- DetectHost.cpp - Measuring this computer ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "sluice/Machine/ControlGroups.h"
#include "sluice/Machine/HostInfo.h"
#include "sluice/Machine/Machine.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <sched.h>
#include <thread>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sluice {

int hostCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1l, sysconf(_SC_NPROCESSORS_ONLN)));
}

int64_t hostMemoryBytes() {
  int64_t pages = sysconf(_SC_PHYS_PAGES);
  int64_t pageBytes = sysconf(_SC_PAGE_SIZE);
  const int64_t limit = controlGroupMemoryBytes();
  return pages <= 0 || pageBytes <= 0 ? limit : std::min(limit, pages * pageBytes);
}

static double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

//===----------------------------------------------------------------------===//
// Arithmetic: independent multiply-adds in the widest vectors there are
//===----------------------------------------------------------------------===//

namespace {
/// Runs `iterations` rounds and returns the floating-point operations done.
using FlopsKernel = double (*)(int64_t iterations, float *sink);
} // namespace

static constexpr int kChains = 10; ///< Enough to hide a latency of 4-5 at 2 a cycle.

static double scalarKernel(int64_t iterations, float *sink) {
  float sums[kChains] = {};
  for (int64_t i = 0; i < iterations; ++i)
    for (float &sum : sums)
      sum = sum * 0.5f + 1.0f;
  for (float sum : sums)
    *sink += sum;
  return 2.0 * kChains * static_cast<double>(iterations);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static double avx2Kernel(int64_t iterations, float *sink) {
  __m256 sums[kChains] = {};
  const __m256 half = _mm256_set1_ps(0.5f), one = _mm256_set1_ps(1.0f);
  for (int64_t i = 0; i < iterations; ++i)
    for (__m256 &sum : sums)
      sum = _mm256_fmadd_ps(sum, half, one);
  for (__m256 &sum : sums)
    *sink += sum[0];
  return 2.0 * 8 * kChains * static_cast<double>(iterations);
}

__attribute__((target("avx512f"))) static double avx512Kernel(int64_t iterations, float *sink) {
  __m512 sums[kChains] = {};
  const __m512 half = _mm512_set1_ps(0.5f), one = _mm512_set1_ps(1.0f);
  for (int64_t i = 0; i < iterations; ++i)
    for (__m512 &sum : sums)
      sum = _mm512_fmadd_ps(sum, half, one);
  for (__m512 &sum : sums)
    *sink += sum[0];
  return 2.0 * 16 * kChains * static_cast<double>(iterations);
}
#endif

static FlopsKernel widestKernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return avx512Kernel;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return avx2Kernel;
#endif
  return scalarKernel;
}

/// Best of a few short runs of one core: what remains is interference.
static double measureFlopsPerSec() {
  FlopsKernel kernel = widestKernel();
  constexpr int64_t kIterations = 400'000; // 1-2 ms
  float sink = 0;
  double best = 1e8;
  for (int run = 0; run < 6; ++run) {
    double start = seconds();
    double flops = kernel(kIterations, &sink);
    best = std::max(best, flops / std::max(seconds() - start, 1e-9));
  }
  // The sums must be seen to be used, or the loops above may vanish.
  return sink != sink ? 1e8 : best;
}

/// Best rate of copying between two buffers beyond any core's own caches.
static double measureCopyBytesPerSec() {
  constexpr size_t kBytes = size_t(32) << 20;
  constexpr double kFallback = 4e9;
  std::unique_ptr<char[]> from(new (std::nothrow) char[kBytes]), to(new (std::nothrow) char[kBytes]);
  if (!from || !to)
    return kFallback;
  std::memset(from.get(), 1, kBytes);
  std::memset(to.get(), 2, kBytes);
  double best = 0;
  for (int run = 0; run < 3; ++run) {
    double start = seconds();
    std::memcpy(to.get(), from.get(), kBytes);
    // Reading a byte back keeps the copy.
    if (to[static_cast<size_t>(run) * 4099] != 1)
      return kFallback;
    best = std::max(best, kBytes / std::max(seconds() - start, 1e-9));
  }
  return best;
}

/// How many products of bytes are summed where a fused multiply-add of f32 has one, by kind.
static std::map<std::string, double> byteProductEfficiency() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") || __builtin_cpu_supports("avxvnni"))
    return {{"integer_conv", 4}, {"integer_matmul", 4}};
#endif
  return {};
}

Machine detectHost() {
  Machine machine;
  machine.name = "host";
  machine.memories.push_back({"host", hostMemoryBytes()});
  Device cpu;
  cpu.name = "cpu";
  cpu.memory = Machine::hostMemory();
  cpu.threads = hostCores();
  cpu.flopsPerSec = measureFlopsPerSec() * cpu.threads;
  // A copy moves each byte twice. A few cores saturate a memory controller.
  cpu.memoryBytesPerSec = 2 * measureCopyBytesPerSec() * std::min(cpu.threads, 4);
  cpu.launchOverheadNs = 2'000;
  cpu.efficiency = byteProductEfficiency();
  machine.devices.push_back(std::move(cpu));
  return machine;
}

} // namespace sluice
