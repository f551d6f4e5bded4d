//===- CudaDeviceTest.cpp - Models on a fake driver's GPU -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "CudaModel.h"

using namespace sluice::test;
using Catch::Contains;

TEST_CASE("a step runs on a GPU: copied in, launched, copied out, in order", "[cuda]") {
  CudaModel model;
  {
    SessionPtr session = model.open();
    REQUIRE(session);
    for (int round = 0; round < 3; ++round) {
      std::vector<float> x(256), y(256);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i) + 100 * static_cast<float>(round);
      REQUIRE(runOnce(session.get(), x, y) == 0);
      for (size_t i = 0; i < x.size(); ++i)
        REQUIRE(y[i] == x[i] + 2);
    }
    CHECK(std::string(fakeCudaLog())
              .find("memset 2048 stream 0\nHtoD 1024 stream 1\nload\nlaunch add_one 1x256 stream 2\n"
                    "launch add_one 1x256 stream 2\nDtoH 1024 stream 3\n") == 0);
    CHECK(statsOf(session.get()).bytes_in == 1024);
  }
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("a trace has the times of the GPU's own events beside the host's", "[cuda]") {
  constexpr int64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
  CudaModel model;
  {
    SessionPtr session = model.open(nullptr, /*trace=*/true);
    REQUIRE(session);
    auto times = [&] {
      size_t count = 0;
      const sluice_command_time *first = sluice_trace(session.get(), &count);
      return std::vector(first, first + count);
    };
    auto deviceTimes = [&] {
      size_t count = 0;
      const sluice_device_time *first = sluice_device_times(session.get(), &count);
      return std::vector(first, first + count);
    };
    fakeCudaTick(kSecond);
    for (int round = 0; round < 2; ++round) {
      REQUIRE(errorOf(session.get()) == "");
      const std::vector<sluice_command_time> taken = times();
      const std::vector<sluice_device_time> ran = deviceTimes();
      REQUIRE(taken.size() == 4);
      REQUIRE(ran.size() == 4);
      for (size_t i = 0; i < taken.size(); ++i) {
        // Without what the first step has the host do before: pin buffers, load code.
        CHECK(std::abs(ran[i].end_ns - ran[i].start_ns - kSecond) < kMillisecond);
        if (round > 0)
          CHECK(std::abs(ran[i].start_ns - ran[0].start_ns - static_cast<int64_t>(i) * kSecond) < kMillisecond);
        CHECK(taken[i].end_ns < kSecond);
        CHECK(taken[i].start_ns <= taken[i].end_ns);
      }
    }
    // A driver that cannot say leaves the host's times alone.
    fakeCudaFail("cuEventElapsedTime", 0, 700, 0);
    REQUIRE(errorOf(session.get()) == "");
    REQUIRE(times().size() == 4);
    CHECK(deviceTimes()[0].end_ns == -1);
    CHECK(times()[0].end_ns > 0);
    fakeCudaFail("cuEventRecord", 1, 700, 0);
    CHECK_THAT(errorOf(session.get()), Contains("CUDA_ERROR_ILLEGAL_ADDRESS"));
  }
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("what is larger than the pinned buffers goes through both in turn", "[cuda]") {
  constexpr int64_t kFloats = (9 << 20) / 4 + 256;
  CudaModel model(kFloats);
  SessionPtr session = model.open();
  REQUIRE(session);
  std::vector<float> x(kFloats), y(kFloats);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i % 65536);
  REQUIRE(runOnce(session.get(), x, y) == 0);
  for (size_t i = 0; i < x.size(); ++i)
    REQUIRE(y[i] == x[i] + 2);
  std::string log = fakeCudaLog();
  CHECK_THAT(log, Contains("HtoD 4194304 stream 1\nHtoD 4194304 stream 1\nHtoD 1049600 stream 1\n"));
  CHECK_THAT(log, Contains("DtoH 4194304 stream 3\nDtoH 4194304 stream 3\nDtoH 1049600 stream 3\n"));
}

TEST_CASE("a GPU that is not there, or too small, is an error when the model is opened", "[cuda]") {
  CudaModel two(256, 2);
  CHECK_FALSE(two.open());
  CHECK_THAT(sluice_last_error(), Contains("device 'accel1': needs GPU number 1, and this computer has 1 GPUs"));
  CHECK(fakeCudaHeld() == 0);
  CudaModel model;
  fakeCudaReset(80, 2047);
  CHECK_FALSE(model.open());
  CHECK_THAT(sluice_last_error(), Contains("arena of 2048 bytes for memory 'accel0': CUDA_ERROR_OUT_OF_MEMORY (2)") &&
                                      Contains("compile for less memory"));
  CHECK(fakeCudaHeld() == 0);
  fakeCudaReset(80, kMemory);
  fakeCudaFail("cuDevicePrimaryCtxRetain", 0, 700, 0);
  CHECK_FALSE(model.open());
  CHECK_THAT(sluice_last_error(), Contains("device 'accel0': CUDA_ERROR_ILLEGAL_ADDRESS (700)"));
}

TEST_CASE("failures of the driver name the operator or the tensor, and the step after may run", "[cuda]") {
  struct Failure {
    const char *function;
    int from;
    const char *message;
  };
  for (const Failure &failure : {Failure{"cuLaunchKernel", 1, "operator 'second'"},
                                 {"cuLaunchKernel", 0, "operator 'first'"},
                                 {"cuMemcpyHtoDAsync_v2", 0, "copy of tensor 't0'"},
                                 {"cuMemHostAlloc", 0, "copy of tensor 't0'"},
                                 {"cuMemcpyDtoHAsync_v2", 0, "copy of tensor 't0'"},
                                 {"cuStreamCreate", 1, "operator 'first'"},
                                 {"cuModuleLoadDataEx", 0, "operator 'first'"},
                                 {"cuEventRecord", 0, "copy of tensor 't0'"}}) {
    INFO(failure.function);
    CudaModel model;
    SessionPtr session = model.open();
    REQUIRE(session);
    fakeCudaFail(failure.function, failure.from, 700, 0);
    CHECK_THAT(errorOf(session.get()),
               Contains(failure.message) && Contains("device 'accel0': CUDA_ERROR_ILLEGAL_ADDRESS (700): as told"));
    fakeCudaFail("", 0, 0, 0);
    CHECK(errorOf(session.get()) == "");
  }
}

TEST_CASE("memory that runs out while a command runs fails the step, not the process", "[cuda]") {
  struct Failure {
    const char *function;
    const char *message;
  };
  for (const Failure &failure :
       {Failure{"cuLaunchKernel", "operator 'first' failed"}, {"cuMemcpyHtoDAsync_v2", "copy of tensor 't0' failed"}}) {
    CudaModel model;
    SessionPtr session = model.open();
    REQUIRE(session);
    fakeCudaFail(failure.function, 0, kFakeCudaThrows, 0);
    CHECK_THAT(errorOf(session.get()),
               Contains(failure.message) && Contains("the system gave no more memory: std::bad_alloc"));
    fakeCudaFail("", 0, 0, 0);
    CHECK(errorOf(session.get()) == "");
  }
}

TEST_CASE("a GPU that is lost fails every step, and closing is clean", "[cuda]") {
  CudaModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  CHECK(errorOf(session.get()) == "");
  fakeCudaFail("cuStreamSynchronize", 0, 700, 1);
  for (int i = 0; i < 3; ++i)
    CHECK_THAT(errorOf(session.get()), Contains("CUDA_ERROR_ILLEGAL_ADDRESS"));
  session.reset();
  CHECK(fakeCudaHeld() == 0);
}

TEST_CASE("code for another GPU is reported", "[cuda]") {
  CudaModel model;
  images[0].architecture = 89;
  SessionPtr session = model.open();
  REQUIRE(session);
  CHECK_THAT(errorOf(session.get()), Contains("operator 'first'") &&
                                         Contains("code for sm_89, sm_90 and the GPU is sm_80") &&
                                         Contains("--target cuda:sm_80"));
  // The newest that it can run, but a binary only as it is.
  CudaModel newest(256, 1, 75);
  session = newest.open();
  REQUIRE(session);
  CHECK_THAT(errorOf(session.get()), Contains("CUDA_ERROR_INVALID_PTX (218)") && Contains("line 1: syntax error"));
  images[1].is_binary = 1;
  session = newest.open();
  REQUIRE(session);
  CHECK(errorOf(session.get()) == "");
}

TEST_CASE("a kernel that its module does not have is reported as missing", "[cuda]") {
  CudaModel model;
  SessionPtr session = model.open();
  REQUIRE(session);
  sluice_grid kept = addOne;
  addOne.name = "other";
  CHECK_THAT(errorOf(session.get()), Contains("operator 'first'") && Contains("CUDA_ERROR_NOT_FOUND (500)"));
  addOne = kept;
}
