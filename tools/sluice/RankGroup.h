//===- RankGroup.h - The ranks of a run that this process is ----*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TOOLS_SLUICE_RANKGROUP_H
#define SLUICE_TOOLS_SLUICE_RANKGROUP_H

#include "sluice/Runtime/sluice.h"
#include "sluice/Support/Error.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sluice::driver {

/// True where mpirun started this process with others.
bool isMpiProcess();
/// The communicator of the ranks that mpirun started. Fails if there is no MPI or it does not start.
Expected<const sluice_communicator *> mpiCommunicator();
/// A function of libsluice_mpi, once mpiCommunicator() has succeeded; null if the library lacks it.
void *mpiFunction(const char *name);

/// The ranks of a model in this process: one rank if mpirun started this process with others, else all ranks, as
/// threads.
class RankGroup {
public:
  /// `numRanks`: the number of the model's ranks. Fails if MPI is needed and missing, or does not start.
  static Expected<RankGroup> create(uint32_t numRanks);
  /// The group of a model of one rank, even if mpirun started this process.
  static RankGroup alone();
  RankGroup(RankGroup &&) noexcept = default;
  RankGroup &operator=(RankGroup &&) noexcept = default;

  /// The number of ranks in this process.
  size_t size() const { return members.size(); }
  /// Null for a model of one rank.
  const sluice_communicator *member(size_t i) const { return members[i]; }
  /// Whether rank 0, which reads and writes for all ranks, is in this process.
  bool isFirst() const { return !members[0] || members[0]->rank == 0; }
  /// Whether all ranks are in this process.
  bool isWhole() const { return !members[0] || members[0]->num_ranks == members.size(); }
  /// Reports that rank `i` of this process has failed, so that other ranks that wait for it fail too.
  void leave(size_t i, const std::string &reason) const;

private:
  RankGroup() = default;
  struct Destroy {
    void operator()(sluice_local_group *group) const { sluice_local_group_destroy(group); }
  };
  std::vector<const sluice_communicator *> members;
  std::unique_ptr<sluice_local_group, Destroy> group;
};

/// Ends this process's use of MPI, if there was any. Waits for the other processes, or prints `status` and ends them if
/// it is an error.
void finishRanks(const Status &status);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RANKGROUP_H
