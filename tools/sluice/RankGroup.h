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
/// The communicator of the ranks that mpirun started. Fails where there is no MPI, or it does not start.
Expected<const sluice_communicator *> mpiCommunicator();
/// A function of libsluice_mpi, once mpiCommunicator() has succeeded; null if the library lacks it.
void *mpiFunction(const char *name);

/// One rank, where mpirun started this process with others; else all of a model's,
/// which then are threads.
class RankGroup {
public:
  /// `numRanks`: the model's. Fails where there is no MPI, or it does not start.
  static Expected<RankGroup> create(uint32_t numRanks);
  /// A model that runs alone, whether mpirun started this process or not.
  static RankGroup alone();
  RankGroup(RankGroup &&) noexcept = default;
  RankGroup &operator=(RankGroup &&) noexcept = default;

  /// Ranks that are here.
  size_t size() const { return members.size(); }
  /// Null of a model that runs alone.
  const sluice_communicator *member(size_t i) const { return members[i]; }
  /// Whether rank 0, which reads and writes for all, is here.
  bool isFirst() const { return !members[0] || members[0]->rank == 0; }
  /// All ranks are here.
  bool isWhole() const { return !members[0] || members[0]->num_ranks == members.size(); }
  /// Rank `i` of those here has failed: what others wait for in vain fails too.
  void leave(size_t i, const std::string &reason) const;

private:
  RankGroup() = default;
  struct Destroy {
    void operator()(sluice_local_group *group) const { sluice_local_group_destroy(group); }
  };
  std::vector<const sluice_communicator *> members;
  std::unique_ptr<sluice_local_group, Destroy> group;
};

/// Ends this process's part of MPI, if it had one: waits for the others or, where
/// `status` is an error, prints it and ends them.
void finishRanks(const Status &status);

} // namespace sluice::driver

#endif // SLUICE_TOOLS_SLUICE_RANKGROUP_H
