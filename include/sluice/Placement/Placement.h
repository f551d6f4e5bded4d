//===- Placement.h - Which device runs which operator -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLACEMENT_PLACEMENT_H
#define SLUICE_PLACEMENT_PLACEMENT_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Error.h"

#include <string>
#include <vector>

namespace sluice {

/// Minimize the makespan of one step. A device runs one operator at a time;
/// tensors move between memories over the direct link, or by way of the host's
/// memory where there is none, and links are never contended (the classical
/// model; compare candidates under the simulator where contention matters).
/// Inputs start in host memory at 0, outputs must be back there; parameters and
/// states are wherever they are read; memories have no limit. The graph, machine
/// and costs outlive the problem.
struct PlacementProblem {
  const Graph *graph = nullptr;
  const Machine *machine = nullptr;
  const CostTable *costs = nullptr;
  /// Per operator; an invalid id leaves the choice open. Empty: all open.
  std::vector<DeviceId> pinned;

  /// Graph and machine pass their own checks; pins name devices that compute,
  /// one for all operators of a colocation colour; times add up within int64.
  Status check() const;
};

struct PlacementSolution {
  std::vector<DeviceId> placement; ///< Per operator.
  std::vector<Interval> intervals; ///< Per operator.
  std::vector<OperatorId> order;   ///< By start; topological.
  int64_t makespanNs = 0;
  std::string solver;
};

struct PlacementParams {
  std::string solver = "best";
};

/// Names solvePlacement knows, the default first.
///  best           the least makespan among all below but `exhaustive`
///  heft           upward ranks with mean communication, insertion into idle
///                 slots (Topcuoglu, Hariri and Wu 2002, section 4.1)
///  heft-no-comm   the same blind to communication and without insertion
///                 (Albaqsami's thesis, chapter 7), timed with communication
///  cpop           critical path on one processor (Topcuoglu, section 4.2)
///  single-device  the device with the least sum of times
///  fastest-node   every operator where it alone runs fastest
///  round-robin    devices in turn, in topological order
///  exhaustive     an optimum, by branch and bound: at most 10 operators
std::vector<std::string> placementSolverNames();

/// Fails on a problem that does not pass check(), an unknown solver, or, for
/// `exhaustive`, too many operators. The result passes validatePlacement. HEFT
/// takes O(operators x devices x log) time for bounded degrees.
Expected<PlacementSolution> solvePlacement(const PlacementProblem &problem, const PlacementParams &params);

/// Independent of the solvers: names the first rule broken.
Status validatePlacement(const PlacementProblem &problem, const PlacementSolution &solution);

/// Greatest of the critical path with every operator on its fastest device and
/// free communication, and all work spread evenly over the devices.
int64_t placementLowerBoundNs(const PlacementProblem &problem);

} // namespace sluice

#endif // SLUICE_PLACEMENT_PLACEMENT_H
