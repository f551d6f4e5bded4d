//===- MpiWindows.cpp - Memory that ranks share one-sidedly ---------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// One MPI window for each rank, its counters before its doubles, which all ranks keep locked (shared) from creation to
// destruction. Writes, sums and reads are accumulate operations, because only those are atomic for each element.
//
//===----------------------------------------------------------------------===//
#include "MpiWorld.h"
#include "sluice/Runtime/mpi.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

/// Doubles of one operation; MPI counts in int.
constexpr int64_t kPiece = int64_t(1) << 24;

struct MpiWindows {
  MPI_Win window = MPI_WIN_NULL;
  bool isLocked = false;
  uint32_t numCounters = 0;
  int64_t numDoubles = 0;
  sluice_windows interface {};
  std::string error;

  bool succeeded(int code) { return sluice::runtime::succeeded(code, error); }

  bool create(uint32_t counters, int64_t doubles) {
    const MPI_Comm comm = sluice::runtime::mpiWorld();
    if (comm == MPI_COMM_NULL) {
      error = "the ranks have not been started, call sluice_mpi_start first";
      return false;
    }
    if (window != MPI_WIN_NULL || doubles < 0) {
      error = window != MPI_WIN_NULL ? "the windows already exist" : "windows cannot have a negative number of doubles";
      return false;
    }
    numCounters = counters, numDoubles = doubles;
    static_assert(sizeof(double) == sizeof(int64_t));
    void *memory = nullptr;
    const auto bytes = static_cast<MPI_Aint>((static_cast<int64_t>(counters) + doubles) * 8);
    if (!allocate(comm, bytes, memory) || !succeeded(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN)) ||
        !succeeded(MPI_Win_lock_all(MPI_MODE_NOCHECK, window)))
      return false;
    isLocked = true;
    std::memset(memory, 0, static_cast<size_t>(bytes));
    int rank = 0, ranks = 0;
    if (!succeeded(MPI_Win_sync(window)) || !succeeded(MPI_Barrier(comm)) || !succeeded(MPI_Comm_rank(comm, &rank)) ||
        !succeeded(MPI_Comm_size(comm, &ranks)))
      return false;
    interface.rank = static_cast<uint32_t>(rank), interface.num_ranks = static_cast<uint32_t>(ranks);
    return true;
  }

  /// Ranks of one host share memory. Open MPI's general windows would send messages between them, each of which takes
  /// milliseconds where ranks share cores.
  bool allocate(MPI_Comm comm, MPI_Aint bytes, void *&memory) {
    MPI_Comm host = MPI_COMM_NULL;
    int ranks = 0, hostRanks = 0;
    if (!succeeded(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host)) ||
        !succeeded(MPI_Comm_size(comm, &ranks)) || !succeeded(MPI_Comm_size(host, &hostRanks)) ||
        !succeeded(MPI_Comm_free(&host)))
      return false;
    // If one host has all ranks, every rank sees it, so all make the same call.
    if (hostRanks == ranks)
      return succeeded(MPI_Win_allocate_shared(bytes, 8, MPI_INFO_NULL, comm, &memory, &window));
    return succeeded(MPI_Win_allocate(bytes, 8, MPI_INFO_NULL, comm, &memory, &window));
  }

  bool isInside(uint32_t owner, int64_t first, int64_t count) {
    if (owner < interface.num_ranks && first >= 0 && count >= 0 && first <= numDoubles && count <= numDoubles - first)
      return true;
    error = std::to_string(count) + " doubles from " + std::to_string(first) + " on are outside of the window of " +
            std::to_string(numDoubles) + " doubles of rank " + std::to_string(owner);
    return false;
  }

  /// Calls `body(offset, count, displacement)` for pieces that MPI can count, and waits until they are done at the
  /// owner.
  template <typename Body>
  int32_t eachPiece(uint32_t owner, int64_t first, int64_t count, const Body &body) {
    if (!isInside(owner, first, count))
      return 1;
    for (int64_t done = 0; done < count; done += kPiece)
      if (!succeeded(body(done, static_cast<int>(std::min(kPiece, count - done)),
                          static_cast<MPI_Aint>(numCounters + first + done))))
        return 1;
    return succeeded(MPI_Win_flush(static_cast<int>(owner), window)) ? 0 : 1;
  }

  int32_t change(uint32_t owner, int64_t first, const double *values, int64_t count, MPI_Op op) {
    return eachPiece(owner, first, count, [&](int64_t offset, int size, MPI_Aint at) {
      return MPI_Accumulate(values + offset, size, MPI_DOUBLE, static_cast<int>(owner), at, size, MPI_DOUBLE, op,
                            window);
    });
  }

  int32_t read(uint32_t owner, int64_t first, double *values, int64_t count) {
    return eachPiece(owner, first, count, [&](int64_t offset, int size, MPI_Aint at) {
      return MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, values + offset, size, MPI_DOUBLE, static_cast<int>(owner), at,
                                size, MPI_DOUBLE, MPI_NO_OP, window);
    });
  }

  int32_t fetch(uint32_t owner, uint32_t counter, int64_t added, int64_t &value) {
    if (counter >= numCounters || owner >= interface.num_ranks) {
      error = "there is no counter " + std::to_string(counter) + " of rank " + std::to_string(owner);
      return 1;
    }
    const int target = static_cast<int>(owner);
    return succeeded(MPI_Fetch_and_op(&added, &value, MPI_INT64_T, target, static_cast<MPI_Aint>(counter),
                                      added == 0 ? MPI_NO_OP : MPI_SUM, window)) &&
                   succeeded(MPI_Win_flush(target, window))
               ? 0
               : 1;
  }

  void destroy() {
    if (isLocked)
      MPI_Win_unlock_all(window);
    if (window != MPI_WIN_NULL)
      MPI_Win_free(&window);
    isLocked = false;
  }
};

MpiWindows &windows() {
  static MpiWindows instance;
  return instance;
}

MpiWindows &of(void *self) { return *static_cast<MpiWindows *>(self); }

} // namespace

extern "C" {

const sluice_windows *sluice_mpi_windows_create(uint32_t num_counters, int64_t doubles, const char **error) {
  MpiWindows &own = windows();
  if (!own.create(num_counters, doubles)) {
    if (error)
      *error = own.error.c_str();
    return nullptr;
  }
  own.interface = {sizeof(sluice_windows),
                   own.interface.rank,
                   own.interface.num_ranks,
                   &own,
                   [](void *self, uint32_t owner, int64_t first, const double *values, int64_t count) {
                     return of(self).change(owner, first, values, count, MPI_REPLACE);
                   },
                   [](void *self, uint32_t owner, int64_t first, const double *values, int64_t count) {
                     return of(self).change(owner, first, values, count, MPI_SUM);
                   },
                   [](void *self, uint32_t owner, int64_t first, double *values, int64_t count) {
                     return of(self).read(owner, first, values, count);
                   },
                   [](void *self, uint32_t counter) -> int32_t {
                     // Each operation has been flushed, so nothing is under way.
                     int64_t before = 0;
                     return of(self).fetch(of(self).interface.rank, counter, 1, before);
                   },
                   [](void *self, uint32_t owner, uint32_t counter, int64_t *value) {
                     return of(self).fetch(owner, counter, 0, *value);
                   },
                   [](void *self) { return of(self).error.c_str(); }};
  return &own.interface;
}

void sluice_mpi_windows_destroy(const sluice_windows *windows) {
  if (windows)
    of(windows->self).destroy();
}
}
