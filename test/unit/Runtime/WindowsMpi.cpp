//===- WindowsMpi.cpp - Memory that processes share one-sidedly -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mpirun starts this. All ranks add to all windows at once, and read what they should.
//
//===----------------------------------------------------------------------===//
#include "sluice/Runtime/mpi.h"

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kDoubles = 1000;
constexpr int kRounds = 50;

/// What is wrong; empty: nothing.
std::string awaitCount(const sluice_windows &windows, uint32_t counter, int64_t least) {
  for (uint32_t rank = 0; rank < windows.num_ranks; ++rank)
    for (int64_t value = 0; value < least; std::this_thread::sleep_for(std::chrono::microseconds(100)))
      if (windows.read_counter(windows.self, rank, counter, &value) != 0)
        return windows.error(windows.self);
  return {};
}

std::string checkSums(const sluice_windows &windows) {
  std::vector<double> values(kDoubles - 1, windows.rank + 1.0);
  for (int round = 0; round < kRounds; ++round)
    for (uint32_t owner = 0; owner < windows.num_ranks; ++owner)
      if (windows.add(windows.self, owner, 1, values.data(), kDoubles - 1) != 0)
        return windows.error(windows.self);
  if (windows.advance(windows.self, 0) != 0)
    return windows.error(windows.self);
  if (std::string wrong = awaitCount(windows, 0, 1); !wrong.empty())
    return wrong;
  const double expected = kRounds * (windows.num_ranks * (windows.num_ranks + 1) / 2.0);
  std::vector<double> got(kDoubles, -1);
  for (uint32_t owner = 0; owner < windows.num_ranks; ++owner) {
    if (windows.read(windows.self, owner, 0, got.data(), kDoubles) != 0)
      return windows.error(windows.self);
    for (int64_t i = 0; i < kDoubles; ++i)
      if (got[static_cast<size_t>(i)] != (i == 0 ? 0 : expected))
        return "double " + std::to_string(i) + " of rank " + std::to_string(owner) + " is " +
               std::to_string(got[static_cast<size_t>(i)]) + ", not " + std::to_string(expected);
  }
  // Nobody expects zeros any more. A written value is there once the counter is.
  if (windows.advance(windows.self, 0) != 0)
    return windows.error(windows.self);
  if (std::string wrong = awaitCount(windows, 0, 2); !wrong.empty())
    return wrong;
  const double own = windows.rank + 0.5;
  const uint32_t next = (windows.rank + 1) % windows.num_ranks;
  if (windows.write(windows.self, next, 0, &own, 1) != 0 || windows.advance(windows.self, 1) != 0)
    return windows.error(windows.self);
  if (std::string wrong = awaitCount(windows, 1, 1); !wrong.empty())
    return wrong;
  const uint32_t previous = (windows.rank + windows.num_ranks - 1) % windows.num_ranks;
  if (windows.read(windows.self, windows.rank, 0, got.data(), 1) != 0 || got[0] != previous + 0.5)
    return "the value of rank " + std::to_string(previous) + " is not there";
  return {};
}

std::string checkRefusals(const sluice_windows &windows) {
  double value = 0;
  int64_t count = 0;
  const bool refuses = windows.read(windows.self, 0, kDoubles, &value, 1) != 0 &&
                       windows.read(windows.self, 0, -1, &value, 1) != 0 &&
                       windows.add(windows.self, windows.num_ranks, 0, &value, 1) != 0 &&
                       windows.read_counter(windows.self, 0, 2, &count) != 0 && windows.advance(windows.self, 2) != 0;
  return refuses ? "" : "what lies outside of the windows is not refused";
}

} // namespace

int main() {
  const char *error = nullptr;
  if (sluice_mpi_windows_create(2, kDoubles, &error)) {
    std::fprintf(stderr, "error: there are windows before there are ranks\n");
    return 1;
  }
  const sluice_communicator *communicator = sluice_mpi_start(&error);
  if (!communicator) {
    std::fprintf(stderr, "error: %s\n", error);
    return 1;
  }
  std::string wrong;
  for (int time = 0; time < 2 && wrong.empty(); ++time) {
    const sluice_windows *windows = sluice_mpi_windows_create(2, kDoubles, &error);
    if (!windows)
      wrong = error;
    else if (wrong = checkSums(*windows); wrong.empty())
      wrong = checkRefusals(*windows);
    // The others still read the windows until they are done too.
    if (windows && wrong.empty() && windows->advance(windows->self, 0) == 0)
      wrong = awaitCount(*windows, 0, 3);
    if (wrong.empty())
      sluice_mpi_windows_destroy(windows);
  }
  sluice_mpi_stop(wrong.empty() ? nullptr : wrong.c_str());
  if (communicator->rank == 0)
    std::printf("the windows of %u ranks agree\n", communicator->num_ranks);
  return 0;
}
