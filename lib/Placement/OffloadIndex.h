//===- OffloadIndex.h - An offload problem in flat arrays -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_OFFLOADINDEX_H
#define SLUICE_LIB_PLACEMENT_OFFLOADINDEX_H

#include "sluice/Placement/Offload.h"

#include <span>

namespace sluice {

/// A set of nodes, a bit each.
using NodeSet = std::vector<uint64_t>;
inline bool contains(const NodeSet &set, uint32_t node) { return set[node / 64] >> (node % 64) & 1; }
inline void insert(NodeSet &set, uint32_t node) { set[node / 64] |= uint64_t(1) << (node % 64); }

/// Of a checked problem, which outlives it.
struct OffloadIndex {
  explicit OffloadIndex(const OffloadProblem &problem);

  struct Half {
    uint32_t node;
    double cost;
  };
  const OffloadProblem &problem;
  uint32_t count = 0;
  std::vector<std::vector<Half>> out, in;
  std::vector<uint32_t> topological;
  /// A colour's nodes, or one node.
  std::vector<uint32_t> unitOf;
  std::vector<std::vector<uint32_t>> units;
  std::vector<uint8_t> unitSupported;
  /// Topological but for units in one another's way (strongly connected), which
  /// are next to each other: `group` tells them.
  std::vector<uint32_t> unitOrder, groupOf;
  /// Nodes reachable from and reaching a node, itself included. Empty for
  /// graphs too large for it.
  std::vector<NodeSet> descendants, ancestors;

  bool hasReach() const { return !descendants.empty(); }
};

/// A set on one accelerator with what it forces onto it: colours, and what lies
/// between its nodes. Needs OffloadIndex::hasReach().
class Closure {
public:
  explicit Closure(const OffloadIndex &index);
  void clear();
  /// False once a node is not supported; the set is then of no further use.
  bool add(uint32_t node);
  const std::vector<uint32_t> &nodes() const { return list; }

private:
  const OffloadIndex &index;
  NodeSet set, after, before;
  std::vector<uint32_t> list, open;
};

/// Latencies of many assignments of one problem.
class OffloadTimer {
public:
  explicit OffloadTimer(const OffloadIndex &index);
  /// Negative where sizes exceed a memory or the sets make a cycle.
  double latency(std::span<const int32_t> part);

private:
  const OffloadIndex &index;
  std::vector<double> ready, load, bytes;
  std::vector<uint32_t> missing, members, firstMember, queue;
  std::vector<uint32_t> stamp;
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_OFFLOADINDEX_H
