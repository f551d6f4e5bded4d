//===- Mpi.cpp - Ranks that MPI started -----------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "sluice/Runtime/mpi.h"
#include "MpiWorld.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

/// One message's bytes; MPI counts in int.
constexpr int64_t kPiece = int64_t(1) << 30;
constexpr int kTag = 1;

struct World {
  MPI_Comm comm = MPI_COMM_NULL;
  bool owned = false;
  sluice_communicator communicator{};
  std::string error;
  std::vector<MPI_Request> requests;
  std::vector<MPI_Status> statuses;

  bool succeeded(int code) { return sluice::runtime::succeeded(code, error); }

  int32_t exchange(const uint32_t *members, uint32_t count, const void *const *send, const int64_t *sendBytes,
                   void *const *receive, const int64_t *receiveBytes) {
    requests.clear();
    for (bool receives : {true, false})
      for (uint32_t i = 0; i < count; ++i) {
        if (members[i] == communicator.rank)
          continue;
        const int64_t bytes = receives ? receiveBytes[i] : sendBytes[i];
        for (int64_t done = 0; done < bytes; done += kPiece) {
          const int piece = static_cast<int>(std::min(kPiece, bytes - done)), other = static_cast<int>(members[i]);
          MPI_Request &request = requests.emplace_back();
          const int code =
              receives
                  ? MPI_Irecv(static_cast<char *>(receive[i]) + done, piece, MPI_BYTE, other, kTag, comm, &request)
                  : MPI_Isend(static_cast<const char *>(send[i]) + done, piece, MPI_BYTE, other, kTag, comm, &request);
          if (!succeeded(code))
            return 1;
        }
      }
    for (uint32_t i = 0; i < count; ++i)
      if (members[i] == communicator.rank) {
        if (sendBytes[i] != receiveBytes[i])
          return disagree(members[i]);
        if (sendBytes[i] > 0)
          std::memcpy(receive[i], send[i], static_cast<size_t>(sendBytes[i]));
      }
    statuses.resize(requests.size());
    const int code = waitForAll();
    for (const MPI_Status &status : statuses)
      if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR == MPI_ERR_TRUNCATE)
        return disagree(static_cast<uint32_t>(status.MPI_SOURCE));
      else if (code == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_ERR_PENDING && !succeeded(status.MPI_ERROR))
        return 1;
    if (!succeeded(code))
      return 1;
    // Receives were asked for first, in this order.
    size_t next = 0;
    for (uint32_t i = 0; i < count; ++i)
      for (int64_t done = 0; members[i] != communicator.rank && done < receiveBytes[i]; done += kPiece) {
        int got = 0;
        MPI_Get_count(&statuses[next++], MPI_BYTE, &got);
        if (got != std::min(kPiece, receiveBytes[i] - done))
          return disagree(members[i]);
      }
    return 0;
  }

  /// As MPI_Waitall, which would take a core from what computes meanwhile.
  int waitForAll() {
    constexpr auto kSpin = std::chrono::microseconds(50), kNap = std::chrono::microseconds(20);
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      int done = 0;
      const int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, statuses.data());
      if (code != MPI_SUCCESS || done)
        return code;
      if (std::chrono::steady_clock::now() - begin > kSpin)
        std::this_thread::sleep_for(kNap);
    }
  }

  int32_t disagree(uint32_t other) {
    error = "rank " + std::to_string(other) + " sends sizes that differ from those that rank " +
            std::to_string(communicator.rank) +
            " waits for, so they run different programs, give all ranks the same compiled model";
    return 1;
  }
};

World &world() {
  static World instance;
  return instance;
}

} // namespace

MPI_Comm sluice::runtime::mpiWorld() { return world().comm; }

bool sluice::runtime::succeeded(int code, std::string &error) {
  if (code == MPI_SUCCESS)
    return true;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  error = "MPI failed: " + std::string(text, static_cast<size_t>(length));
  return false;
}

extern "C" {

const sluice_communicator *sluice_mpi_start(const char **error) {
  World &own = world();
  auto failed = [&] {
    if (error)
      *error = own.error.c_str();
    return nullptr;
  };
  int initialised = 0, provided = 0, rank = 0, ranks = 0, hostRank = 0;
  if (!own.succeeded(MPI_Initialized(&initialised)))
    return failed();
  // Collectives run on a stream's thread, one at a time; where MPI serves its main
  // thread only, on that.
  if (!initialised && !own.succeeded(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)))
    return failed();
  own.owned = !initialised;
  if (!own.succeeded(MPI_Query_thread(&provided)))
    return failed();
  if (!own.succeeded(MPI_Comm_dup(MPI_COMM_WORLD, &own.comm)) ||
      !own.succeeded(MPI_Comm_set_errhandler(own.comm, MPI_ERRORS_RETURN)) ||
      !own.succeeded(MPI_Comm_rank(own.comm, &rank)) || !own.succeeded(MPI_Comm_size(own.comm, &ranks)))
    return failed();
  MPI_Comm host = MPI_COMM_NULL;
  if (!own.succeeded(MPI_Comm_split_type(own.comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host)) ||
      !own.succeeded(MPI_Comm_rank(host, &hostRank)) || !own.succeeded(MPI_Comm_free(&host)))
    return failed();
  own.communicator = {sizeof(sluice_communicator),
                      static_cast<uint32_t>(rank),
                      static_cast<uint32_t>(ranks),
                      &own,
                      [](void *self, const uint32_t *members, uint32_t count, const void *const *send,
                         const int64_t *sendBytes, void *const *receive, const int64_t *receiveBytes) {
                        return static_cast<World *>(self)->exchange(members, count, send, sendBytes, receive,
                                                                    receiveBytes);
                      },
                      [](void *self) { return static_cast<World *>(self)->error.c_str(); },
                      /*calling_thread=*/provided < MPI_THREAD_SERIALIZED,
                      static_cast<uint32_t>(hostRank),
                      /*is_broken=*/nullptr}; // A failure ends all processes.
  return &own.communicator;
}

void sluice_mpi_stop(const char *reason) {
  World &own = world();
  if (own.comm == MPI_COMM_NULL)
    return;
  if (reason) {
    std::fprintf(stderr, "error: rank %u: %s\n", own.communicator.rank, reason);
    std::fflush(stderr);
    MPI_Abort(own.comm, 1);
  }
  MPI_Comm_free(&own.comm);
  if (own.owned)
    MPI_Finalize();
}
}
