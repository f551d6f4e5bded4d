//===- CudaLibraryModel.h - Models that ask libraries -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_CUDA_CUDALIBRARYMODEL_H
#define SLUICE_TEST_UNIT_CUDA_CUDALIBRARYMODEL_H

#include "CudaModel.h"

#include <cstdlib>
#include <vector>

namespace sluice::test {

inline constexpr int64_t kScratch = 256, kLibraryFloats = 256;
inline uint32_t libraryFunction;
inline std::string librarySettings;
inline int64_t lhsFloats, rhsFloats;
/// Where the library did nothing: what the kernel does instead.
inline bool usesGrid;
/// The library is asked once more, to add to what it has made.
inline bool addsAgain;

/// args: lhs, rhs, result, workspace.
inline int32_t libraryKernel(const sluice_kernel_env *env, void **args) {
  int32_t status = env->library(env->libraries, libraryFunction, args, librarySettings.data(),
                                static_cast<int64_t>(librarySettings.size()));
  if (status == 0 && addsAgain)
    status = env->library(env->libraries, libraryFunction | SLUICE_LIBRARY_ACCUMULATE, args, librarySettings.data(),
                          static_cast<int64_t>(librarySettings.size()));
  if (status != SLUICE_LIBRARY_ABSENT)
    return status;
  usesGrid = true;
  void *instead[] = {args[2], args[2]};
  return env->launch_grid(env->grids, &addOne, instead);
}

/// The input is lhs, then rhs; the result is the whole output.
inline int32_t askLibrary(const sluice_api *api, sluice_context *context) {
  Issuer issue{api, context};
  const int64_t bytes = bytesOfStep;
  sluice_slot both = arenaSlot(1, 0, bytes), result = arenaSlot(1, bytes, bytes);
  uint32_t in = issue.copy(kIn, both, inputSlot(bytes));
  uint32_t made = issue.launch(kCompute, libraryKernel,
                               {arenaSlot(1, 0, 4 * lhsFloats), arenaSlot(1, 4 * lhsFloats, 4 * rhsFloats), result,
                                arenaSlot(1, 2 * bytes, kScratch)},
                               {in});
  issue.copy(kOut, outputSlot(bytes), result, {made});
  return issue.failed;
}

template <typename Settings>
Settings withScratch(Settings what) {
  what.workspace_bytes = kScratch;
  return what;
}

/// One kernel that asks a library, of kLibraryFloats in and out.
struct LibraryModel : CudaModel {
  template <typename Settings>
  LibraryModel(uint32_t function, const Settings &what, int64_t lhs, int64_t rhs)
      : CudaModel(kLibraryFloats, 1, 90, askLibrary) {
    libraryFunction = function;
    ask(what);
    memories[1].arena_bytes = 2 * bytesOfStep + kScratch;
    memories[1].capacity_bytes = memories[1].arena_bytes;
    lhsFloats = lhs, rhsFloats = rhs;
    REQUIRE(lhsFloats + rhsFloats <= kLibraryFloats);
    usesGrid = addsAgain = false;
  }
  /// From the next step on.
  template <typename Settings>
  void ask(const Settings &what) {
    librarySettings.assign(reinterpret_cast<const char *>(&what), sizeof what);
  }
};

/// Small integers: sums are exact in any order.
inline std::vector<float> numbers() {
  std::vector<float> x(kLibraryFloats);
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(static_cast<int>(i * 7 % 13) - 6);
  return x;
}

/// CHECKs that a step has no more of the GPU's time than its command: opening and asking the library is the host's.
inline void checkTimeOf(LibraryModel &model) {
  constexpr int64_t kSecond = 1'000'000'000, kMillisecond = 1'000'000;
  SessionPtr session = model.open(nullptr, /*trace=*/true);
  REQUIRE(session);
  fakeCudaTick(kSecond);
  REQUIRE(errorOf(session.get()) == "");
  size_t count = 0;
  const sluice_device_time *times = sluice_device_times(session.get(), &count);
  REQUIRE(count == 3);
  CHECK_FALSE(usesGrid);
  CHECK(std::abs(times[1].end_ns - times[1].start_ns - kSecond) < kMillisecond);
}

/// How a library is to multiply operands of a type: a part of the driver's log.
struct Arithmetic {
  int64_t type, precision;
  const char *line;
};
template <typename Model, typename Settings>
void checkArithmetic(Settings what, const std::vector<Arithmetic> &cases) {
  for (const Arithmetic &each : cases) {
    what.element_type = each.type, what.precision = each.precision;
    Model model(what);
    SessionPtr session = model.open();
    REQUIRE(session);
    REQUIRE(errorOf(session.get()) == "");
    CHECK_THAT(std::string(fakeCudaLog()), Catch::Contains(each.line));
  }
}

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_CUDA_CUDALIBRARYMODEL_H
