//===- CudaModel.h - Models for a fake driver's GPU -------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_CUDAMODEL_H
#define SLUICE_TEST_UNIT_CUDA_CUDAMODEL_H

#include "FakeCuda.h"
#include "TestModel.h"

#include <cstdio>
#include <cstring>

namespace sluice::test {

inline constexpr uint32_t kCompute = streamOf(1, SLUICE_STREAM_COMPUTE);
inline constexpr uint32_t kIn = streamOf(1, SLUICE_STREAM_IN);
inline constexpr uint32_t kOut = streamOf(1, SLUICE_STREAM_OUT);
inline constexpr long kMemory = 1l << 30;
inline constexpr uint32_t kThreads = 256;

inline void addOneThread(const sluice_thread *self, void **args) {
  int64_t i = self->block * kThreads + self->thread;
  static_cast<float *>(args[1])[i] = static_cast<const float *>(args[0])[i] + 1;
}

/// "Code" that the fake driver reads.
inline const char *codeOf(sluice_thread_fn thread) {
  static char text[64];
  std::snprintf(text, sizeof text, "add_one %llx\n", reinterpret_cast<unsigned long long>(thread));
  return text;
}

inline sluice_image images[2];
inline sluice_grid addOne{sizeof(sluice_grid), "add_one", 1, kThreads, 0, 2, 0, nullptr, 2, images};

inline int32_t addOneKernel(const sluice_kernel_env *env, void **args) {
  return env->launch_grid(env->grids, &addOne, args);
}

inline int64_t bytesOfStep;

/// y = x + 2 on the GPU: in, two launches, out.
inline int32_t addTwice(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  sluice_slot a = arenaSlot(1, 0, bytesOfStep), b = arenaSlot(1, bytesOfStep, bytesOfStep);
  uint32_t in = issue.copy(kIn, a, inputSlot(bytesOfStep));
  issue.launch(kCompute, addOneKernel, {a, b}, {in});
  uint32_t made = issue.launch(kCompute, addOneKernel, {b, a}, {}, 1);
  issue.copy(kOut, outputSlot(bytesOfStep), a, {made});
  return issue.failed;
}

/// A model of `floats` floats on a GPU of sm_80, whose code is for sm_70 and sm_90.
struct CudaModel : TestModel {
  explicit CudaModel(int64_t floats = 256, uint32_t gpus = 1, uint32_t second = 90, Program step = addTwice)
      : TestModel(step, floats, gpus, 8 * floats) {
    for (size_t i = 1; i < devices.size(); ++i)
      devices[i].kind = SLUICE_DEVICE_CUDA;
    fakeCudaReset(80, kMemory);
    const char *code = codeOf(addOneThread);
    auto bytes = static_cast<int64_t>(std::strlen(code) + 1);
    images[0] = {sizeof(sluice_image), 70, 0, code, bytes};
    images[1] = {sizeof(sluice_image), second, 0, "nonsense", 9};
    addOne.blocks = static_cast<uint32_t>(floats / kThreads);
    bytesOfStep = 4 * floats;
  }
};

/// One step of zeros.
inline std::string errorOf(sluice_session *session, int64_t floats = 256) {
  std::vector<float> x(floats), y(floats);
  return runOnce(session, x, y) ? sluice_last_error() : "";
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CUDA_CUDAMODEL_H
