//===- CollectiveMpi.cpp - Collectives among processes --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// mpirun starts this. `--lose N`: rank N ends while the others wait for it.
//
//===----------------------------------------------------------------------===//
#include "CollectiveCheck.h"
#include "sluice/Runtime/mpi.h"

#include <cstdio>
#include <cstdlib>

int main(int argc, char **argv) {
  const char *error = nullptr;
  const sluice_communicator *communicator = sluice_mpi_start(&error);
  if (!communicator) {
    std::fprintf(stderr, "error: %s\n", error);
    return 1;
  }
  if (argc == 3 && std::strcmp(argv[1], "--lose") == 0 && communicator->rank == std::strtoul(argv[2], nullptr, 10))
    sluice_mpi_stop("it was told to end");
  const std::string wrong = sluice::test::checkCollectives(*communicator, communicator->num_ranks, 200);
  sluice_mpi_stop(wrong.empty() ? nullptr : wrong.c_str());
  if (communicator->rank == 0)
    std::printf("%u ranks agree\n", communicator->num_ranks);
  return 0;
}
