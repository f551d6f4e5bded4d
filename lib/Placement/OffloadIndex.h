//===- OffloadIndex.h - An offload problem in flat arrays -------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_LIB_PLACEMENT_OFFLOADINDEX_H
#define SLUICE_LIB_PLACEMENT_OFFLOADINDEX_H

#include "sluice/Placement/Offload.h"

#include <span>

namespace sluice {

/// A set of nodes, with one bit for each node.
using NodeSet = std::vector<uint64_t>;
inline bool contains(const NodeSet &set, uint32_t node) { return set[node / 64] >> (node % 64) & 1; }
inline void insert(NodeSet &set, uint32_t node) { set[node / 64] |= uint64_t(1) << (node % 64); }

/// Facts of a problem that passes check(). The problem outlives the index.
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
  /// The nodes of a colour, or one node.
  std::vector<uint32_t> unitOf;
  std::vector<std::vector<uint32_t>> units;
  std::vector<uint8_t> unitSupported;
  /// A topological order of the units, except that strongly connected units are next to
  /// each other. They have the same `group`.
  std::vector<uint32_t> unitOrder, groupOf;
  /// The nodes that are reachable from a node, and those that reach it, including the node
  /// itself. Empty for graphs that are too large.
  std::vector<NodeSet> descendants, ancestors;

  bool hasReach() const { return !descendants.empty(); }
};

/// A set of nodes on one accelerator, closed under two rules: a colour is on one
/// accelerator, and so are all nodes between two nodes of the set. Requires
/// OffloadIndex::hasReach().
class Closure {
public:
  explicit Closure(const OffloadIndex &index);
  void clear();
  /// Returns false if a node is not supported. The set must not be used then.
  bool add(uint32_t node);
  const std::vector<uint32_t> &nodes() const { return list; }

private:
  const OffloadIndex &index;
  NodeSet set, after, before;
  std::vector<uint32_t> list, open;
};

/// Computes the latencies of many assignments of one problem.
class OffloadTimer {
public:
  explicit OffloadTimer(const OffloadIndex &index);
  /// Negative if sizes exceed a memory, or if the sets make a cycle.
  double latency(std::span<const int32_t> part);

private:
  const OffloadIndex &index;
  std::vector<double> ready, load, bytes;
  std::vector<uint32_t> missing, members, firstMember, queue;
  std::vector<uint32_t> stamp;
};

} // namespace sluice

#endif // SLUICE_LIB_PLACEMENT_OFFLOADINDEX_H
