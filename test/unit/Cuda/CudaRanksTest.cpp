//===- CudaRanksTest.cpp - Collectives on a fake driver's GPUs ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Cuda/CudaRanks.h"
#include "../Skip.h"
#include "FakeCuda.h"
#include "FakeNccl.h"
#include "GpuRanks.h"

#include <cstdio>
#include <cstdlib>

using namespace sluice;
using namespace sluice::test;
using Catch::Contains;

namespace {

/// As new, `gpus` of them; nothing of the driver's is kept.
struct FakeGpus {
  explicit FakeGpus(int gpus) {
    fakeNcclReset();
    fakeCudaResetTo(80, 1l << 30, gpus);
  }
  ~FakeGpus() { CHECK(fakeCudaHeld() == 0); }
};
struct FakeGpuRanks : FakeGpus, GpuRanks {
  explicit FakeGpuRanks(int gpus, bool trace = false, TestModel::Program program = collectiveProgram)
      : FakeGpus(gpus), GpuRanks(trace, program) {}
};

/// This rank's four columns of 4 x 16 floats.
int32_t shardKernel(const sluice_kernel_env *env, void **args) {
  sluice_collective cut{};
  cut.bytes = 256, cut.split_outer = 4, cut.split_inner = 16;
  cut.num_axes = 1, cut.axes[0] = {kRanks, 1};
  return env->collective(env->ranks, SLUICE_COLLECTIVE_SHARD, args, &cut, sizeof cut);
}

/// A sum on one stream and a part of its operand on another, 256 and 64 bytes of the result.
int32_t shardBeside(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const sluice_slot operand = arenaSlot(1, 0, 256), workspace = arenaSlot(1, 2 * kBytes, kWorkspace);
  const uint32_t in = issue.copy(streamOf(1, SLUICE_STREAM_IN), operand, inputSlot(256));
  const uint32_t summed =
      issue.launch(kStream, collectiveKernel, {operand, arenaSlot(1, kBytes, 256), workspace}, {in});
  const uint32_t cut = issue.launch(streamOf(1, SLUICE_STREAM_COMPUTE), shardKernel,
                                    {operand, arenaSlot(1, kBytes + 256, 64), workspace}, {in}, 1);
  issue.copy(streamOf(1, SLUICE_STREAM_OUT), outputSlot(320), arenaSlot(1, kBytes, 320), {summed, cut});
  return issue.failed;
}

} // namespace

TEST_CASE("random collectives on GPUs do what abi.h says, by NCCL and by way of the host", "[cuda]") {
  for (int gpus : {static_cast<int>(kRanks), 1}) {
    FakeGpuRanks ranks(gpus);
    std::mt19937 random(static_cast<unsigned>(gpus));
    for (uint32_t i = 0; i < 60; ++i)
      checkRandomStep(ranks, random, i);
    CHECK(ranks.exchange(2) == (gpus == 1 ? "the host's memory, for ranks 0 and 1 share a GPU" : "NCCL 2.21.5"));
  }
}

TEST_CASE("sums on GPUs have the bits of sums on the host, and are two exchanges", "[cuda]") {
  const auto operands = chooseSum();
  FakeGpuRanks ranks(kRanks);
  for (int step = 0; step < 2; ++step) {
    const auto results = ranks.step(operands);
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      CHECK(ranks.errors[rank] == "");
      CHECK(results[rank] == sumOf(operands));
    }
  }
  // Of 16 floats to and from each other rank, straight out of the GPU's memory.
  const std::string once = "send 64 to 0\nrecv 64 from 0\nsend 64 to 2\nrecv 64 from 2\n"
                           "send 64 to 3\nrecv 64 from 3\nend\n";
  CHECK(fakeNcclLog(1) == "init 4\n" + once + once + once + once);
  const std::string log = fakeCudaLog();
  CHECK_THAT(log, Contains("launch sluice_combine_f32_sum stream"));
  // Nothing but the operands in and the results out passes the host.
  for (const char *way : {"HtoD", "DtoH"}) {
    int count = 0;
    for (size_t at = 0; (at = log.find(way, at)) != std::string::npos; ++at)
      ++count;
    CHECK(count == 2 * kRanks);
  }
}

TEST_CASE("what sends nothing runs beside exchanges", "[cuda]") {
  const auto operands = chooseSum();
  resultBytes = 320;
  for (int gpus : {static_cast<int>(kRanks), 1})
    for (int session = 0; session < 5; ++session) {
      FakeGpuRanks ranks(gpus, /*trace=*/false, shardBeside);
      for (int step = 0; step < 4; ++step) {
        const auto results = ranks.step(operands);
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
          std::vector<char> expected = sumOf(operands);
          for (int row = 0; row < 4; ++row) {
            const auto from = operands[rank].begin() + row * 64 + rank * 16;
            expected.insert(expected.end(), from, from + 16);
          }
          CHECK(ranks.errors[rank] == "");
          CHECK(results[rank] == expected);
        }
      }
    }
}

TEST_CASE("steps of ranks are not recorded, and say why", "[cuda]") {
  const auto operands = chooseSum();
  for (int gpus : {static_cast<int>(kRanks), 1}) {
    FakeGpuRanks ranks(gpus);
    for (int step = 0; step < 3; ++step)
      CHECK(ranks.step(operands)[3] == sumOf(operands));
    for (uint32_t rank = 0; rank < kRanks; ++rank)
      CHECK(ranks.notes(rank) ==
            "steps run command by command: ranks exchange data, and the host waits for each exchange\n");
    CHECK_THAT(std::string(fakeCudaLog()), !Contains("graph"));
  }
}

TEST_CASE("an exchange that is traced took from its first command to its last", "[cuda]") {
  constexpr int64_t kSecond = 1'000'000'000;
  const auto operands = chooseSum();
  FakeGpuRanks ranks(1, /*trace=*/true);
  fakeCudaTick(kSecond);
  ranks.step(operands);
  // By way of the host: four parts out and four in, combined, one out to all and four in.
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    CHECK(ranks.tookNs(rank) > 13 * kSecond);
  fakeCudaTick(0);
}

TEST_CASE("what NCCL refuses is an error that names the collective, on all ranks", "[cuda]") {
  const auto operands = chooseSum();
  for (const char *function : {"ncclSend", "ncclRecv", "ncclGroupEnd", "async", "ncclCommGetAsyncError"}) {
    INFO(function);
    FakeGpuRanks ranks(kRanks);
    fakeNcclFail(function, 1, 0, 6);
    // Who does not come is what an error of the communicator is about.
    if (std::string(function) == "async" || std::string(function) == "ncclCommGetAsyncError")
      fakeNcclFail("ncclGroupEnd", 3, 0, 2);
    ranks.step(operands);
    CHECK(ranks.errors[1] == "operator 'first' failed: device 'accel0': NCCL failed: remote process exited (6)");
    for (uint32_t rank : {0u, 2u})
      CHECK(ranks.errors[rank] ==
            "operator 'first' failed: device 'accel0': another rank has stopped, see the error of that rank");
    CHECK_THAT(fakeNcclLog(0), Catch::EndsWith("abort\n"));
    ranks.step(operands);
    CHECK_THAT(
        ranks.errors[0],
        Contains("an earlier step failed, so ranks may be at different points of the program, open the model again"));
  }
}

TEST_CASE("where NCCL does not start the host's memory serves, or the step fails", "[cuda]") {
  const auto operands = chooseSum();
  {
    FakeGpuRanks ranks(kRanks);
    fakeNcclFail("ncclGetUniqueId", 0, 0, 2);
    CHECK(ranks.step(operands)[3] == sumOf(operands));
    CHECK(ranks.exchange(0) == "the host's memory, for NCCL failed: as told (2)");
    CHECK(ranks.exchange(3) == "the host's memory, for rank 0 has no NCCL");
  }
  FakeGpuRanks ranks(kRanks);
  fakeNcclFail("ncclCommInitRank", -1, 0, 5);
  ranks.step(operands);
  // Who is slow may learn it from another that has left.
  for (const std::string &error : ranks.errors)
    CHECK_THAT(error,
               Catch::StartsWith("operator 'first' failed: device 'accel0': ") &&
                   Catch::EndsWith("NCCL does not start: as told (5), run with NCCL_DEBUG=WARN to see the reason"));
}

TEST_CASE("failures of the driver around an exchange name the collective", "[cuda]") {
  const auto operands = chooseSum();
  for (auto [function, gpus] : {std::pair{"cuLaunchKernel", 4},
                                {"cuStreamQuery", 4},
                                {"cuMemcpyDtoDAsync_v2", 4},
                                {"cuLaunchKernel", 1},
                                {"cuDeviceGetUuid", 4},
                                {"cuModuleLoadDataEx", 1}}) {
    INFO(function << " on " << gpus << " GPUs");
    FakeGpuRanks ranks(gpus);
    fakeCudaFail(function, 0, 700, 0);
    ranks.step(operands);
    int named = 0;
    for (const std::string &error : ranks.errors)
      named += error.find("operator 'first' failed: device 'accel0': CUDA_ERROR_ILLEGAL_ADDRESS (700)") == 0;
    CHECK(named > 0);
    fakeCudaFail("", 0, 0, 0);
  }
}

TEST_CASE("the code that joins ranks' parts assembles", "[cuda]") {
  if (std::system("command -v ptxas >/dev/null") != 0)
    return skip("ptxas is not installed");
  for (const char *architecture : {"sm_80", "sm_90"}) {
    FILE *ptxas = popen((std::string("ptxas -o /dev/null -arch ") + architecture + " /dev/stdin").c_str(), "w");
    REQUIRE(ptxas);
    const std::string text = runtime::collectivePtx();
    CHECK(std::fwrite(text.data(), 1, text.size(), ptxas) == text.size());
    CHECK(pclose(ptxas) == 0);
  }
}
