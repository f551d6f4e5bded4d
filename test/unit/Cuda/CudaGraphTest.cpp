//===- CudaGraphTest.cpp - Steps that run as one ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaModel.h"

#include <array>
#include <filesystem>
#include <unistd.h>

using namespace sluice::test;
using Catch::Contains;

namespace {

/// What the log got since the last call.
std::string newLines() {
  static size_t read = 0;
  std::string log = fakeCudaLog();
  std::string lines = log.substr(std::min(read, log.size()));
  read = log.size();
  return lines;
}

/// y = x + w + 3, where x + 1 goes to the host and comes back, and w, in the parameter
/// file, is copied in each step, while the other streams work.
int32_t swap(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const int64_t bytes = bytesOfStep;
  sluice_slot a = arenaSlot(1, 0, bytes), b = arenaSlot(1, bytes, bytes), home = arenaSlot(0, 0, bytes);
  uint32_t in = issue.copy(kIn, a, inputSlot(bytes));
  uint32_t once = issue.launch(kCompute, addOneKernel, {a, b}, {in});
  uint32_t out = issue.copy(kOut, home, b, {once});
  // Over b, once that is at home.
  uint32_t weights = issue.copy(kIn, b, slot(0, SLUICE_SEGMENT_PARAMETER, 0, bytes), {out});
  issue.launch(kCompute, addOneKernel, {b, a}, {weights});
  uint32_t made = issue.launch(kCompute, addOneKernel, {a, b});
  uint32_t saved = issue.copy(kOut, outputSlot(bytes), b, {made});
  uint32_t back = issue.copy(kIn, a, home, {made, out});
  uint32_t twice = issue.launch(kCompute, addOneKernel, {a, b}, {back, saved});
  issue.copy(kOut, outputSlot(bytes, 1), b, {twice});
  return issue.failed;
}

/// The state, and y, become the state + 1.
int32_t countUp(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const int64_t bytes = bytesOfStep;
  sluice_slot a = arenaSlot(1, 0, bytes), b = arenaSlot(1, bytes, bytes),
              state = slot(0, SLUICE_SEGMENT_STATE, 0, bytes);
  uint32_t in = issue.copy(kIn, a, state);
  uint32_t made = issue.launch(kCompute, addOneKernel, {a, b}, {in});
  issue.copy(kOut, state, b, {made});
  issue.copy(kOut, outputSlot(bytes), b);
  return issue.failed;
}

struct SwapModel : CudaModel {
  SwapModel() : CudaModel(256, 1, 90, swap) {
    outputs.push_back(outputs[0]);
    outputs[1].name = "z";
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = static_cast<float>(i) / 2;
    model.parameter_bytes = bytesOfStep;
  }
  alignas(64) std::array<float, 256> weights;
};

/// Three steps, each of other inputs in other memory: y = w + 2 and z = x + 2.
void checkSwap(sluice_session *session, const SwapModel &model) {
  for (int round = 0; round < 3; ++round) {
    std::vector<float> x(256, static_cast<float>(round) * 10), y(256), z(256);
    const void *inputs[] = {x.data()};
    void *outputs[] = {y.data(), z.data()};
    REQUIRE(sluice_run(session, inputs, outputs) == 0);
    for (size_t i = 0; i < x.size(); ++i) {
      REQUIRE(y[i] == model.weights[i] + 2);
      REQUIRE(z[i] == x[i] + 2);
    }
  }
}

/// One step of zeros.
std::string errorOfSwap(sluice_session *session) {
  std::vector<float> x(256), y(256), z(256);
  const void *inputs[] = {x.data()};
  void *outputs[] = {y.data(), z.data()};
  return sluice_run(session, inputs, outputs) ? sluice_last_error() : "";
}

int32_t addOnHost(const sluice_kernel_env *, void **args) {
  for (int i = 0; i < 256; ++i)
    static_cast<float *>(args[1])[i] = static_cast<const float *>(args[0])[i] + 1;
  return 0;
}

/// One launch on the host, behind the GPU's.
int32_t half(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  sluice_slot a = arenaSlot(1, 0, 1024), b = arenaSlot(1, 1024, 1024), home = arenaSlot(0, 0, 1024);
  uint32_t in = issue.copy(kIn, a, inputSlot(1024));
  uint32_t once = issue.launch(kCompute, addOneKernel, {a, b}, {in});
  uint32_t out = issue.copy(kOut, home, b, {once});
  issue.launch(streamOf(0, SLUICE_STREAM_COMPUTE), addOnHost, {home, arenaSlot(0, 1024, 1024)}, {out}, 1);
  issue.copy(streamOf(0, SLUICE_STREAM_IN), outputSlot(1024), arenaSlot(0, 1024, 1024), {3}, UINT32_MAX);
  return issue.failed;
}

/// Three steps whose recording comes to call number `from` of `function`, which gives `result` once: what is done
/// instead may ask it too.
void checkNotRecorded(const char *function, int from, int result, const char *why) {
  INFO(function << " " << from);
  SwapModel model;
  {
    SessionPtr session = model.open(model.weights.data());
    REQUIRE(session);
    REQUIRE(errorOfSwap(session.get()) == "");
    fakeCudaFailOnce(function, from, result);
    checkSwap(session.get(), model);
    CHECK_THAT(sluice_notes(session.get()), Contains("steps run command by command: ") && Contains(why));
  }
  CHECK(fakeCudaHeld() == 0);
}

/// The first launch is on the stream of what exchanges data, behind three of each device.
int32_t apart(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  sluice_slot a = arenaSlot(1, 0, 1024), b = arenaSlot(1, 1024, 1024);
  uint32_t in = issue.copy(kIn, a, inputSlot(1024));
  uint32_t once = issue.launch(6, addOneKernel, {a, b}, {in});
  uint32_t twice = issue.launch(kCompute, addOneKernel, {b, a}, {once}, 1);
  issue.copy(kOut, outputSlot(1024), a, {twice});
  return issue.failed;
}

int32_t addOneOfStep(const sluice_kernel_env *env, void **args) {
  return env->launch_blocks(env->grids, &addOne, env->symbols[0] / kThreads, args);
}

/// addTwice of as many elements as the symbol says.
int32_t addTwiceOfStep(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  sluice_slot a = arenaSlot(1, 0, bytesOfStep), b = arenaSlot(1, bytesOfStep, bytesOfStep);
  uint32_t in = issue.copy(kIn, a, inputSlot(bytesOfStep));
  issue.launch(kCompute, addOneOfStep, {a, b}, {in});
  uint32_t made = issue.launch(kCompute, addOneOfStep, {b, a}, {}, 1);
  issue.copy(kOut, outputSlot(bytesOfStep), a, {made});
  return issue.failed;
}

struct RangedModel : CudaModel {
  RangedModel() : CudaModel(2 * kThreads, 1, 90, addTwiceOfStep) {
    model.num_symbols = 1, model.symbols = &symbol;
    model.extents = [](const int64_t *symbols, int64_t *extents) { extents[0] = extents[1] = symbols[0]; };
  }
  sluice_symbol_desc symbol{sizeof(sluice_symbol_desc), "n", 0, 2 * kThreads, kThreads, 0, 0};
};

/// Of a session of a model that adds 2.
std::string notesOfThreeSteps(CudaModel &model) {
  SessionPtr session = model.open();
  REQUIRE(session);
  for (int round = 0; round < 3; ++round) {
    std::vector<float> x(256, 5), y(256);
    REQUIRE(runOnce(session.get(), x, y) == 0);
    CHECK(y == std::vector<float>(256, 7));
  }
  return sluice_notes(session.get());
}

} // namespace

TEST_CASE("from its second run on a step is one launch, of the same commands in the same order", "[cuda]") {
  CudaModel model;
  {
    newLines();
    SessionPtr session = model.open();
    REQUIRE(session);
    for (int round = 0; round < 4; ++round) {
      std::vector<float> x(256, static_cast<float>(round)), y(256);
      REQUIRE(runOnce(session.get(), x, y) == 0);
      CHECK(y == std::vector<float>(256, static_cast<float>(round) + 2));
      const std::string lines = newLines();
      if (round > 0)
        CHECK(lines == "node HtoD 1024\nnode launch add_one 1x256\nnode launch add_one 1x256\nnode DtoH 1024\n"
                       "graph of 4 stream 8\n");
      CHECK(statsOf(session.get()).bytes_in == 1024);
      CHECK(statsOf(session.get()).bytes_out == 1024);
    }
    CHECK(sluice_notes(session.get()) == std::string());
  }
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("a recorded step is replayed at its extents, and others run command by command", "[cuda]") {
  RangedModel model;
  {
    SessionPtr session = model.open();
    REQUIRE(session);
    auto step = [&](int64_t n) {
      const int64_t *shapes[] = {&n};
      REQUIRE(sluice_set_shapes(session.get(), shapes) == 0);
      newLines();
      // What is behind the step's elements is not the step's.
      std::vector<float> x(static_cast<size_t>(n), 5), y(static_cast<size_t>(n) + 1, -1);
      REQUIRE(runOnce(session.get(), x, y) == 0);
      std::vector<float> expected(static_cast<size_t>(n), 7);
      expected.push_back(-1);
      CHECK(y == expected);
      return newLines();
    };
    auto checkRecorded = [](const std::string &lines, const char *blocks) {
      CHECK_THAT(lines, Contains(std::string("node launch add_one ") + blocks) && Contains("graph of 4"));
    };
    auto checkIssued = [](const std::string &lines, const char *blocks) {
      CHECK_THAT(lines, Contains(std::string("launch add_one ") + blocks) && !Contains("graph"));
    };
    checkIssued(step(512), "2x256");
    checkRecorded(step(512), "2x256");
    checkIssued(step(256), "1x256");
    checkRecorded(step(512), "2x256");
    checkIssued(step(256), "1x256");
    checkRecorded(step(256), "1x256");
    checkIssued(step(512), "2x256");
    // No block is no launch, which the driver would refuse.
    CHECK_THAT(step(0), !Contains("launch"));
    CHECK_THAT(step(0), !Contains("launch"));
    checkIssued(step(256), "1x256");
    CHECK(sluice_notes(session.get()) == std::string());
  }
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("commands of several streams are ordered by what they wait for, and host memory is pinned", "[cuda]") {
  SwapModel model;
  {
    newLines();
    SessionPtr session = model.open(model.weights.data());
    REQUIRE(session);
    checkSwap(session.get(), model);
    CHECK(sluice_notes(session.get()) == std::string());
    CHECK_THAT(newLines(), Contains("graph of 10 stream "));
    CHECK(statsOf(session.get()).bytes_in == 3 * 1024);
  }
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("states are read and written between steps that run as one", "[cuda]") {
  CudaModel model(256, 1, 90, countUp);
  sluice_tensor_desc count = model.inputs[0];
  count.name = "count";
  const int64_t offset = 0;
  model.model.num_states = 1;
  model.model.states = &count, model.model.state_offsets = &offset;
  model.model.state_bytes = bytesOfStep;
  newLines();
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(256), y(256), state(256);
  float expected = 0;
  for (int round = 0; round < 6; ++round) {
    if (round % 2 == 0) {
      expected = static_cast<float>(10 * round);
      const std::vector<float> written(256, expected);
      REQUIRE(sluice_write_state(session.get(), 0, written.data(), bytesOfStep) == 0);
    }
    REQUIRE(runOnce(session.get(), x, y) == 0);
    ++expected;
    CHECK(y == std::vector<float>(256, expected));
    REQUIRE(sluice_read_state(session.get(), 0, state.data(), bytesOfStep) == 0);
    CHECK(state == y);
  }
  CHECK(sluice_notes(session.get()) == std::string());
  CHECK_THAT(newLines(), Contains("graph of 4 stream "));
}

TEST_CASE("what cannot be recorded runs command by command, and says why", "[cuda]") {
  struct Case {
    const char *function;
    int from;
  };
  for (const Case &failing : {Case{"cuStreamBeginCapture_v2", 0},
                              {"cuStreamEndCapture", 0},
                              {"cuGraphInstantiateWithFlags", 0},
                              {"cuMemHostRegister_v2", 0},
                              {"cuMemHostAlloc", 2},
                              {"cuMemHostAlloc", 3},
                              {"cuStreamWaitEvent", 0},
                              {"cuStreamWaitEvent", 5},
                              {"cuLaunchKernel", 1},
                              {"cuEventCreate", 3},
                              {"cuEventRecord", 2},
                              {"cuMemcpyHtoDAsync_v2", 1},
                              {"cuStreamCreate", 1}})
    checkNotRecorded(failing.function, failing.from, 801, "CUDA error 801");

  // What is half recorded never runs.
  for (const Case &throwing : {Case{"cuMemHostAlloc", 0},
                               {"cuMemHostAlloc", 3},
                               {"cuMemHostRegister_v2", 0},
                               {"cuEventCreate", 3},
                               {"cuLaunchKernel", 1},
                               {"cuStreamEndCapture", 0}})
    checkNotRecorded(throwing.function, throwing.from, kFakeCudaThrows, "std::bad_alloc");

  CudaModel mixed(256, 1, 90, half);
  CHECK(notesOfThreeSteps(mixed) ==
        "steps run command by command: operator 'second' runs on device 'cpu', which is not a GPU\n");
  CudaModel exchanging(256, 1, 90, apart);
  exchanging.streams.push_back({sizeof(sluice_stream_desc), 1, SLUICE_STREAM_COMMUNICATE});
  CHECK(notesOfThreeSteps(exchanging) ==
        "steps run command by command: ranks exchange data, and the host waits for each exchange\n");
}

TEST_CASE("a throttled link throttles in every step, and a trace has the host's times of its copies", "[cuda]") {
  constexpr int64_t kLatencyNs = 5'000'000;
  for (bool trace : {false, true}) {
    CudaModel model;
    model.links[0].latency_ns = kLatencyNs;
    model.links[0].throttle = 1;
    SessionPtr session = model.open(nullptr, trace);
    REQUIRE(session);
    for (int round = 0; round < 3; ++round) {
      REQUIRE(errorOf(session.get()) == "");
      // In, and out behind it.
      CHECK(statsOf(session.get()).step_ns >= 2 * kLatencyNs);
    }
    if (trace) {
      size_t count = 0;
      const sluice_command_time *times = sluice_trace(session.get(), &count);
      const sluice_device_time *ran = sluice_device_times(session.get(), &count);
      REQUIRE(count == 4);
      CHECK(ran[0].end_ns == -1);
      CHECK(times[0].end_ns - times[0].start_ns >= kLatencyNs);
      CHECK(ran[1].end_ns >= ran[1].start_ns);
      CHECK(ran[1].start_ns > 0);
    } else {
      CHECK(sluice_notes(session.get()) ==
            std::string("steps run command by command: copy of tensor 't0' goes over a link that is throttled\n"));
    }
  }
}

TEST_CASE("steps with states and arenas in files are not recorded", "[cuda]") {
  SwapModel model;
  {
    const std::string directory = std::filesystem::temp_directory_path().string();
    sluice_options options{sizeof(sluice_options), 2, 0, 0, nullptr, directory.c_str()};
    SessionPtr session(sluice_open_model(model.get(), model.weights.data(), model.model.parameter_bytes, &options));
    REQUIRE(session);
    checkSwap(session.get(), model);
    CHECK(sluice_notes(session.get()) ==
          std::string("steps run command by command: tensors of the host are in files (--spill)\n"));
  }
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("no more than a quarter of the host's memory is pinned", "[cuda]") {
  const int64_t most = int64_t(sysconf(_SC_PHYS_PAGES)) / 4 * sysconf(_SC_PAGESIZE);
  // The input, two outputs and the parameters; the arena's pages are touched by nobody but for the first.
  const int64_t others = 4 * 1024;
  for (int64_t arena : {most - others, most - others + 1, most - 3 * 1024, most - 3 * 1024 + 1, most + 1}) {
    INFO(arena - most);
    SwapModel model;
    model.memories[0].arena_bytes = arena;
    {
      SessionPtr session = model.open(model.weights.data());
      REQUIRE(session);
      REQUIRE(errorOfSwap(session.get()) == "");
      // Nothing beyond is pinned even for a moment.
      if (arena > most - 3 * 1024)
        fakeCudaFailOnce("cuMemHostRegister_v2", 0, 801);
      checkSwap(session.get(), model);
      const std::string notes = sluice_notes(session.get());
      if (arena == most - others)
        CHECK(notes.empty());
      else
        CHECK_THAT(notes, Contains("the buffers that a step copies from and to exceed a "
                                   "quarter of the host's memory"));
    }
    CHECK(fakeCudaHeld() == 0);
  }
}

TEST_CASE("traced steps are not recorded: their events time each command", "[cuda]") {
  CudaModel model;
  SessionPtr session = model.open(nullptr, /*trace=*/true);
  REQUIRE(session);
  newLines();
  for (int round = 0; round < 3; ++round)
    REQUIRE(errorOf(session.get()) == "");
  CHECK_THAT(newLines(), !Contains("graph"));
}

TEST_CASE("a graph that fails is given up, and commands alone name the operator", "[cuda]") {
  CudaModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  REQUIRE(errorOf(session.get()) == "");
  REQUIRE(errorOf(session.get()) == "");
  fakeCudaFailOnce("cuGraphLaunch", 0, 719);
  CHECK_THAT(
      errorOf(session.get()),
      Contains("a step that was launched as one CUDA graph failed, device 'accel0': CUDA_ERROR_LAUNCH_FAILED (719)"));
  newLines();
  CHECK(errorOf(session.get()) == "");
  CHECK_THAT(newLines(), !Contains("graph"));
  fakeCudaFailOnce("cuLaunchKernel", 1, 719);
  CHECK_THAT(errorOf(session.get()), Contains("operator 'second' failed: device 'accel0'"));
}

/// y = x + 2: one on each of two GPUs, by way of the host.
static int32_t addOnTwo(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  sluice_slot a = arenaSlot(1, 0, 1024), b = arenaSlot(1, 1024, 1024), home = arenaSlot(0, 0, 1024),
              c = arenaSlot(2, 0, 1024), d = arenaSlot(2, 1024, 1024);
  uint32_t in = issue.copy(kIn, a, inputSlot(1024));
  uint32_t once = issue.launch(kCompute, addOneKernel, {a, b}, {in});
  uint32_t out = issue.copy(kOut, home, b, {once});
  uint32_t over = issue.copy(streamOf(2, SLUICE_STREAM_IN), c, home, {out}, 1);
  uint32_t twice = issue.launch(streamOf(2, SLUICE_STREAM_COMPUTE), addOneKernel, {c, d}, {over}, 1);
  issue.copy(streamOf(2, SLUICE_STREAM_OUT), outputSlot(1024), d, {twice}, 1);
  return issue.failed;
}

TEST_CASE("steps on several GPUs run command by command, each on its own", "[cuda]") {
  CudaModel model(256, 2, 90, addOnTwo);
  fakeCudaResetTo(80, kMemory, 2);
  {
    SessionPtr session = model.open();
    REQUIRE(session);
    for (int round = 0; round < 3; ++round) {
      std::vector<float> x(256, static_cast<float>(round)), y(256);
      REQUIRE(runOnce(session.get(), x, y) == 0);
      CHECK(y == std::vector<float>(256, static_cast<float>(round) + 2));
    }
    CHECK(sluice_notes(session.get()) == std::string("steps run command by command: the model runs on several GPUs\n"));
  }
  CHECK(fakeCudaHeld() == 0);
}
