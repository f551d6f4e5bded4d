//===- Orders.h - Schedules to start from and to breed ----------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A schedule is one topological order of all operators; each device runs its
// own in that order. The graphs are acyclic and costs are of the graph's size.
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

/// The model's own order, as far as it is topological.
Schedule modelOrder(const Graph &graph);
/// Always the operator that became ready last: one branch after the other.
Schedule depthFirstOrder(const Graph &graph);
/// Always the ready operator that adds the fewest bytes: outputs minus the
/// activations that die with it. Ties go to the model's order.
Schedule memoryAwareOrder(const Graph &graph);
/// Descending longest path to the end with the placement's times (HEFT's upward
/// rank without communication).
Schedule criticalPathOrder(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement);

/// An order for operators that communicate beside those that compute: they are issued
/// as soon as they can be, and what reads their results only when it no longer has to
/// wait or nothing else can run; else as in `order`. Times are the placement's, copies
/// take none (list scheduling on two machines a device; Graham 1966).
Schedule overlappingOrder(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
                          const Schedule &order);

/// The first `point` operators of `head`, then the rest in `tail`'s order.
/// Topological because both are (SwapAdvisor, figure 4).
Schedule crossoverOrders(const Schedule &head, const Schedule &tail, size_t point);
/// List-schedules anew: at each step, with this probability, any ready
/// operator, else the ready one earliest in `order` (SwapAdvisor, section 5.2).
Schedule mutateOrder(const Graph &graph, const Schedule &order, double probability, Rng &rng);
/// Moves one operator as far as a random place between its last predecessor and
/// its first successor.
Schedule moveOne(const Graph &graph, const Schedule &order, Rng &rng);

} // namespace sluice

#endif // SLUICE_SEARCH_ORDERS_H
