//===- GridFibers.cpp - Grids of threads on a CPU -------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

// Jumps between stacks are what the checked longjmp forbids.
#undef _FORTIFY_SOURCE
#include "GridFibers.h"

#include <algorithm>
#include <csetjmp>
#include <cstring>
#include <memory>
#include <sys/mman.h>
#include <ucontext.h>
#include <vector>

namespace sluice::runtime {

namespace {

constexpr uint32_t kWarp = 32, kMostThreads = 1024;
constexpr size_t kStackBytes = 128 * 1024;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kJumps = false; // Sanitizers follow swapcontext alone.
#else
constexpr bool kJumps = true; // swapcontext makes two system calls.
#endif

/// Runs blocks, one at a time, on the thread that calls.
class BlockRunner {
public:
  BlockRunner() = default;
  ~BlockRunner() {
    if (stacks)
      munmap(stacks, kMostThreads * kStackBytes);
  }
  BlockRunner(const BlockRunner &) = delete;
  BlockRunner &operator=(const BlockRunner &) = delete;

  int32_t run(const sluice_grid &grid, int64_t block, void **args);

private:
  struct Copy {
    void *to;
    const void *from;
    uint32_t bytes, valid;
  };
  struct Fiber {
    sluice_thread self; ///< First: what a thread passes back leads here.
    BlockRunner *runner;
    ucontext_t context;
    std::jmp_buf jump;
    uint32_t number;
    bool started, ended;
    uint64_t barriers, exchanges, products; ///< Come to.
    std::vector<Copy> copies;               ///< Begun.
  };
  /// The threads that exchange values. Two sets: one is read while the next fills.
  struct Warp {
    uint64_t values[2][kWarp];
    uint64_t arrived;
    /// The fragments that threads multiply, likewise.
    struct {
      uint32_t a[kWarp][4], b[kWarp][2];
    } fragments[2];
    uint64_t brought;
  };

  static Fiber &fiberOf(const sluice_thread *self) {
    return *reinterpret_cast<Fiber *>(const_cast<sluice_thread *>(self));
  }
  static void atBarrier(const sluice_thread *self) {
    Fiber &fiber = fiberOf(self);
    BlockRunner &runner = *fiber.runner;
    ++fiber.barriers;
    ++runner.atBarriers;
    while (runner.atBarriers < fiber.barriers * runner.grid->threads)
      runner.yield(fiber);
  }
  static uint64_t exchange(const sluice_thread *self, uint64_t value, uint32_t distance) {
    Fiber &fiber = fiberOf(self);
    BlockRunner &runner = *fiber.runner;
    Warp &warp = runner.warps[fiber.number / kWarp];
    uint64_t *values = warp.values[fiber.exchanges++ % 2];
    values[fiber.number % kWarp] = value;
    ++warp.arrived;
    while (warp.arrived < fiber.exchanges * kWarp)
      runner.yield(fiber);
    return values[(fiber.number ^ distance) % kWarp];
  }
  static void multiply(const sluice_thread *self, uint32_t type, const uint32_t *a, const uint32_t *b, float *sums);
  static void copyLater(const sluice_thread *self, void *to, const void *from, uint32_t bytes, uint32_t valid) {
    fiberOf(self).copies.push_back({to, from, bytes, valid});
  }
  static void finishCopies(const sluice_thread *self) {
    for (const Copy &copy : fiberOf(self).copies) {
      std::memcpy(copy.to, copy.from, copy.valid);
      std::memset(static_cast<char *>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
    }
    fiberOf(self).copies.clear();
  }
  static void enter(uint32_t high, uint32_t low) {
    Fiber &fiber = *reinterpret_cast<Fiber *>(static_cast<uintptr_t>(high) << 32 | low);
    fiber.runner->grid->thread(&fiber.self, fiber.runner->args);
    fiber.ended = true;
    fiber.runner->yield(fiber);
  }

  void yield(Fiber &fiber) {
    if (!kJumps)
      swapcontext(&fiber.context, &scheduler);
    else if (_setjmp(fiber.jump) == 0)
      _longjmp(schedulerJump, 1);
  }
  void resume(Fiber &fiber) {
    if (kJumps && _setjmp(schedulerJump) != 0)
      return;
    if (kJumps && fiber.started)
      _longjmp(fiber.jump, 1);
    if (kJumps || !fiber.started) {
      fiber.started = true;
      kJumps ? setcontext(&fiber.context) : swapcontext(&scheduler, &fiber.context);
      return;
    }
    swapcontext(&scheduler, &fiber.context);
  }
  int32_t runFibers();

  const sluice_grid *grid = nullptr;
  void **args = nullptr;
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<uint64_t> shared;
  char *stacks = nullptr;
  uint64_t atBarriers = 0;
  ucontext_t scheduler;
  std::jmp_buf schedulerJump;
};

int32_t BlockRunner::run(const sluice_grid &next, int64_t block, void **nextArgs) {
  constexpr size_t kAlignment = 64;
  grid = &next;
  args = nextArgs;
  shared.resize(next.shared_bytes / sizeof(uint64_t) + 1 + kAlignment / sizeof(uint64_t));
  void *base = shared.data();
  size_t room = shared.size() * sizeof(uint64_t);
  std::memset(base, 0xff, room);
  std::align(kAlignment, next.shared_bytes, base, room);
  if (!next.waits) {
    sluice_thread self{};
    self.size = sizeof self, self.block = block, self.shared = base;
    for (self.thread = 0; self.thread < next.threads; ++self.thread)
      next.thread(&self, args);
    return 0;
  }
  if (!stacks) {
    void *mapped = mmap(nullptr, kMostThreads * kStackBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED)
      return kGridWithoutCode;
    stacks = static_cast<char *>(mapped);
  }
  fibers.resize(next.threads);
  warps.assign(next.threads / kWarp, Warp{});
  atBarriers = 0;
  for (uint32_t i = 0; i < next.threads; ++i) {
    Fiber &fiber = fibers[i];
    fiber.self = {sizeof fiber.self, i, block, base, atBarrier, exchange, multiply, copyLater, finishCopies};
    fiber.runner = this;
    fiber.number = i;
    fiber.started = fiber.ended = false;
    fiber.barriers = fiber.exchanges = fiber.products = 0;
    fiber.copies.clear();
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks + i * kStackBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    auto address = reinterpret_cast<uintptr_t>(&fiber);
    makecontext(&fiber.context, reinterpret_cast<void (*)()>(enter), 2, static_cast<uint32_t>(address >> 32),
                static_cast<uint32_t>(address));
  }
  return runFibers();
}

/// Element `i` (0 or 1) of a word.
float elementOf(uint32_t type, uint32_t word, uint32_t i) {
  constexpr uint32_t kTf32 = 0xffffe000; // What a multiplier sees.
  float value;
  uint32_t bits = type == SLUICE_MULTIPLY_TF32 ? word & kTf32 : (word >> 16 * i & 0xffff) << 16;
  if (type == SLUICE_MULTIPLY_F16) {
    // Exponents are 112 apart; what is infinite or no number stays so.
    uint32_t magnitude = bits >> 16 & 0x7fff, sign = bits & 0x80000000;
    bits = magnitude << 13;
    std::memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    std::memcpy(&bits, &value, sizeof bits);
    bits |= sign | (magnitude >= 0x7c00 ? 0x7f800000 : 0);
  }
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

void BlockRunner::multiply(const sluice_thread *self, uint32_t type, const uint32_t *a, const uint32_t *b,
                           float *sums) {
  // PTX ISA, "Matrix Fragments for mma.m16n8k8" and "m16n8k16": four threads have
  // a row of A, and of C; word w of A is in row half w % 2, words w / 2 * 4 on.
  Fiber &fiber = fiberOf(self);
  BlockRunner &runner = *fiber.runner;
  Warp &warp = runner.warps[fiber.number / kWarp];
  auto &fragments = warp.fragments[fiber.products++ % 2];
  uint32_t lane = fiber.number % kWarp;
  std::copy_n(a, 4, fragments.a[lane]);
  std::copy_n(b, 2, fragments.b[lane]);
  ++warp.brought;
  while (warp.brought < fiber.products * kWarp)
    runner.yield(fiber);
  uint32_t perWord = type == SLUICE_MULTIPLY_TF32 ? 1 : 2;
  for (uint32_t sum = 0; sum < 4; ++sum)
    for (uint32_t word = 0; word < 8; ++word)
      for (uint32_t i = 0; i < perWord; ++i) {
        uint32_t row = lane / 4 * 4 + word % 4, column = (lane % 4 * 2 + sum % 2) * 4 + word % 4;
        sums[sum] += elementOf(type, fragments.a[row][sum / 2 + word / 4 * 2], i) *
                     elementOf(type, fragments.b[column][word / 4], i);
      }
}

int32_t BlockRunner::runFibers() {
  auto count = static_cast<uint32_t>(fibers.size());
  for (uint32_t pass = 0, left = count; left > 0; ++pass) {
    auto progress = [&] {
      uint64_t sum = atBarriers + count - left;
      for (const Warp &warp : warps)
        sum += warp.arrived + warp.brought;
      return sum;
    };
    uint64_t before = progress();
    for (uint32_t turn = 0; turn < count; ++turn) {
      Fiber &fiber = fibers[pass % 2 == 0 ? turn : count - 1 - turn];
      if (fiber.ended)
        continue;
      resume(fiber);
      left -= fiber.ended;
    }
    if (progress() == before)
      return kGridStuck;
  }
  return 0;
}

struct GridRun {
  const sluice_grid &grid;
  void **args;
  std::atomic<int32_t> result{0};
};

} // namespace

int32_t runGrid(ThreadPool &pool, const sluice_grid &grid, void **args) {
  if (!grid.thread || grid.threads == 0 || grid.threads > kMostThreads || grid.threads % kWarp != 0)
    return kGridWithoutCode;
  // So many threads are worth handing over.
  constexpr int64_t kGrainThreads = 4096;
  GridRun run{grid, args};
  void *shared[] = {&run};
  pool.parallelFor(
      grid.blocks, std::max<int64_t>(1, kGrainThreads / grid.threads),
      [](void **shared, int64_t begin, int64_t end) {
        auto &run = *static_cast<GridRun *>(shared[0]);
        thread_local BlockRunner runner;
        for (int64_t block = begin; block < end; ++block)
          if (int32_t result = runner.run(run.grid, block, run.args))
            run.result.store(result, std::memory_order_relaxed);
      },
      shared);
  return run.result.load(std::memory_order_relaxed);
}

} // namespace sluice::runtime
