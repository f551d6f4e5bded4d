//===- EmulatedTest.cpp - Models on emulated accelerators -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "TestModel.h"

#include <chrono>
#include <numeric>
#include <thread>
#include <time.h>

using namespace sluice::test;

namespace {

constexpr uint32_t kHostCompute = streamOf(0, SLUICE_STREAM_COMPUTE);
constexpr uint32_t kCompute = streamOf(1, SLUICE_STREAM_COMPUTE);
constexpr uint32_t kIn = streamOf(1, SLUICE_STREAM_IN);
constexpr uint32_t kOut = streamOf(1, SLUICE_STREAM_OUT);

int32_t addOneKernel(const sluice_kernel_env *env, void **args) {
  env->parallel_for(
      env->pool, 256, 64,
      [](void **args, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          static_cast<float *>(args[1])[i] = static_cast<const float *>(args[0])[i] + 1;
      },
      args);
  return 0;
}

int64_t ownWorkNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

/// Works for 20 ms, however long it waits for a core.
int32_t busyKernel(const sluice_kernel_env *, void **) {
  for (const int64_t end = ownWorkNs() + 20'000'000; ownWorkNs() < end;)
    ;
  return 0;
}

int32_t failingKernel(const sluice_kernel_env *, void **) { return 3; }

std::vector<float> ramp(size_t count = 256) {
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 0.0f);
  return x;
}

} // namespace

TEST_CASE("a tensor is swapped out, its place reused, and swapped back", "[runtime]") {
  // The accelerator holds two tensors; three are live in turn. Every reuse of a
  // place waits for the copy that saves it.
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        sluice_slot a = arenaSlot(1, 0, 1024), b = arenaSlot(1, 1024, 1024), home = arenaSlot(0, 0, 1024);
        uint32_t in = issue.copy(kIn, a, inputSlot(1024));
        uint32_t made = issue.launch(kCompute, addOneKernel, {a, b}, {in});
        uint32_t saved = issue.copy(kOut, home, a, {made});
        uint32_t last = made;
        // Ping-pong between the places, four times each way.
        for (int i = 0; i < 4; ++i) {
          last = issue.launch(kCompute, addOneKernel, {b, a}, {saved});
          last = issue.launch(kCompute, addOneKernel, {a, b});
        }
        uint32_t back = issue.copy(kIn, a, home, {saved, last});
        last = issue.launch(kCompute,
                            [](const sluice_kernel_env *, void **args) -> int32_t {
                              for (int i = 0; i < 256; ++i)
                                static_cast<float *>(args[1])[i] += static_cast<float *>(args[0])[i];
                              return 0;
                            },
                            {a, b}, {back});
        issue.copy(kOut, outputSlot(1024), b, {last});
        return issue.failed;
      },
      256, 1, 2048);
  SessionPtr session = model.open(nullptr, true);
  REQUIRE(session);
  std::vector<float> x = ramp(), y(256);
  for (int step = 0; step < 50; ++step) {
    std::fill(y.begin(), y.end(), 0.0f);
    REQUIRE(runOnce(session.get(), x, y) == 0);
    for (int i = 0; i < 256; ++i)
      REQUIRE(y[i] == 2.0f * i + 9);
  }
  sluice_stats stats = statsOf(session.get());
  CHECK(stats.bytes_in == 2048);
  CHECK(stats.bytes_out == 2048);
  CHECK(stats.init_bytes_in == 0);
  CHECK(stats.arena_peak_bytes[0] == 1024);
  CHECK(stats.arena_peak_bytes[1] == 2048);
  size_t count = 0;
  const sluice_command_time *times = sluice_trace(session.get(), &count);
  REQUIRE(count == 14);
  for (size_t i = 0; i < count; ++i)
    CHECK(times[i].command == i);
  CHECK(times[0].tensor == 0);
  CHECK(times[0].op == UINT32_MAX);
  CHECK(times[0].end_ns <= times[1].start_ns);
  CHECK(times[2].end_ns <= times[3].start_ns);
  CHECK(times[13].end_ns <= stats.step_ns);
}

TEST_CASE("init loads what stays on the device, once", "[runtime]") {
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        uint32_t run = issue.launch(kCompute, addOneKernel, {arenaSlot(1, 0, 1024), arenaSlot(1, 1024, 1024)});
        issue.copy(kOut, outputSlot(1024), arenaSlot(1, 1024, 1024), {run});
        return issue.failed;
      },
      256, 1);
  model.model.init = [](const sluice_api *api, sluice_context *context) {
    Issuer issue{api, context};
    issue.copy(kIn, arenaSlot(1, 0, 1024), slot(0, SLUICE_SEGMENT_PARAMETER, 0, 1024));
    return issue.failed;
  };
  std::vector<float> parameters = ramp();
  model.model.parameter_bytes = 1024;
  SessionPtr session = model.open(parameters.data());
  REQUIRE(session);
  CHECK(statsOf(session.get()).init_bytes_in == 1024);
  std::fill(parameters.begin(), parameters.end(), 0.0f); // The device has its own by now.
  std::vector<float> x(256), y(256);
  for (int step = 0; step < 2; ++step) {
    REQUIRE(runOnce(session.get(), x, y) == 0);
    CHECK(y[255] == 256.0f);
    CHECK(statsOf(session.get()).bytes_in == 0);
    CHECK(statsOf(session.get()).bytes_out == 1024);
  }

  model.model.init = [](const sluice_api *api, sluice_context *context) {
    Issuer issue{api, context};
    issue.copy(kIn, arenaSlot(1, 0, 1024), inputSlot(1024));
    return issue.failed;
  };
  CHECK_FALSE(model.open(parameters.data()));
  CHECK(std::string(sluice_last_error()).find("uses input 0, which this program does not have") != std::string::npos);
}

TEST_CASE("a wait holds across streams and devices", "[runtime]") {
  // Host and two accelerators pass one tensor round; every hop is slow enough
  // that a forgotten wait would show.
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        auto slow = [](const sluice_kernel_env *env, void **args) -> int32_t {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          return addOneKernel(env, args);
        };
        sluice_slot host = arenaSlot(0, 0, 1024);
        uint32_t last = issue.launch(kHostCompute, slow, {inputSlot(1024), host});
        for (uint32_t device = 1; device <= 2; ++device) {
          sluice_slot a = arenaSlot(device, 0, 1024), b = arenaSlot(device, 1024, 1024);
          last = issue.copy(streamOf(device, SLUICE_STREAM_IN), a, host, {last}, device - 1);
          last = issue.launch(streamOf(device, SLUICE_STREAM_COMPUTE), slow, {a, b}, {last});
          last = issue.copy(streamOf(device, SLUICE_STREAM_OUT), host, b, {last}, device - 1);
        }
        issue.launch(kHostCompute, slow, {host, outputSlot(1024)}, {last});
        return issue.failed;
      },
      256, 2);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x = ramp(), y(256);
  for (int step = 0; step < 5; ++step) {
    REQUIRE(runOnce(session.get(), x, y) == 0);
    for (int i = 0; i < 256; ++i)
      REQUIRE(y[i] == i + 4.0f);
  }
}

TEST_CASE("more commands than a queue holds", "[runtime]") {
  static const int kLaunches = 5000;
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        sluice_slot a = arenaSlot(1, 0, 1024);
        uint32_t last = issue.copy(kIn, a, inputSlot(1024));
        for (int i = 0; i < kLaunches; ++i) {
          last = issue.launch(kCompute, addOneKernel, {a, a}, {last});
          if (i % 7 == 0)
            last = issue.copy(kOut, arenaSlot(0, 0, 1024), a, {last});
        }
        issue.copy(kOut, outputSlot(1024), a, {last});
        return issue.failed;
      },
      256, 1);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  for (int step = 0; step < 2; ++step) {
    REQUIRE(runOnce(session.get(), x, y) == 0);
    CHECK(y[0] == kLaunches);
    CHECK(y[255] == kLaunches);
  }
}

TEST_CASE("a command that fails on a stream ends the step on all of them", "[runtime]") {
  static bool fails;
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        sluice_slot a = arenaSlot(1, 0, 1024), b = arenaSlot(1, 1024, 1024);
        uint32_t in = issue.copy(kIn, a, inputSlot(1024));
        uint32_t bad = issue.launch(kCompute, fails ? failingKernel : addOneKernel, {a, b}, {in}, 1);
        uint32_t last = issue.launch(kCompute, addOneKernel, {b, b}, {bad});
        issue.copy(kOut, outputSlot(1024), b, {last});
        return issue.failed;
      },
      256, 1);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x = ramp(), y(256, -1.0f);
  for (int round = 0; round < 20; ++round) {
    fails = true;
    std::fill(y.begin(), y.end(), -1.0f);
    REQUIRE(runOnce(session.get(), x, y) != 0);
    REQUIRE(std::string(sluice_last_error()).find("operator 'second' failed with code 3, in command 1") == 0);
    REQUIRE(y[0] == -1.0f);
    fails = false;
    REQUIRE(runOnce(session.get(), x, y) == 0);
    REQUIRE(y[255] == 257.0f);
  }
}

TEST_CASE("an arena's end is enforced on launches and copies", "[runtime]") {
  static int64_t offset;
  static bool byCopy;
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        if (byCopy)
          issue.copy(kIn, arenaSlot(1, offset, 1024), inputSlot(1024));
        else
          issue.launch(kCompute, addOneKernel, {arenaSlot(1, offset, 1024), arenaSlot(1, offset, 1024)});
        return issue.failed;
      },
      256, 1);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  for (bool copies : {false, true}) {
    byCopy = copies;
    offset = 4096 - 1024;
    CHECK(runOnce(session.get(), x, y) == 0);
    offset += 64;
    CHECK(runOnce(session.get(), x, y) != 0);
    std::string message = sluice_last_error();
    CHECK(message.find(copies ? "command 0: copy of tensor 't0'" : "command 0: operator 'first'") == 0);
    CHECK(message.find("1024 bytes at offset 3136 of the arena of memory 'accel0', which has only 4096 bytes") !=
          std::string::npos);
  }
  CHECK(statsOf(session.get()).arena_peak_bytes[1] == 4096);
}

TEST_CASE("a device works in its own memory, and a link joins its own", "[runtime]") {
  static int which;
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        sluice_slot a1 = arenaSlot(1, 0, 1024), a2 = arenaSlot(2, 0, 1024), home = arenaSlot(0, 0, 1024);
        if (which == 0)
          issue.launch(kCompute, addOneKernel, {home, a1});
        if (which == 1)
          issue.copy(kIn, a1, home, {}, 1);
        if (which == 2)
          issue.copy(streamOf(2, SLUICE_STREAM_IN), a1, home, {}, 0);
        if (which == 3)
          issue.copy(kIn, a2, a1, {}, 0);
        if (which == 4)
          issue.copy(kOut, inputSlot(1024), a1);
        if (which == 5)
          issue.copy(kOut, slot(1, SLUICE_SEGMENT_STATE, 0, 1024), a1);
        if (which == 6)
          issue.copy(kOut, arenaSlot(0, 0, 1000), a1);
        return issue.failed;
      },
      256, 2);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  const char *messages[] = {"runs on device 'accel0' and uses memory 'host'",
                            "link 1, which does not join",
                            "which has neither of the two memories",
                            "link 0, which does not join memories 'accel0' and 'accel1'",
                            "writes an input",
                            "uses segment 4 of memory 'accel0', which has only an arena",
                            "moves 1024 bytes from a slot of 1024 to one of 1000"};
  for (which = 0; which < 7; ++which) {
    CHECK(runOnce(session.get(), x, y) != 0);
    INFO(sluice_last_error());
    CHECK(std::string(sluice_last_error()).find(messages[which]) != std::string::npos);
  }
}

TEST_CASE("a slow device sleeps in proportion to its work, and may become slower", "[runtime]") {
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        issue.launch(kCompute, busyKernel, {});
        return issue.failed;
      },
      256, 1);
  model.devices[1].speed = 0.5;
  for (uint32_t threads : {1, 2}) {
    SessionPtr session = model.open(nullptr, false, threads);
    REQUIRE(session);
    std::vector<float> x(256), y(256);
    auto stepNs = [&] {
      REQUIRE(runOnce(session.get(), x, y) == 0);
      return statsOf(session.get()).step_ns;
    };
    CHECK(stepNs() >= 40'000'000);
    REQUIRE(sluice_slow_device(session.get(), 1, 3) == 0);
    CHECK(stepNs() >= 120'000'000);
    REQUIRE(sluice_slow_device(session.get(), 1, 1) == 0);
    CHECK(stepNs() >= 40'000'000);
  }
  SessionPtr session = model.open();
  CHECK(sluice_slow_device(session.get(), 1, 0.5) != 0);
  CHECK_THAT(sluice_last_error(), Catch::Contains("cannot be slowed by 0.5"));
  CHECK(sluice_slow_device(session.get(), 0, 2) != 0);
  CHECK_THAT(sluice_last_error(), Catch::Contains("is not emulated"));
  CHECK(sluice_slow_device(session.get(), 9, 2) != 0);
  CHECK_THAT(sluice_last_error(), Catch::Contains("does not exist"));
}

TEST_CASE("a throttled link takes its latency and its bytes' time, and both ways share", "[runtime]") {
  static bool both;
  constexpr int64_t kFloats = 1 << 20, kBytes = kFloats * 4;
  TestModel model(
      [](const sluice_api *api, sluice_context *context) {
        Issuer issue{api, context};
        issue.copy(kIn, arenaSlot(1, 0, kBytes), inputSlot(kBytes));
        if (both)
          issue.copy(kOut, outputSlot(kBytes), arenaSlot(1, kBytes, kBytes));
        return issue.failed;
      },
      kFloats, 1, 2 * kBytes);
  // 4 MiB at 100 MB/s: 42 ms; together at 100 MB/s: 84 ms for both.
  model.links[0].bytes_per_sec = 1e8, model.links[0].duplex_bytes_per_sec = 1e8;
  model.links[0].latency_ns = 5'000'000, model.links[0].throttle = 1;
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(kFloats, 1.0f), y(kFloats, 1.0f);
  both = false;
  REQUIRE(runOnce(session.get(), x, y) == 0);
  int64_t alone = statsOf(session.get()).step_ns;
  CHECK(alone >= 46'900'000);
  both = true;
  REQUIRE(runOnce(session.get(), x, y) == 0);
  int64_t together = statsOf(session.get()).step_ns;
  CHECK(together >= 80'000'000);
  CHECK(together < 10 * alone);
  CHECK(y[0] == 0.0f);
  CHECK(statsOf(session.get()).bytes_in == kBytes);
  CHECK(statsOf(session.get()).bytes_out == kBytes);
}
