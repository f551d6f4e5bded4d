//===- Placement.h - Which device runs which operator -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#ifndef SLUICE_PLACEMENT_PLACEMENT_H
#define SLUICE_PLACEMENT_PLACEMENT_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Machine/Machine.h"
#include "sluice/Plan/Plan.h"
#include "sluice/Simulator/Simulator.h"
#include "sluice/Support/Error.h"

#include <atomic>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace sluice {

/// Minimize the simulated makespan of one step. A placement with an order is a
/// program, planOfPlacement's, and its time is the simulator's: a device runs its
/// operators one at a time in that order, copies wait in line (FIFO) on their
/// device's stream, and share their link. Inputs start in host memory at 0,
/// outputs must be back there; parameters and states are wherever they are read.
/// The graph, machine and costs outlive the problem.
struct PlacementProblem {
  const Graph *graph = nullptr;
  const Machine *machine = nullptr;
  const CostTable *costs = nullptr;
  /// Per operator; an invalid id leaves the choice open. Empty: all open.
  std::vector<DeviceId> pinned;
  /// Per memory: what placementBytes may reach. Empty: no limit.
  std::vector<int64_t> capacityBytes = {};

  /// Graph and machine pass their own checks; pins name devices that compute,
  /// one for all operators of a colocation colour; capacities are not negative;
  /// times add up within int64.
  Status check() const;
};

struct PlacementSolution {
  std::vector<DeviceId> placement; ///< Per operator.
  std::vector<Interval> intervals; ///< Per operator, simulated.
  std::vector<OperatorId> order;   ///< Topological.
  int64_t makespanNs = 0;          ///< Simulated.
  std::string solver;
  /// Orders timed by the searches.
  int64_t evaluations = 0;
  /// No placement in any order is faster.
  bool optimal = false;
  bool stoppedByClock = false;
  /// Of `best`: what each member reached; members that found none are left out.
  std::vector<std::pair<std::string, int64_t>> members = {};
  /// Of `htf-mpr`: the other placements of its last round, the fastest first.
  std::vector<std::vector<DeviceId>> runnersUp = {};
  /// Of `htf-mpr`: its predictor's five-fold normalised Kendall tau distance; else
  /// negative.
  double foldDistance = -1;
};

struct PlacementParams {
  std::string solver = "best";
  /// Orders a search may time; 0: a number that falls with the size of the graph.
  int64_t evaluations = 0;
  /// Clock limit of searches; 0: none. What it stops may differ from run to run.
  int64_t timeNs = 0;
  uint64_t seed = 0;
  int threads = 1; ///< 0: as many as the machine has. The result is the same.
  const std::atomic<bool> *interrupt = nullptr;
};

/// Names solvePlacement knows, the default first.
///  best           the portfolio: the least simulated makespan among all below
///                 but htf-mpr (of `exhaustive` as far as its steps reach)
///  heft           upward ranks with mean communication, insertion into idle
///                 slots (Topcuoglu, Hariri and Wu 2002, section 4.1)
///  heft-no-comm   the same blind to communication and without insertion
///                 (Albaqsami's thesis, chapter 7)
///  heft-lookahead HEFT that looks where an operator's readers would end
///                 (Bittencourt, Sakellariou and Madeira 2010)
///  cpop           critical path on one processor (Topcuoglu, section 4.2)
///  peft           optimistic cost table (Arabnejad and Barbosa 2014)
///  m-etf          earliest start of all ready operators on all devices with
///                 room (Baechi: Jeon et al. 2020, section 3.2)
///  m-sct          the same with favourite children kept on their parent's
///                 device (section 3.3), matched greedily instead of by the
///                 paper's linear program
///  dp-split       contiguous runs of a topological order, one a device, the
///                 largest load least (after Tarnawski et al. 2020, section 5)
///  single-device  the device with the least sum of times
///  fastest-node   every operator where it alone runs fastest
///  round-robin    devices in turn, in topological order
///  lns            large-neighbourhood search: moves of operators between
///                 devices and within the order, taken by late acceptance
///                 (Burke and Bykov 2017), from the best of those above
///  htf-mpr        a genetic search over a learned predictor of mappings' times
///                 (Albaqsami's thesis, chapters 4 to 6): see HtfMpr.h
///  exhaustive     an optimum over placements, then over orders of each, by branch
///                 and bound: at most 12 operators
std::vector<std::string> placementSolverNames();

/// Fails on a problem that does not pass check(), an unknown solver, or, for
/// `exhaustive`, too many operators. Infeasible where the solver found no
/// placement within the capacities, naming an operator and by how much it is too
/// large. The result passes validatePlacement. HEFT takes O(operators x devices x
/// log) time for bounded degrees.
Expected<PlacementSolution> solvePlacement(const PlacementProblem &problem, const PlacementParams &params);

/// Independent of the solvers: names the first rule broken. Beside the rules of
/// the problem, operators must not start before their data can have come and the
/// times must be the simulator's.
Status validatePlacement(const PlacementProblem &problem, const PlacementSolution &solution);

/// The program that a placement and a topological order mean, memories without
/// end. A tensor that an operator reads in a memory where it is not is copied
/// there when the operator's turn comes, once a memory: from its producer's
/// memory over the direct link on the reader's swap-in stream, or by way of the
/// host's, out on the producer's swap-out stream and in on the reader's swap-in
/// stream. Outputs leave after their operator, and so do new values of states to
/// other memories where the old is read. Passes validatePlan where the memories
/// hold all tensors side by side.
Plan planOfPlacement(const PlacementProblem &problem, std::span<const DeviceId> placement,
                     std::span<const OperatorId> order);

/// Bytes a placement needs of each memory for parameters that never move:
/// aligned bytes of the parameters and states read there, each once (none of the
/// host's, where they are at home), and of each device's largest working set of
/// other tensors.
std::vector<int64_t> placementBytes(const PlacementProblem &problem, std::span<const DeviceId> placement);

/// No placement in any order is faster: the greatest of the critical path with
/// every operator and copy where that is fastest, and all work spread evenly over
/// the devices.
int64_t placementLowerBoundNs(const PlacementProblem &problem);

} // namespace sluice

#endif // SLUICE_PLACEMENT_PLACEMENT_H
