//===- ThreadPoolTest.cpp - Parallel loops --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

using namespace sluice::runtime;

namespace {

struct Seen {
  std::mutex mutex;
  std::vector<std::pair<int64_t, int64_t>> chunks;
};

void noteChunk(void **args, int64_t begin, int64_t end) {
  auto *seen = static_cast<Seen *>(args[0]);
  std::lock_guard<std::mutex> lock(seen->mutex);
  seen->chunks.emplace_back(begin, end);
}

std::vector<std::pair<int64_t, int64_t>> chunksOf(ThreadPool &pool, int64_t extent, int64_t grain) {
  Seen seen;
  void *args[] = {&seen};
  pool.parallelFor(extent, grain, noteChunk, args);
  std::sort(seen.chunks.begin(), seen.chunks.end());
  return seen.chunks;
}

void addOne(void **args, int64_t begin, int64_t end) {
  auto *values = static_cast<int32_t *>(args[0]);
  for (int64_t i = begin; i < end; ++i)
    ++values[i];
}

} // namespace

TEST_CASE("a loop's chunks depend on extent and grain alone", "[runtime]") {
  for (uint32_t threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    CHECK(pool.threads() == threads);
    using Chunks = std::vector<std::pair<int64_t, int64_t>>;
    CHECK(chunksOf(pool, 10, 4) == Chunks{{0, 4}, {4, 8}, {8, 10}});
    CHECK(chunksOf(pool, 8, 4) == Chunks{{0, 4}, {4, 8}});
    CHECK(chunksOf(pool, 3, 100) == Chunks{{0, 3}});
    CHECK(chunksOf(pool, 3, 0) == Chunks{{0, 3}});
    CHECK(chunksOf(pool, 0, 4).empty());
    CHECK(chunksOf(pool, -5, 4).empty());
    CHECK(chunksOf(pool, INT64_MAX, INT64_MAX - 1) == Chunks{{0, INT64_MAX - 1}, {INT64_MAX - 1, INT64_MAX}});
  }
}

TEST_CASE("every index is visited once, loop after loop", "[runtime]") {
  ThreadPool pool(4);
  std::vector<int32_t> values(1000, 0);
  void *args[] = {values.data()};
  int rounds = 3000;
  for (int round = 0; round < rounds; ++round)
    pool.parallelFor(1000, 1 + round % 97, addOne, args);
  CHECK(std::all_of(values.begin(), values.end(), [&](int32_t value) { return value == rounds; }));
}

TEST_CASE("a loop inside a chunk runs in that thread", "[runtime]") {
  static ThreadPool *inner;
  static std::atomic<int> elsewhere;
  ThreadPool pool(3);
  inner = &pool, elsewhere = 0;
  std::vector<int32_t> values(64 * 64, 0);
  void *args[] = {values.data()};
  pool.parallelFor(
      64, 1,
      [](void **args, int64_t begin, int64_t) {
        struct Row {
          int32_t *values;
          std::thread::id thread;
        } row{static_cast<int32_t *>(args[0]) + begin * 64, std::this_thread::get_id()};
        void *rowArgs[] = {&row};
        inner->parallelFor(
            64, 4,
            [](void **args, int64_t begin, int64_t end) {
              auto *row = static_cast<Row *>(args[0]);
              elsewhere += row->thread != std::this_thread::get_id();
              for (int64_t i = begin; i < end; ++i)
                ++row->values[i];
            },
            rowArgs);
      },
      args);
  CHECK(elsewhere == 0);
  CHECK(std::all_of(values.begin(), values.end(), [](int32_t value) { return value == 1; }));
}

TEST_CASE("two threads may loop on one pool at once", "[runtime]") {
  ThreadPool pool(3);
  std::vector<int32_t> a(500, 0), b(500, 0);
  auto loop = [&pool](std::vector<int32_t> &values) {
    void *args[] = {values.data()};
    for (int round = 0; round < 2000; ++round)
      pool.parallelFor(500, 25, addOne, args);
  };
  std::thread other([&] { loop(b); });
  loop(a);
  other.join();
  CHECK(std::all_of(a.begin(), a.end(), [](int32_t value) { return value == 2000; }));
  CHECK(std::all_of(b.begin(), b.end(), [](int32_t value) { return value == 2000; }));
}

TEST_CASE("a thread runs its share's chunks in order, then the others'", "[runtime]") {
  struct Order {
    std::thread::id caller;
    std::atomic<bool> hasFirst{false}; ///< The caller runs the first chunk, so the worker cannot take it.
    std::atomic<int> others{0};
    std::mutex mutex;
    std::vector<int64_t> chunks; ///< The worker's.
  };
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(2);
    // In some rounds the worker has blocked and is woken.
    if (round % 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Order order;
    order.caller = std::this_thread::get_id();
    void *args[] = {&order};
    pool.parallelFor(
        16, 2,
        [](void **args, int64_t begin, int64_t) {
          auto &order = *static_cast<Order *>(args[0]);
          if (std::this_thread::get_id() == order.caller) {
            // The first chunk lasts until the worker has run all others.
            order.hasFirst = true;
            while (order.others < 7)
              std::this_thread::yield();
            return;
          }
          while (!order.hasFirst)
            std::this_thread::yield();
          std::lock_guard<std::mutex> lock(order.mutex);
          order.chunks.push_back(begin);
          ++order.others;
        },
        args);
    CHECK(order.chunks == std::vector<int64_t>{8, 10, 12, 14, 2, 4, 6});
  }
}

TEST_CASE("every index is visited once where workers block between loops", "[runtime]") {
  // More threads than cores, fewer chunks than threads, and loops that are too short to wake anyone.
  for (uint32_t threads : {2, 3, 16}) {
    ThreadPool pool(threads);
    std::vector<int32_t> values(96, 0);
    void *args[] = {values.data()};
    int rounds = 120;
    for (int round = 0; round < rounds; ++round) {
      pool.parallelFor(96, round % 3 ? 96 / (2 + round % 7) : 1, addOne, args);
      if (round % 4 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(round % 8 ? 30 : 900));
    }
    CHECK(std::all_of(values.begin(), values.end(), [&](int32_t value) { return value == rounds; }));
  }
}

TEST_CASE("a pool ends while its workers spin, and while they block", "[runtime]") {
  std::vector<int32_t> values(64, 0);
  void *args[] = {values.data()};
  for (int round = 0; round < 60; ++round) {
    ThreadPool pool(4);
    if (round % 3)
      pool.parallelFor(64, 4, addOne, args);
    if (round % 2)
      std::this_thread::sleep_for(std::chrono::microseconds(800));
  }
  CHECK(std::all_of(values.begin(), values.end(), [](int32_t value) { return value == 40; }));
}
