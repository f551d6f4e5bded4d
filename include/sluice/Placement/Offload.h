//===- Offload.h - Subgraphs on accelerators, the rest on CPUs --*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The latency problem of Tarnawski, Phanishayee, Devanur, Mahajan and Nina
// Paravecino, "Efficient Algorithms for Device Placement of DNN Graph
// Operators", NeurIPS 2020. Unlike in Placement.h, an accelerator runs all of its operators
// in one call. The inputs of the call are moved before it, and its outputs after it.
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

/// Times are in the unit of the instance, finite and not negative.
struct OffloadNode {
  std::string name;
  double cpuTime = 0;
  double accelTime = 0;
  double bytes = 0; ///< Memory that the node takes on an accelerator.
  bool supported = true;
  int32_t colour = -1; ///< Nodes of the same colour stay together; negative if the node has no colour.
};

struct OffloadEdge {
  uint32_t from = 0, to = 0;
  double cost = 0; ///< Time to move the source's output between an accelerator and the CPUs' memory.
};

/// The problem is to minimize the latency of one sample. A node on a CPU ends at the latest end of its predecessors
/// plus cpuTime, because there are always enough CPUs. The set of nodes on an accelerator runs as one call, which
/// starts at the latest end of the set's predecessors outside. The time of a call is the sum of three times: the time
/// to move in the outputs of outside nodes that have an edge into the set; the sum of accelTime over the nodes of the
/// set; and the time to move out the outputs of nodes of the set that have an edge to the outside. Each node's output
/// is moved once, at the cost of the most expensive of these edges.
struct OffloadProblem {
  std::string name;
  std::vector<OffloadNode> nodes;
  std::vector<OffloadEdge> edges;
  double accelBytes = 0; ///< Upper limit of the sum of the sizes of one accelerator's nodes.
  uint32_t accelerators = 0;

  /// Checks that edges join two nodes and form no cycle, that numbers are finite and not
  /// negative, and that there are at most a million nodes and 1024 accelerators.
  Status check() const;
};

struct OffloadSolution {
  static constexpr int32_t kCpu = -1;
  std::vector<int32_t> part; ///< Per node: an accelerator, or kCpu.
  double latency = 0;
  double bound = 0; ///< The value of offloadLowerBound.
  std::string solver = {};
  int64_t evaluations = 0;
  bool stoppedByClock = false;

  bool optimal() const { return latency <= bound * (1 + 1e-9); }
};

struct OffloadParams {
  std::string solver = "best"; ///< One of offloadSolverNames().
  /// If the limit of evaluations has its default (no limit), the solver sets a limit itself. On small graphs, this
  /// limit is proportional to the number of nodes. On large graphs, it corresponds to a fixed amount of work.
  Budget budget = {};
  uint64_t seed = 0;
  int threads = 1; ///< The result does not depend on it.
};

/// The names that solveOffload accepts, the default first.
///  best      simulated annealing in several chains, from the solutions of the other
///            solvers, unless one of these solutions is optimal
///  cpu       everything on CPUs
///  greedy    accelerators filled one after the other in topological order, the
///            rest on CPUs (the paper's greedy baseline)
///  dp-split  divides a topological order into contiguous pieces; a piece is one call
///            on an accelerator, or runs as single nodes on CPUs; minimizes the sum of
///            all times by dynamic programming; exact for a chain
std::vector<std::string> offloadSolverNames();

/// The result passes validateOffload. With `best`, the result is not slower than the result of any other solver. Fails
/// on a problem that does not pass check() and on an unknown solver.
Expected<OffloadSolution> solveOffload(const OffloadProblem &problem, const OffloadParams &params = {});

/// Checks a solution independently of the solvers: sizes, colours, supported nodes, no cycle among the sets, and the
/// latency up to a relative error of 1e-9. The message names the first broken rule.
Status validateOffload(const OffloadProblem &problem, const OffloadSolution &solution);

/// A lower bound of the latency of all solutions. The bound of one path through the graph is the cost of the cheapest
/// assignment of the path's nodes. In an assignment, each accelerator is used at most once, runs all nodes between its
/// first and its last node on the path, and moves data in and out. The latency of the whole graph is not less than the
/// latency of any path. The bound is the greatest value over some long paths.
double offloadLowerBound(const OffloadProblem &problem);

/// The format of the paper's instances: { maxSizePerFPGA, maxFPGAs, maxCPUs,
/// nodes: [{ id, cpuLatency, fpgaLatency, size, supportedOnFpga, colorClass }],
/// edges: [{ sourceId, destId, cost }] }. The result passes check(). Fails with a message
/// that names the error.
Expected<OffloadProblem> offloadFromJson(const JsonReader &reader);
/// Whether a file has this format.
bool isOffloadJson(const Json &json);

} // namespace sluice

#endif // SLUICE_PLACEMENT_OFFLOAD_H
