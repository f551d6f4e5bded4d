//===- GpuRanks.h - Ranks with a GPU each -----------------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Sessions of one model, whose step is one collective in a GPU's memory.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_GPURANKS_H
#define SLUICE_TEST_UNIT_CUDA_GPURANKS_H

#include "CollectiveCheck.h"
#include "TestModel.h"

#include <algorithm>
#include <deque>
#include <thread>

namespace sluice::test {

inline constexpr uint32_t kRanks = 4, kStream = 6; ///< The GPU's for exchanges, behind three of each device.
inline constexpr int64_t kFloats = 4096, kBytes = 4 * kFloats, kWorkspace = 8 * kBytes;
inline constexpr int64_t kPlanned[kRanks] = {};

/// What all ranks do in the step at hand.
inline uint32_t kind;
inline sluice_collective what;
inline int64_t resultBytes;

inline int32_t collectiveKernel(const sluice_kernel_env *env, void **args) {
  return env->collective(env->ranks, kind, args, &what, sizeof what);
}

inline int32_t collectiveProgram(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const sluice_slot operand = arenaSlot(1, 0, what.bytes), result = arenaSlot(1, kBytes, resultBytes);
  const uint32_t in = issue.copy(streamOf(1, SLUICE_STREAM_IN), operand, inputSlot(what.bytes));
  const uint32_t done =
      issue.launch(kStream, collectiveKernel, {operand, result, arenaSlot(1, 2 * kBytes, kWorkspace)}, {in});
  issue.copy(streamOf(1, SLUICE_STREAM_OUT), outputSlot(resultBytes), result, {done});
  return issue.failed;
}

struct GpuModel : TestModel {
  explicit GpuModel(Program step) : TestModel(step, kFloats, 1, 2 * kBytes + kWorkspace) {
    devices[1].kind = SLUICE_DEVICE_CUDA;
    streams.push_back({sizeof(sluice_stream_desc), 1, SLUICE_STREAM_COMMUNICATE});
    model.num_ranks = kRanks, model.planned_bytes_sent = kPlanned;
  }
};

/// The ranks' sessions, opened as they will be used: by a thread each.
class GpuRanks {
public:
  explicit GpuRanks(bool trace = false, TestModel::Program program = collectiveProgram)
      : group(sluice_local_group_create(kRanks)), sessions(kRanks) {
    for (uint32_t rank = 0; rank < kRanks; ++rank)
      models.emplace_back(program);
    each([&](uint32_t rank) {
      sluice_options options{sizeof(sluice_options), 1, trace, 0, sluice_local_group_member(group, rank), nullptr};
      sessions[rank].reset(sluice_open_model(models[rank].get(), nullptr, 0, &options));
      if (!sessions[rank])
        errors[rank] = sluice_last_error();
    });
  }
  ~GpuRanks() {
    sessions.clear();
    sluice_local_group_destroy(group);
  }
  GpuRanks(const GpuRanks &) = delete;
  GpuRanks &operator=(const GpuRanks &) = delete;

  /// Every rank's result, or its error in `errors`; as in a program, who fails leaves.
  std::vector<std::vector<char>> step(const std::vector<std::vector<char>> &operands) {
    std::vector<std::vector<char>> results(kRanks);
    each([&](uint32_t rank) {
      std::vector<float> x(kFloats), y(kFloats);
      std::copy(operands[rank].begin(), operands[rank].end(), reinterpret_cast<char *>(x.data()));
      errors[rank].clear();
      if (runOnce(sessions[rank].get(), x, y) != 0) {
        errors[rank] = sluice_last_error();
        sluice_local_group_leave(group, rank, errors[rank].c_str());
        return;
      }
      const auto *bytes = reinterpret_cast<const char *>(y.data());
      results[rank].assign(bytes, bytes + resultBytes);
      auto own = runtime::groupOf(kind, what, rank, kRanks);
      if (statsOf(sessions[rank].get()).bytes_sent != runtime::bytesSent(kind, what, *own))
        errors[rank] = "other bytes sent";
    });
    return results;
  }

  std::string exchange(uint32_t rank) const {
    const char *how = statsOf(sessions[rank].get()).device_exchange;
    return how ? how : "";
  }
  std::string notes(uint32_t rank) const { return sluice_notes(sessions[rank].get()); }
  /// Of the last step's collective, by the GPU's own clock; of ranks that trace.
  int64_t tookNs(uint32_t rank) const {
    size_t count = 0;
    const sluice_command_time *times = sluice_trace(sessions[rank].get(), &count);
    const auto *launch = std::find_if(times, times + count, [](const auto &time) { return time.op != UINT32_MAX; });
    REQUIRE(launch != times + count);
    const sluice_device_time &ran = sluice_device_times(sessions[rank].get(), &count)[launch - times];
    return ran.end_ns - ran.start_ns;
  }

  std::string errors[kRanks];

private:
  template <typename Body>
  static void each(const Body &body) {
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] { body(rank); });
    for (std::thread &thread : threads)
      thread.join();
  }

  sluice_local_group *group;
  std::deque<GpuModel> models; ///< Stay where they are.
  std::vector<SessionPtr> sessions;
};

/// One step of a random collective of all or some ranks, as abi.h defines it.
inline void checkRandomStep(GpuRanks &ranks, std::mt19937 &random, uint32_t seed) {
  const RandomCollective drawn(random, kRanks);
  kind = drawn.kind, what = drawn.what, resultBytes = drawn.resultBytes;
  std::vector<std::vector<char>> operands;
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    operands.push_back(operandOf(drawn, rank, seed));
  const auto results = ranks.step(operands);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    INFO("collective " << seed << " of kind " << kind << ", rank " << rank);
    REQUIRE(ranks.errors[rank] == "");
    auto group = runtime::groupOf(kind, what, rank, kRanks);
    std::vector<std::vector<char>> members;
    for (uint32_t member : group->members)
      members.push_back(operands[member]);
    REQUIRE(results[rank] == expectedOf(drawn, members, group->position));
  }
}

/// A sum of 64 floats of each rank, which depends on their order.
inline std::vector<std::vector<char>> chooseSum() {
  kind = SLUICE_COLLECTIVE_ALL_REDUCE;
  what = {};
  what.element_type = 1, what.bytes = resultBytes = 256;
  what.num_axes = 1, what.axes[0] = {kRanks, 1};
  std::vector<std::vector<char>> operands;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    std::mt19937 random(rank);
    std::vector<float> x(64);
    for (float &value : x)
      value = std::uniform_real_distribution<float>(-1, 1)(random);
    const auto *bytes = reinterpret_cast<const char *>(x.data());
    operands.emplace_back(bytes, bytes + 256);
  }
  return operands;
}

/// On the host, by the order of ranks.
inline std::vector<char> sumOf(const std::vector<std::vector<char>> &operands) {
  std::vector<char> sum = operands[0];
  auto *into = reinterpret_cast<float *>(sum.data());
  for (size_t rank = 1; rank < operands.size(); ++rank)
    for (size_t i = 0; i < 64; ++i)
      into[i] += reinterpret_cast<const float *>(operands[rank].data())[i];
  return sum;
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CUDA_GPURANKS_H
