//===- Offload.h - Subgraphs on accelerators, the rest on CPUs --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The latency problem of Tarnawski, Phanishayee, Devanur, Mahajan and Nina
// Paravecino, "Efficient Algorithms for Device Placement of DNN Graph
// Operators", NeurIPS 2020: unlike in Placement.h an accelerator runs all it was
// given as one call, with its data moved before and after.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLACEMENT_OFFLOAD_H
#define SLUICE_PLACEMENT_OFFLOAD_H

#include "sluice/Optimize/Budget.h"
#include "sluice/Support/Error.h"
#include "sluice/Support/Json.h"

#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Times are in the instance's own unit, not negative and finite.
struct OffloadNode {
  std::string name;
  double cpuTime = 0;
  double accelTime = 0;
  double bytes = 0; ///< Of an accelerator's memory.
  bool supported = true;
  int32_t colour = -1; ///< Nodes of a colour, unless negative, stay together.
};

struct OffloadEdge {
  uint32_t from = 0, to = 0;
  double cost = 0; ///< Moving the source's output between an accelerator and the CPUs' memory.
};

/// Minimize the latency of one sample. A CPU node ends at its predecessors'
/// latest end plus cpuTime: CPUs are never contended. An accelerator's set runs
/// as one call, from its outside predecessors' latest end: moving in what outside
/// nodes with an edge into the set made, accelTime of all of the set, moving out
/// what its nodes with an edge out of it made; each node once, at the most
/// expensive of those edges.
struct OffloadProblem {
  std::string name;
  std::vector<OffloadNode> nodes;
  std::vector<OffloadEdge> edges;
  double accelBytes = 0; ///< Sizes of one accelerator's nodes sum to at most this.
  uint32_t accelerators = 0;

  /// Edges join two nodes each and make no cycle; numbers are not negative and
  /// finite; at most a million nodes and 1024 accelerators.
  Status check() const;
};

struct OffloadSolution {
  static constexpr int32_t kCpu = -1;
  std::vector<int32_t> part; ///< Per node: an accelerator, or kCpu.
  double latency = 0;
  double bound = 0; ///< offloadLowerBound's.
  std::string solver = {};
  int64_t evaluations = 0;
  bool stoppedByClock = false;

  bool optimal() const { return latency <= bound * (1 + 1e-9); }
};

struct OffloadParams {
  std::string solver = "best"; ///< One of offloadSolverNames().
  /// `evaluations` at their greatest: a number that falls with the graph's size.
  Budget budget = {};
  uint64_t seed = 0;
  int threads = 1; ///< The result is the same on any number.
};

/// Names solveOffload knows, the default first.
///  best      annealing from what the others find, in several chains, unless one
///            is optimal
///  cpu       everything on CPUs
///  greedy    accelerators filled one after the other in topological order, the
///            rest on CPUs (the paper's greedy baseline)
///  dp-split  contiguous runs of a topological order, each on an accelerator or
///            node by node on CPUs, the sum of all times least: dynamic
///            programming, exact for a chain
std::vector<std::string> offloadSolverNames();

/// Fails on a problem that does not pass check() and on an unknown solver. The
/// result passes validateOffload and, of `best`, is no slower than any other's.
Expected<OffloadSolution> solveOffload(const OffloadProblem &problem, const OffloadParams &params = {});

/// Independent of the solvers: sizes, colours, support, no cycle among the sets,
/// and the latency to a billionth. Names the first rule broken.
Status validateOffload(const OffloadProblem &problem, const OffloadSolution &solution);

/// No solution has a smaller latency. Along a path, each accelerator is visited
/// once, takes all that lies between its first and last node there, and moves in
/// and out; the cheapest such way along each of some long paths, the greatest.
double offloadLowerBound(const OffloadProblem &problem);

/// The format of the paper's instances: { maxSizePerFPGA, maxFPGAs, maxCPUs,
/// nodes: [{ id, cpuLatency, fpgaLatency, size, supportedOnFpga, colorClass }],
/// edges: [{ sourceId, destId, cost }] }. Fails naming what is wrong; the result
/// passes check().
Expected<OffloadProblem> offloadFromJson(const JsonReader &reader);
/// Whether a file is of that format.
bool isOffloadJson(const Json &json);

} // namespace sluice

#endif // SLUICE_PLACEMENT_OFFLOAD_H
