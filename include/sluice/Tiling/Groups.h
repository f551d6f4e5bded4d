//===- Groups.h - Programs that exchange messages ----------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The ranks of a pipeline form groups of the same size; the ranks of a group have consecutive numbers. A group runs one
// program, tiled over its ranks. Rank i of a group exchanges messages with rank i of other groups.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TILING_GROUPS_H
#define SLUICE_TILING_GROUPS_H

#include "sluice/Tiling/Partition.h"

namespace sluice {

/// The program of one group, and its tiling.
struct GroupProgram {
  TensorProgram program; ///< Its messages are in the order in which they are issued.
  Tiling tiling;
  std::vector<PlannedConversion> conversions; ///< PartitionReport::conversions of the tiling.
};

/// The slowest of the links between the ranks of two groups that exchange messages.
struct GroupLink {
  double bytesPerSec = 1e10; ///< Rate of the link; 0 if some of these ranks have no link to each other.
  int64_t latencyNs = 0;     ///< Latency of one message.
};

/// The ranks, and the links between groups.
struct GroupMachine {
  /// The ranks of one group, as a mesh. For each axis of the mesh: the slowest link along this axis in any group.
  PartitionMachine group;
  std::vector<GroupLink> links; ///< The link from group i to group j is at [i * number of groups + j].
};

/// The first groups * groupRanks computing devices of a machine. If the machine has a single computing device, it is
/// divided into groups * groupRanks equal shares. Fails as partitionMachine does.
Expected<GroupMachine> groupMachine(const Machine &machine, int64_t groups, int64_t groupRanks);

struct GroupTimeline {
  int64_t makespanNs = 0;
  std::vector<int64_t> computeNs; ///< Per group: time of its operators, messages not counted.
};

/// Simulates a step of all groups. Each rank has a stream for operators and one for conversions and messages, and each
/// stream takes its work in the program's order. A message begins when both ends have reached it and the data is
/// there, and occupies both ends. Fails if the two ends of a message differ in size or have no link, if a
/// message has only one end, or if groups wait for each other forever.
Expected<GroupTimeline> simulateGroups(const std::vector<GroupProgram> &groups, const GroupMachine &machine);

} // namespace sluice

#endif // SLUICE_TILING_GROUPS_H
