//===- Placement.h - Assigning operators to devices -------------*- C++ -*-===//
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

/// The problem is to minimize the simulated makespan of one step. A placement with an order
/// defines a program (planOfPlacement), which the simulator times. A device runs its
/// operators one at a time in this order. Copies run in FIFO order on their device's
/// stream and share their link. Inputs are in host memory at time 0, and outputs must return
/// there. Parameters and states are in every memory in which they are read. The graph,
/// machine and costs must outlive the problem.
struct PlacementProblem {
  const Graph *graph = nullptr;
  const Machine *machine = nullptr;
  const CostTable *costs = nullptr;
  /// Per operator: the device on which it must run. If the id is invalid, the solver chooses the operator's device. If
  /// the vector is empty, the solver chooses all devices.
  std::vector<DeviceId> pinned;
  /// Per memory: upper limit of placementBytes. If it is empty, there is no limit.
  std::vector<int64_t> capacityBytes = {};

  /// Checks that graph and machine pass their own checks, that no capacity is negative, and that the sum of times fits
  /// int64. Each device in `pinned` must compute, and pinned operators of the same colour (Operator::colocation) must
  /// be pinned to the same device.
  Status check() const;
};

struct PlacementSolution {
  std::vector<DeviceId> placement; ///< Per operator: its device.
  std::vector<Interval> intervals; ///< Per operator, simulated.
  std::vector<OperatorId> order;   ///< Topological.
  int64_t makespanNs = 0;          ///< Simulated.
  std::string solver;
  /// Number of orders that the searches timed.
  int64_t evaluations = 0;
  /// True if it is proven that no placement with any order is faster.
  bool optimal = false;
  bool stoppedByClock = false;
  /// With `best`: the name and makespan of each solver that found a placement.
  std::vector<std::pair<std::string, int64_t>> members = {};
  /// With `htf-mpr`: the other placements of its last round, by ascending time.
  std::vector<std::vector<DeviceId>> runnersUp = {};
  /// With `htf-mpr`: the normalised Kendall tau distance between the predicted and the
  /// simulated ranking of mappings, by five-fold cross-validation, in [0, 1]; otherwise
  /// negative.
  double foldDistance = -1;
};

struct PlacementParams {
  std::string solver = "best";
  /// Number of orders that a search may time; 0 means a number that decreases with the size of the graph.
  int64_t evaluations = 0;
  /// Clock limit of searches; 0 means no limit. A search that the clock stops may give different results in different
  /// runs.
  int64_t timeNs = 0;
  uint64_t seed = 0;
  int threads = 1; ///< 0 means as many as the machine has. The result does not depend on it.
  const std::atomic<bool> *interrupt = nullptr;
};

/// The names that solvePlacement accepts, the default first.
///  best           runs all solvers below except htf-mpr, and takes the placement with
///                 the least simulated makespan. `exhaustive` runs only if its work
///                 stays below a limit
///  heft           list scheduling by upward ranks (longest paths to the end) with mean
///                 communication times, and with insertion into idle slots
///                 (Topcuoglu, Hariri and Wu 2002, section 4.1)
///  heft-no-comm   HEFT without communication and without insertion (Albaqsami's
///                 thesis, chapter 7)
///  heft-lookahead HEFT that also considers when an operator's readers could end
///                 (Bittencourt, Sakellariou and Madeira 2010)
///  cpop           critical path on one processor (Topcuoglu, section 4.2)
///  peft           optimistic cost table (Arabnejad and Barbosa 2014)
///  m-etf          of all pairs of a ready operator and a device with room, takes the
///                 pair with the earliest start (Baechi: Jeon et al. 2020, section 3.2)
///  m-sct          as m-etf, but one reader of an operator, its favourite child, goes to
///                 the operator's device (Baechi, section 3.3). Favourite children are
///                 chosen greedily instead of by the paper's linear program
///  dp-split       divides a topological order into contiguous pieces, one for each device;
///                 minimizes the largest load (after Tarnawski et al. 2020, section 5)
///  single-device  all operators on the device with the least sum of times
///  fastest-node   every operator on the device with the least time for this operator,
///                 without regard to copies and to other operators
///  round-robin    devices in turn, in topological order
///  lns            large-neighbourhood search from the best of the results above: moves
///                 operators between devices and within the order, with late
///                 acceptance (Burke and Bykov 2017)
///  htf-mpr        a genetic search over a learned predictor of mappings' times
///                 (Albaqsami's thesis, chapters 4 to 6): see HtfMpr.h
///  exhaustive     an optimum by branch and bound over placements, then over the
///                 orders of each placement; at most 12 operators
std::vector<std::string> placementSolverNames();

/// The result passes validatePlacement. Fails on a problem that does not pass check(), on an
/// unknown solver, and with `exhaustive` on too many operators. Fails with Infeasible if the
/// solver finds no placement within the capacities; the message names an operator and the
/// missing bytes. HEFT takes O(operators x devices x log(operators)) time if the degrees are bounded.
Expected<PlacementSolution> solvePlacement(const PlacementProblem &problem, const PlacementParams &params);

/// Checks a solution independently of the solvers, and names the first rule that is broken. In addition to the rules of
/// the problem, no operator may start before its data can have arrived, and all times must agree with the simulator.
Status validatePlacement(const PlacementProblem &problem, const PlacementSolution &solution);

/// The program that a placement and a topological order define, with unlimited memories.
/// When an operator's turn comes, each tensor that it reads and that is missing in its
/// memory is copied there, once for each memory. The copy runs on the swap-in stream of the
/// reader's device, over the direct link from the producer's memory. Without a direct link, the copy leads through the
/// host's memory: out on the producer's swap-out stream and in on the reader's swap-in stream. Outputs are copied out
/// after their operator. The new value of a state is copied to the other memories in which the old value is read. The
/// plan passes validatePlan if the memories can hold all tensors side by side.
Plan planOfPlacement(const PlacementProblem &problem, std::span<const DeviceId> placement,
                     std::span<const OperatorId> order);

/// Bytes of each memory that a placement needs if parameters never move. The number for a memory is the sum of two
/// parts: the aligned bytes of all parameters and states that are read in this memory, each counted once; and, for each
/// device of the memory, the largest working set of one operator, without parameters, states and new values of states.
/// Parameters and states that are read in the host's memory have their homes there and do not count.
std::vector<int64_t> placementBytes(const PlacementProblem &problem, std::span<const DeviceId> placement);

/// A lower bound of the makespan of all placements and orders. It is the greater of two
/// times: the critical path with every operator and copy at its fastest, and all work spread
/// evenly over the devices.
int64_t placementLowerBoundNs(const PlacementProblem &problem);

} // namespace sluice

#endif // SLUICE_PLACEMENT_PLACEMENT_H
