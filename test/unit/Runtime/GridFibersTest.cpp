//===- GridFibersTest.cpp - Grids of threads on a CPU ---------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "GridFibers.h"

#include <catch2/catch.hpp>
#include <vector>

using namespace sluice::runtime;

namespace {

sluice_grid gridOf(uint32_t blocks, uint32_t threads, sluice_thread_fn thread, uint32_t sharedBytes = 0,
                   bool waits = false) {
  return {sizeof(sluice_grid), "test", blocks, threads, sharedBytes, 1, waits, thread, 0, nullptr};
}

/// Each thread's number goes through shared memory to the thread that mirrors it. Without the second barrier, threads
/// overwrite numbers that are not read yet.
template <bool hasSecondBarrier>
void mirror(const sluice_thread *self, void **args) {
  auto *shared = static_cast<int64_t *>(self->shared);
  auto *out = static_cast<int64_t *>(args[0]);
  for (int round = 0; round < 3; ++round) {
    shared[self->thread] = self->thread + round;
    self->barrier(self);
    out[self->block * 64 + self->thread] += shared[63 - self->thread];
    if (hasSecondBarrier)
      self->barrier(self);
  }
}

void sumWarp(const sluice_thread *self, void **args) {
  auto value = static_cast<uint64_t>(self->thread);
  for (uint32_t distance = 16; distance > 0; distance /= 2)
    value += self->exchange(self, value, distance);
  static_cast<uint64_t *>(args[0])[self->block * 96 + self->thread] = value;
}

void stick(const sluice_thread *self, void **) {
  if (self->thread != 5)
    self->barrier(self);
}

std::vector<int64_t> run(uint32_t threads, sluice_thread_fn thread) {
  ThreadPool pool(threads);
  std::vector<int64_t> out(50 * 64, 0);
  void *args[] = {out.data()};
  REQUIRE(runGrid(pool, gridOf(50, 64, thread, 64 * sizeof(int64_t), true), args) == 0);
  return out;
}

} // namespace

TEST_CASE("threads of a block meet at barriers", "[runtime]") {
  std::vector<int64_t> out = run(1, mirror<true>);
  for (int64_t i = 0; i < 50 * 64; ++i)
    REQUIRE(out[i] == 3 * (63 - i % 64) + 3);
  CHECK(run(3, mirror<true>) == out);
}

TEST_CASE("a barrier that is missing shows", "[runtime]") { CHECK(run(1, mirror<false>) != run(1, mirror<true>)); }

TEST_CASE("threads of a warp exchange values", "[runtime]") {
  ThreadPool pool(2);
  std::vector<uint64_t> out(7 * 96);
  void *args[] = {out.data()};
  REQUIRE(runGrid(pool, gridOf(7, 96, sumWarp, 0, true), args) == 0);
  for (uint64_t i = 0; i < out.size(); ++i)
    REQUIRE(out[i] == 496 + i % 96 / 32 * 1024);
}

TEST_CASE("grids that cannot run fail", "[runtime]") {
  ThreadPool pool(2);
  CHECK(runGrid(pool, gridOf(3, 64, stick, 0, true), nullptr) == kGridStuck);
  CHECK(runGrid(pool, gridOf(3, 64, nullptr), nullptr) == kGridWithoutCode);
  for (uint32_t threads : {0, 33, 2048})
    CHECK(runGrid(pool, gridOf(1, threads, stick), nullptr) == kGridWithoutCode);
  // The next one finds nothing of what was stuck.
  CHECK(run(2, mirror<true>) == run(1, mirror<true>));
}
