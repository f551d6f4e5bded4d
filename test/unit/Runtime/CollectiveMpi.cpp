//===- CollectiveMpi.cpp - Collectives among processes --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mpirun starts this. `--lose N`: rank N ends while the others wait for it.
// `--differ N`: rank N sends less than the others wait for. `--funneled`: MPI was
// started before, for its main thread only.
//
//===----------------------------------------------------------------------===//
#include "CollectiveCheck.h"
#include "sluice/Runtime/mpi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>
#include <numeric>
#include <vector>

int main(int argc, char **argv) {
  const bool isFunneled = argc == 2 && std::strcmp(argv[1], "--funneled") == 0;
  int provided = 0;
  if (isFunneled)
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  const char *error = nullptr;
  const sluice_communicator *communicator = sluice_mpi_start(&error);
  if (!communicator) {
    std::fprintf(stderr, "error: %s\n", error);
    return 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "--lose") == 0 && communicator->rank == std::strtoul(argv[2], nullptr, 10))
    sluice_mpi_stop("it was told to end");
  if (argc == 3 && std::strcmp(argv[1], "--differ") == 0) {
    const bool isShort = communicator->rank == std::strtoul(argv[2], nullptr, 10);
    std::vector<uint32_t> members(communicator->num_ranks);
    std::iota(members.begin(), members.end(), 0U);
    const double sent = 0;
    std::vector<double> got(members.size());
    std::vector<const void *> send(members.size(), &sent);
    std::vector<void *> receive;
    for (double &each : got)
      receive.push_back(&each);
    const std::vector<int64_t> whole(members.size(), 8);
    std::vector<int64_t> sizes(members.size(), isShort ? 4 : 8);
    sizes[communicator->rank] = 8;
    const int32_t failed = communicator->exchange(communicator->self, members.data(), communicator->num_ranks,
                                                  send.data(), sizes.data(), receive.data(), whole.data());
    sluice_mpi_stop(failed ? communicator->error(communicator->self) : nullptr);
    return 0;
  }
  std::string wrong = sluice::test::checkCollectives(*communicator, communicator->num_ranks, 200);
  // What MPI gives may be more than was asked for.
  if (communicator->calling_thread != (isFunneled && provided < MPI_THREAD_SERIALIZED) ||
      communicator->host_rank != communicator->rank)
    wrong = "another thread, or place on this host";
  sluice_mpi_stop(wrong.empty() ? nullptr : wrong.c_str());
  if (isFunneled)
    MPI_Finalize();
  if (communicator->rank == 0)
    std::printf("%u ranks agree%s\n", communicator->num_ranks, isFunneled ? ", on their main threads" : "");
  return 0;
}
