//===- HostTest.cpp - Models on the host ----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "../Skip.h"
#include "TestModel.h"

#include <dlfcn.h>

#include <numeric>

using namespace sluice::test;

namespace {

// y[i] = x[i] * 2 + 1, in parallel chunks.
int32_t scaleKernel(const sluice_kernel_env *env, void **args) {
  env->parallel_for(
      env->pool, 256, 10,
      [](void **args, int64_t begin, int64_t end) {
        auto *x = static_cast<const float *>(args[0]);
        auto *y = static_cast<float *>(args[1]);
        for (int64_t i = begin; i < end; ++i)
          y[i] = x[i] * 2 + 1;
      },
      args);
  return 0;
}

int32_t addKernel(const sluice_kernel_env *, void **args) {
  auto *a = static_cast<const float *>(args[0]), *b = static_cast<const float *>(args[1]);
  auto *y = static_cast<float *>(args[2]);
  for (int i = 0; i < 256; ++i)
    y[i] = a[i] + b[i];
  return 0;
}

int32_t launch(const sluice_api *api, sluice_context *context, uint32_t command, sluice_kernel_fn kernel, uint32_t op,
               std::vector<sluice_slot> slots, std::vector<uint32_t> waits = {}) {
  return api->launch(context, command, streamOf(0, SLUICE_STREAM_COMPUTE), kernel, op, slots.data(),
                     static_cast<uint32_t>(slots.size()), waits.data(), static_cast<uint32_t>(waits.size()));
}

std::vector<float> ramp(size_t count = 256) {
  std::vector<float> x(count);
  std::iota(x.begin(), x.end(), 0.0f);
  return x;
}

} // namespace

TEST_CASE("a host model runs its commands in order", "[runtime]") {
  TestModel model([](const sluice_api *api, sluice_context *context) {
    launch(api, context, 0, scaleKernel, 0, {inputSlot(1024), arenaSlot(0, 1024, 1024)});
    return launch(api, context, 1, addKernel, 1, {arenaSlot(0, 1024, 1024), inputSlot(1024), outputSlot(1024)});
  });
  SessionPtr session = model.open(nullptr, true);
  REQUIRE(session);
  CHECK(sluice_describe(session.get())->op_names == model.get()->op_names);
  std::vector<float> x = ramp(), y(256);
  for (int step = 0; step < 3; ++step) {
    REQUIRE(runOnce(session.get(), x, y) == 0);
    for (int i = 0; i < 256; ++i)
      REQUIRE(y[i] == 3.0f * i + 1);
  }
  sluice_stats stats = statsOf(session.get());
  CHECK(stats.bytes_in == 0);
  CHECK(stats.bytes_out == 0);
  CHECK(stats.arena_peak_bytes[0] == 2048);
  CHECK(stats.step_ns > 0);
  size_t count = 0;
  const sluice_command_time *times = sluice_trace(session.get(), &count);
  REQUIRE(count == 2);
  CHECK(times[0].op == 0);
  CHECK(times[1].op == 1);
  CHECK(times[1].tensor == UINT32_MAX);
  CHECK(0 <= times[0].start_ns);
  CHECK(times[0].start_ns <= times[0].end_ns);
  CHECK(times[0].end_ns <= times[1].start_ns);
  CHECK(times[1].end_ns <= stats.step_ns);
}

TEST_CASE("a model reads its parameters and keeps its states", "[runtime]") {
  TestModel model([](const sluice_api *api, sluice_context *context) {
    sluice_slot state = slot(0, SLUICE_SEGMENT_STATE, 64, 1024);
    launch(api, context, 0, addKernel, 0, {state, slot(0, SLUICE_SEGMENT_PARAMETER, 16, 1024), state});
    sluice_slot output = outputSlot(1024);
    return api->copy(context, 1, streamOf(0, SLUICE_STREAM_OUT), UINT32_MAX, &output, &state, 1024, 0, nullptr, 0);
  });
  model.model.state_bytes = 64 + 1024;
  std::vector<float> parameters = ramp(260);
  model.model.parameter_bytes = 1040;
  SessionPtr session = model.open(parameters.data());
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  for (int step = 1; step <= 3; ++step) {
    REQUIRE(runOnce(session.get(), x, y) == 0);
    CHECK(y[0] == 4.0f * step);
    CHECK(y[255] == 259.0f * step);
  }
  CHECK_FALSE(SessionPtr(sluice_open_model(model.get(), parameters.data(), 1000, nullptr)));
  CHECK(std::string(sluice_last_error()).find("1040 bytes of parameters and 1000 bytes are given") !=
        std::string::npos);
}

TEST_CASE("a failing kernel ends the step and names its operator", "[runtime]") {
  TestModel model([](const sluice_api *api, sluice_context *context) {
    if (int32_t failed = launch(api, context, 0,
                                [](const sluice_kernel_env *, void **args) -> int32_t {
                                  return *static_cast<float *>(args[0]) > 0 ? 7 : 0;
                                },
                                1, {inputSlot(1024)}))
      return failed;
    return launch(api, context, 1, scaleKernel, 0, {inputSlot(1024), outputSlot(1024)});
  });
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> good(256, -1.0f), bad(256, 1.0f), y(256);
  CHECK(runOnce(session.get(), bad, y) != 0);
  std::string message = sluice_last_error();
  CHECK(message.find("operator 'second' failed with code 7") != std::string::npos);
  CHECK(y[0] == 0.0f);
  CHECK(runOnce(session.get(), good, y) == 0);
  CHECK(y[0] == -1.0f);
}

TEST_CASE("slots outside their segment are refused", "[runtime]") {
  static sluice_slot bad;
  TestModel model([](const sluice_api *api, sluice_context *context) {
    return launch(api, context, 0, [](const sluice_kernel_env *, void **) -> int32_t { return 0; }, 0,
                  {inputSlot(1024), bad});
  });
  model.model.state_bytes = 100;
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  auto errorOf = [&](sluice_slot tried) -> std::string {
    bad = tried;
    return runOnce(session.get(), x, y) == 0 ? "" : sluice_last_error();
  };
  CHECK(errorOf(arenaSlot(0, 4095, 1)) == "");
  CHECK(errorOf(arenaSlot(0, 4096, 0)) == "");
  std::string message = errorOf(arenaSlot(0, 4095, 2));
  CHECK(message == "command 0: operator 'first' uses 2 bytes at offset 4095 of the arena of memory 'host', which has "
                   "only 4096 bytes, compile "
                   "the model again");
  const sluice_slot others[] = {arenaSlot(0, -1, 1),
                                arenaSlot(0, 0, -1),
                                arenaSlot(0, INT64_MAX, INT64_MAX),
                                arenaSlot(1, 0, 1),
                                inputSlot(1025),
                                inputSlot(4, 1),
                                outputSlot(1025),
                                slot(0, SLUICE_SEGMENT_STATE, 64, 37),
                                slot(0, SLUICE_SEGMENT_PARAMETER, 0, 1),
                                slot(0, 9, 0, 1)};
  for (const sluice_slot &other : others) {
    INFO("segment " << other.segment << " offset " << other.offset << " bytes " << other.bytes);
    CHECK(errorOf(other).find("command 0: operator 'first' uses") == 0);
  }
  CHECK(errorOf(arenaSlot(0, 0, 64)) == "");
}

TEST_CASE("commands out of order, on no stream or waiting ahead are refused", "[runtime]") {
  static uint32_t number, stream, wait;
  TestModel model([](const sluice_api *api, sluice_context *context) {
    launch(api, context, 0, scaleKernel, 0, {inputSlot(1024), outputSlot(1024)});
    sluice_slot slots[] = {inputSlot(1024), outputSlot(1024)};
    return api->launch(context, number, stream, scaleKernel, 0, slots, 2, &wait, 1);
  });
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  auto errorOf = [&](uint32_t n, uint32_t s, uint32_t w) -> std::string {
    number = n, stream = s, wait = w;
    return runOnce(session.get(), x, y) == 0 ? "" : sluice_last_error();
  };
  CHECK(errorOf(1, 0, 0) == "");
  CHECK(errorOf(2, 0, 0).find("the command is issued out of order: command 1 must be issued next") !=
        std::string::npos);
  CHECK(errorOf(0, 0, 0).find("issued out of order") != std::string::npos);
  CHECK(errorOf(1, 99, 0).find("stream 99 does not exist") != std::string::npos);
  CHECK(errorOf(1, SLUICE_STREAM_IN, 0).find("only copies") != std::string::npos);
  CHECK(errorOf(1, 0, 1).find("the command waits for command 1, which is not issued yet") != std::string::npos);
}

TEST_CASE("missing buffers and a program that gives up are errors", "[runtime]") {
  static int32_t result;
  TestModel model([](const sluice_api *, sluice_context *) { return result; });
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256);
  result = 0;
  CHECK(runOnce(session.get(), x, y) == 0);
  result = 5;
  CHECK(runOnce(session.get(), x, y) != 0);
  CHECK(std::string(sluice_last_error()).find("step failed with code 5, after command") != std::string::npos);
  const void *noInput[] = {nullptr};
  void *outputs[] = {y.data()};
  CHECK(sluice_run(session.get(), noInput, outputs) != 0);
  CHECK(std::string(sluice_last_error()).find("input 'x' has no buffer") == 0);
  CHECK(sluice_run(session.get(), nullptr, outputs) != 0);
}

TEST_CASE("a GPU without a driver is an error", "[runtime]") {
  if (void *driver = dlopen("libcuda.so.1", RTLD_NOW)) {
    dlclose(driver);
    return skip("this machine has a CUDA driver");
  }
  TestModel model([](const sluice_api *, sluice_context *) -> int32_t { return 0; }, 256, 1);
  model.devices[1].kind = SLUICE_DEVICE_CUDA;
  CHECK_FALSE(model.open());
  CHECK(std::string(sluice_last_error()).find("device 'accel0': no CUDA driver: libcuda.so.1") == 0);
}

TEST_CASE("a step refuses an index out of range before it begins", "[runtime]") {
  static int numSteps;
  numSteps = 0;
  TestModel model([](const sluice_api *, sluice_context *) -> int32_t { return numSteps += 1, 0; }, 4);
  std::vector<float> y(4);
  void *outputs[] = {y.data()};
  const std::vector<int64_t> wide = {-3, 2, -100};
  auto errorOf = [&](const void *data) -> std::string {
    SessionPtr session = model.open();
    REQUIRE(session);
    const void *inputs[] = {data};
    return sluice_run(session.get(), inputs, outputs) == 0 ? "" : sluice_last_error();
  };
  model.inputs[0].element_type = 7, model.inputs[0].bytes = 32, model.inputs[0].range = wide.data();
  const int64_t good[] = {-3, 2, -100, 0}, low[] = {0, -4, 9, 0}, high[] = {0, 0, 0, INT64_MAX};
  CHECK(errorOf(good) == "");
  CHECK(numSteps == 1);
  CHECK(errorOf(low) ==
        "value -4 is out of range, element 1 of input 'x', give values from -3 to 2, or -100 for an element to ignore");
  CHECK(errorOf(high) == "value 9223372036854775807 is out of range, element 3 of input 'x', give values from "
                         "-3 to 2, or -100 for an element to ignore");
  CHECK(numSteps == 1);
  const std::vector<int64_t> plain = {0, 2, 1};
  const int32_t narrow[] = {0, 1, 2, 3};
  model.inputs[0].element_type = 6, model.inputs[0].bytes = 16, model.inputs[0].range = plain.data();
  CHECK(errorOf(narrow) == "value 3 is out of range, element 3 of input 'x', give values from 0 to 2");
  model.inputs[0].element_type = 1;
  CHECK_FALSE(model.open());
  CHECK(std::string(sluice_last_error()).find("'x' has a range and no elements of int32 or int64") !=
        std::string::npos);
}

TEST_CASE("models from before minor version 8 have no ranges", "[runtime]") {
  // Their entries end before the field.
  struct Old {
    size_t size;
    const char *name;
    int32_t elementType;
    uint32_t rank;
    const int64_t *shape;
    int64_t bytes;
    const void *fixed;
    const sluice_cut *cuts;
    uint32_t numCuts;
  };
  static const int64_t shape[] = {4};
  static const Old old[] = {{sizeof(Old), "x", 1, 1, shape, 16, nullptr, nullptr, 0},
                            {sizeof(Old), "z", 1, 1, shape, 16, nullptr, nullptr, 0}};
  TestModel model([](const sluice_api *, sluice_context *) -> int32_t { return 0; }, 4);
  model.model.abi_minor = 7;
  model.get();
  model.model.num_inputs = 2;
  model.model.inputs = reinterpret_cast<const sluice_tensor_desc *>(old);
  SessionPtr session(sluice_open_model(&model.model, nullptr, 0, nullptr));
  REQUIRE(session);
  std::vector<float> x(4), y(4);
  const void *inputs[] = {x.data(), nullptr};
  void *outputs[] = {y.data()};
  CHECK(sluice_run(session.get(), inputs, outputs) != 0);
  CHECK(std::string(sluice_last_error()).find("input 'z' has no buffer") == 0);
  inputs[1] = x.data();
  CHECK(sluice_run(session.get(), inputs, outputs) == 0);
}

TEST_CASE("tables that contradict each other are refused", "[runtime]") {
  auto step = [](const sluice_api *, sluice_context *) -> int32_t { return 0; };
  auto errorOf = [&](void (*spoil)(TestModel &)) -> std::string {
    TestModel model(step, 256, 1);
    spoil(model);
    return model.open() ? "" : sluice_last_error();
  };
  CHECK(errorOf([](TestModel &) {}) == "");
  CHECK(errorOf([](TestModel &m) { m.model.abi_major = 2; }).find("ABI version 2") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { ++m.model.abi_minor; }).find("install the runtime") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.model.abi_minor = 0; }) == "");
  CHECK(errorOf([](TestModel &m) { m.model.size = 16; }).find("has 16 bytes") != std::string::npos);
  CHECK(errorOf([](TestModel &m) {
          m.model.size = offsetof(sluice_model, num_symbols) - 1;
        }).find("compile the model again") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.model.size = 4; }).find("no ABI version") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.model.cpu_features = "+sse2,+warp9"; }).find("'warp9'") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.model.step = nullptr; }).find("lacks its name") != std::string::npos);
  for (const size_t size : {size_t(0), size_t(8), sizeof(sluice_tensor_desc) + 1, size_t(1) << 40, SIZE_MAX - 7}) {
    TestModel model(step, 256, 1);
    model.inputs[0].size = size;
    CHECK_FALSE(model.open());
    CHECK_THAT(sluice_last_error(), Catch::Contains("inputs has entries of " + std::to_string(size) + " bytes"));
  }
  CHECK(errorOf([](TestModel &m) { m.streams[4].device = 2; }).find("stream 4") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.devices[1].kind = 3; }).find("does not support") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.devices[1].memory = 0; }).find("computes in memory 'host'") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.devices[1].speed = 0; }).find("speed 0") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.links[0].memory_b = 0; }).find("link 0") != std::string::npos);
  CHECK(errorOf([](TestModel &m) {
          m.links[0].throttle = 1, m.links[0].bytes_per_sec = 0;
        }).find("a rate that is not positive") != std::string::npos);
  CHECK(errorOf([](TestModel &m) {
          m.memories[1].arena_bytes = 4097;
        }).find("has 4096 bytes and the model's arena 4097") != std::string::npos);
  CHECK(errorOf([](TestModel &m) { m.memories[0].arena_bytes = INT64_MAX; }).find("is out of range") !=
        std::string::npos);
  CHECK_FALSE(SessionPtr(sluice_open_model(nullptr, nullptr, 0, nullptr)));
}
