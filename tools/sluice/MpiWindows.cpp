//===- MpiWindows.cpp -----------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "MpiWindows.h"

#include "RankGroup.h"
#include "sluice/Runtime/mpi.h"

namespace sluice::driver {
namespace {

class MpiWindows final : public Windows {
public:
  using Destroy = void (*)(const sluice_windows *);
  MpiWindows(const sluice_windows *windows, Destroy destroy) : windows(*windows), destroy(destroy) {}
  MpiWindows(const MpiWindows &) = delete;
  MpiWindows &operator=(const MpiWindows &) = delete;
  ~MpiWindows() override { destroy(&windows); }

  int64_t rank() const override { return windows.rank; }
  int64_t numRanks() const override { return windows.num_ranks; }
  Status write(int64_t owner, int64_t first, std::span<const double> values) override {
    return statusOf(windows.write(windows.self, static_cast<uint32_t>(owner), first, values.data(), sizeOf(values)));
  }
  Status add(int64_t owner, int64_t first, std::span<const double> values) override {
    return statusOf(windows.add(windows.self, static_cast<uint32_t>(owner), first, values.data(), sizeOf(values)));
  }
  Status read(int64_t owner, int64_t first, std::span<double> values) override {
    return statusOf(windows.read(windows.self, static_cast<uint32_t>(owner), first, values.data(), sizeOf(values)));
  }
  Status advance(RankCounter counter) override {
    return statusOf(windows.advance(windows.self, static_cast<uint32_t>(counter)));
  }
  Expected<int64_t> count(int64_t owner, RankCounter counter) override {
    int64_t value = 0;
    SLUICE_RETURN_IF_ERROR(statusOf(
        windows.read_counter(windows.self, static_cast<uint32_t>(owner), static_cast<uint32_t>(counter), &value)));
    return value;
  }

private:
  static int64_t sizeOf(std::span<const double> values) { return static_cast<int64_t>(values.size()); }
  Status statusOf(int32_t failed) const {
    return failed == 0 ? Status() : Status(makeError(ErrorCode::Io, windows.error(windows.self)));
  }

  const sluice_windows &windows;
  const Destroy destroy;
};

} // namespace

Expected<std::unique_ptr<Windows>> createMpiWindows(int64_t doubles) {
  const auto create = reinterpret_cast<decltype(&sluice_mpi_windows_create)>(mpiFunction("sluice_mpi_windows_create"));
  const auto destroy =
      reinterpret_cast<decltype(&sluice_mpi_windows_destroy)>(mpiFunction("sluice_mpi_windows_destroy"));
  if (!create || !destroy)
    return makeError(ErrorCode::Unsupported,
                     "the installed libsluice_mpi does not support barriers, option '--barrier', ",
                     "install the libsluice_mpi of this release");
  const char *problem = "";
  const sluice_windows *windows = create(kNumRankCounters, doubles, &problem);
  if (!windows)
    return makeError(ErrorCode::Io, problem, ", option '--barrier', use fewer ranks or a smaller model");
  return std::make_unique<MpiWindows>(windows, destroy);
}

} // namespace sluice::driver
