//===- Device.cpp - What runs a stream's commands -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Device.h"
#include "Collective.h"
#include "Cuda/CudaDevice.h"
#include "GridFibers.h"
#include "StringFunctions.h"
#include "ThreadPool.h"
#include "Wait.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <sys/prctl.h>
#include <time.h>

namespace sluice::runtime {

namespace {

void sleepUntil(int64_t timeNs) {
  // The default slack, 50 us, is longer than many kernels and copies.
  thread_local bool precise = false;
  if (!precise)
    precise = prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0) == 0;
  timespec at{static_cast<time_t>(timeNs / 1'000'000'000), static_cast<long>(timeNs % 1'000'000'000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR)
    ;
}

class HostDevice : public Device {
public:
  HostDevice(uint32_t threads, Ranks &ranks) : pool(threads), ranks(ranks) {
    env.size = sizeof env;
    env.pool = &pool;
    env.parallel_for = [](void *pool, int64_t extent, int64_t grain, sluice_chunk_fn fn, void **args) {
      static_cast<ThreadPool *>(pool)->parallelFor(extent, grain, fn, args);
    };
    env.strings = &text;
    env.string_function = [](void *strings, uint32_t function, void *const *args, const void *settings, int64_t bytes) {
      return runStringFunction(*static_cast<TextStore *>(strings), function, args,
                               {static_cast<const char *>(settings), static_cast<size_t>(bytes)});
    };
    env.grids = &pool;
    env.launch_grid = [](void *pool, const sluice_grid *grid, void **args) {
      return runGrid(*static_cast<ThreadPool *>(pool), *grid, args);
    };
    env.launch_blocks = [](void *pool, const sluice_grid *grid, int64_t blocks, void **args) {
      return runGrid(*static_cast<ThreadPool *>(pool), withBlocks(*grid, blocks), args);
    };
    env.library = [](void *, uint32_t, void *const *, const void *, int64_t) -> int32_t {
      return SLUICE_LIBRARY_ABSENT;
    };
    static const volatile unsigned char goesOn = 0;
    env.stop = &goesOn;
    env.ranks = &ranks;
    env.collective = [](void *ranks, uint32_t kind, void *const *args, const void *settings, int64_t bytes) {
      return static_cast<Ranks *>(ranks)->run(kind, args, settings, bytes);
    };
  }
  Result<std::unique_ptr<Arena>> allocate(int64_t bytes, const char *memoryName) override {
    return allocateHostArena(bytes, memoryName);
  }
  int32_t launch(sluice_kernel_fn kernel, void **args) override { return kernel(&env, args); }
  int32_t copy(void *destination, const void *source, int64_t bytes) override {
    // Within one memory the two may overlap.
    if (bytes > 0)
      std::memmove(destination, source, static_cast<size_t>(bytes));
    return 0;
  }

  std::string failureText() const override {
    std::string why = text.problem();
    return why.empty() ? ranks.error() : why;
  }
  void beginStep(bool) override { text.clear(); }
  void stopBy(const volatile unsigned char *stop) override { env.stop = stop; }
  void useSymbols(const int64_t *symbols) override { env.symbols = symbols; }

private:
  ThreadPool pool;
  Ranks &ranks;
  TextStore text;
  sluice_kernel_env env{};
};

/// Host cores and host memory that stand for an accelerator's.
class EmulatedDevice final : public HostDevice {
public:
  EmulatedDevice(uint32_t threads, double speed, Ranks &ranks)
      : HostDevice(threads, ranks), fullSpeed(speed), alone(threads == 1) {}
  int32_t launch(sluice_kernel_fn kernel, void **args) override {
    const double speed = fullSpeed / slowdown.load(std::memory_order_relaxed);
    if (speed >= 1)
      return HostDevice::launch(kernel, args);
    const int64_t start = nowNs(), before = workNs();
    int32_t result = HostDevice::launch(kernel, args);
    const double tookNs = static_cast<double>(workNs() - before);
    sleepUntil(start + static_cast<int64_t>(std::min(tookNs / speed, 1e18)));
    return result;
  }

  bool slow(double factor) override {
    slowdown.store(factor, std::memory_order_relaxed);
    return true;
  }

private:
  /// One thread's own time: while it waits for a core, an accelerator would work on.
  int64_t workNs() const {
    timespec now{};
    if (!alone || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
      return nowNs();
    return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
  }

  double fullSpeed;
  std::atomic<double> slowdown{1};
  bool alone;
};

} // namespace

Result<std::unique_ptr<Device>> createDevice(const sluice_device_desc &desc, uint32_t threads, int ordinal, int first,
                                             Ranks &ranks) {
  uint32_t cores = usableCores();
  switch (desc.kind) {
  case SLUICE_DEVICE_CPU:
    return std::make_unique<HostDevice>(threads ? threads : cores, ranks);
  case SLUICE_DEVICE_EMULATED:
    if (threads == 0)
      threads = desc.threads ? std::min(desc.threads, cores) : cores;
    return std::make_unique<EmulatedDevice>(threads, desc.speed, ranks);
  case SLUICE_DEVICE_CUDA:
    return createCudaDevice(desc, ordinal, first, ranks);
  default:
    return failure("device '", desc.name, "' is of kind ", desc.kind,
                   ", which this runtime does not support, install the runtime of the release that compiled the model");
  }
}

double Link::currentBytesPerSec(int direction) {
  std::lock_guard<std::mutex> lock(mutex);
  double rate = desc.bytes_per_sec;
  if (active[1 - direction] > 0)
    rate = std::min(rate, desc.duplex_bytes_per_sec / 2);
  return rate / active[direction];
}

int32_t Link::copy(Device &device, uint32_t sourceMemory, void *destination, const void *source, int64_t bytes) {
  if (!desc.throttle)
    return device.copy(destination, source, bytes);
  return pace(sourceMemory, bytes, [&](int64_t done, int64_t piece) {
    return device.copy(static_cast<char *>(destination) + done, static_cast<const char *>(source) + done, piece);
  });
}

int32_t Link::pace(uint32_t sourceMemory, int64_t bytes, const std::function<int32_t(int64_t, int64_t)> &move) {
  int direction = sourceMemory == desc.memory_a ? 0 : 1;
  int64_t due = nowNs() + desc.latency_ns;
  sleepUntil(due);
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++active[direction];
  }
  // In pieces of about half a millisecond, each at the rate of its moment. The
  // deadlines add up, so a late wake-up is not paid for twice.
  int32_t result = 0;
  for (int64_t done = 0; done < bytes && result == 0;) {
    double rate = currentBytesPerSec(direction);
    const auto wanted = static_cast<int64_t>(std::clamp(rate * 5e-4, 4096.0, 1e9)) / 4096 * 4096;
    int64_t piece = std::min(bytes - done, wanted);
    result = move(done, piece);
    done += piece;
    due += static_cast<int64_t>(static_cast<double>(piece) / rate * 1e9);
    sleepUntil(due);
  }
  std::lock_guard<std::mutex> lock(mutex);
  --active[direction];
  return result;
}

} // namespace sluice::runtime
