//===- Orders.h - Starting orders and their variation -----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A schedule is one topological order of all operators. Each device runs its own
// operators in this order. Graphs must be acyclic, and costs must belong to the graph.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_SEARCH_ORDERS_H
#define SLUICE_SEARCH_ORDERS_H

#include "sluice/Cost/CostModel.h"
#include "sluice/Graph/Graph.h"
#include "sluice/Support/Rng.h"

#include <span>
#include <vector>

namespace sluice {

using Schedule = std::vector<OperatorId>;

/// The order of the model's file, as far as this order is topological.
Schedule modelOrder(const Graph &graph);
/// List scheduling that takes the operator that became ready last: it finishes one branch before it begins another.
Schedule depthFirstOrder(const Graph &graph);
/// List scheduling that takes the ready operator that adds the fewest bytes: the bytes of its outputs minus the bytes
/// of the activations of which it is the last reader. Ties are broken by the model's order.
Schedule memoryAwareOrder(const Graph &graph);
/// Sorts operators by the descending length of the longest path to the end, with the
/// placement's times (HEFT's upward rank without communication).
Schedule criticalPathOrder(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement);

/// An order in which communication overlaps with computation. Operators that communicate are issued as early as
/// possible. Operators that read results of communication are issued when they no longer have to wait, or when nothing
/// else can run. All other operators follow `order`. Operators take their times on the devices of `placement`, and
/// copies take no time (list scheduling with two machines for each device; Graham 1966).
Schedule overlappingOrder(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
                          const Schedule &order);

/// Runs the *tail* of each state's update without interruption. The tail consists of the operators whose results only
/// this update reads, directly or through other operators of the tail. If the updates of several states read a common
/// activation, these states have one tail together. A tail starts as soon as all its operands from outside exist. All
/// other operators follow `order`. For example, the terms of a weight's gradient in a recurrent network are then summed
/// one right after the other, and the partial sum is in memory only for a short time. The time is linear in the number
/// of the graph's edges.
Schedule updatesTogetherOrder(const Graph &graph, const Schedule &order);

/// The first `point` operators of `head`, then the others in the order of `tail`. The
/// result is topological because both parents are (SwapAdvisor, figure 4).
Schedule crossoverOrders(const Schedule &head, const Schedule &tail, size_t point);
/// Makes a new order by list scheduling. At each position, takes a random ready operator with this probability, and
/// otherwise the ready operator that is first in `order` (SwapAdvisor, section 5.2).
Schedule mutateOrder(const Graph &graph, const Schedule &order, double probability, Rng &rng);
/// Moves one operator to a random position between its last predecessor and its first
/// successor.
Schedule moveOne(const Graph &graph, const Schedule &order, Rng &rng);

} // namespace sluice

#endif // SLUICE_SEARCH_ORDERS_H
