//===- RankGroup.cpp ------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "RankGroup.h"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

namespace sluice::driver {

namespace {
/// libsluice_mpi, loaded when asked for: the tools need no MPI.
struct Mpi {
  const sluice_communicator *(*start)(const char **error) = nullptr;
  void (*stop)(const char *reason) = nullptr;
  const sluice_communicator *communicator = nullptr;
  void *library = nullptr;
};
Mpi mpi;
} // namespace

bool isMpiProcess() {
  // What OpenMPI and MPICH tell the processes they start.
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char *size = std::getenv(name); size && std::atoll(size) > 1)
      return true;
  return false;
}

Expected<const sluice_communicator *> mpiCommunicator() {
  if (mpi.communicator)
    return mpi.communicator;
  constexpr const char *kLibrary = "libsluice_mpi.so.0";
  std::error_code ignored;
  const std::filesystem::path beside =
      std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path().parent_path() / "lib" / kLibrary;
  void *library = dlopen(beside.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    library = dlopen(kLibrary, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return makeError(ErrorCode::NotFound, "cannot load ", kLibrary, " for the ranks that mpirun started, ", dlerror(),
                     ", install libsluice-mpi");
  mpi.start = reinterpret_cast<decltype(mpi.start)>(dlsym(library, "sluice_mpi_start"));
  mpi.stop = reinterpret_cast<decltype(mpi.stop)>(dlsym(library, "sluice_mpi_stop"));
  if (!mpi.start || !mpi.stop)
    return makeError(ErrorCode::Unsupported, kLibrary,
                     " does not support ranks, for the ranks that mpirun started, install the ", kLibrary,
                     " of this release");
  const char *problem = "";
  mpi.communicator = mpi.start(&problem);
  if (!mpi.communicator)
    return makeError(ErrorCode::Unsupported, problem, ", start the ranks with mpirun");
  mpi.library = library;
  return mpi.communicator;
}

void *mpiFunction(const char *name) { return mpi.library ? dlsym(mpi.library, name) : nullptr; }

RankGroup RankGroup::alone() {
  RankGroup ranks;
  ranks.members = {nullptr};
  return ranks;
}

Expected<RankGroup> RankGroup::create(uint32_t numRanks) {
  RankGroup ranks;
  if (isMpiProcess()) {
    SLUICE_ASSIGN_OR_RETURN(const sluice_communicator *started, mpiCommunicator());
    ranks.members = {started};
    return ranks;
  }
  if (numRanks < 2)
    return alone();
  constexpr uint32_t kMostThreads = 1024;
  if (numRanks <= kMostThreads)
    ranks.group.reset(sluice_local_group_create(numRanks));
  if (!ranks.group)
    return makeError(ErrorCode::Unsupported, "the model has ", numRanks, " ranks, too many for one process, start ",
                     numRanks, " processes with mpirun");
  for (uint32_t rank = 0; rank < numRanks; ++rank)
    ranks.members.push_back(sluice_local_group_member(ranks.group.get(), rank));
  return ranks;
}

void RankGroup::leave(size_t i, const std::string &reason) const {
  if (group)
    sluice_local_group_leave(group.get(), static_cast<uint32_t>(i), reason.c_str());
}

void finishRanks(const Status &status) {
  if (mpi.communicator)
    mpi.stop(status ? nullptr : status.error().message.c_str());
}

} // namespace sluice::driver
