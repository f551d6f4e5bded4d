//===- EarliestStart.cpp - m-ETF and m-SCT --------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The solvers follow Baechi (Jeon et al., SoCC 2020): of all pairs of a ready operator and a device with room, the pair
// that can start first is next. Each device has its candidates in two heaps. The first heap has the operators whose
// data is there before the device is free, sorted by rank. The second heap has the other operators, sorted by the time
// at which their data arrives. Each step therefore looks only at the tops of the heaps.
//
//===----------------------------------------------------------------------===//

#include "ListScheduler.h"

#include <algorithm>
#include <limits>
#include <queue>

namespace sluice {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

class EarliestStart {
public:
  EarliestStart(const SolverInput &input, bool favourites)
      : input(input), settler(input.problem), scheduler(input, /*insertion=*/false),
        ranks(upwardRanks(input, /*communication=*/true)), done(ranks.size()), missing(ranks.size()),
        queues(input.problem.machine->devices.size()), favouriteChild(ranks.size()), apartNs(ranks.size()) {
    if (favourites)
      matchFavourites();
  }

  Expected<ListSchedule> run() {
    for (OperatorId op : input.topological) {
      missing[op.index()] = input.index.predecessors(op).size();
      if (missing[op.index()] == 0)
        enqueue(op);
    }
    for (size_t left = ranks.size(); left > 0; --left) {
      OperatorId next;
      DeviceId where;
      int64_t start = kNever;
      for (DeviceId device : input.index.devices) {
        auto [op, startNs] = firstOn(device);
        if (op.valid() && (startNs < start || (startNs == start && ranks[op.index()] > ranks[next.index()]))) {
          next = op;
          where = device;
          start = startNs;
        }
      }
      if (!next.valid())
        return noRoom();
      if (!settler.deviceOf(next).valid())
        settler.settle(next, where);
      scheduler.place(next, where);
      done[next.index()] = 1;
      queues[where.index()].last = next;
      for (uint32_t successor : input.index.successors(next))
        if (--missing[successor] == 0)
          enqueue(OperatorId(successor));
    }
    return std::move(scheduler).finish();
  }

private:
  struct Waiting {
    int64_t readyNs;
    OperatorId op;
    friend bool operator<(const Waiting &a, const Waiting &b) {
      return std::pair(a.readyNs, a.op) > std::pair(b.readyNs, b.op);
    }
  };
  struct Arrived {
    double rank;
    OperatorId op;
    friend bool operator<(const Arrived &a, const Arrived &b) {
      return a.rank != b.rank ? a.rank < b.rank : a.op > b.op;
    }
  };
  struct Queue {
    std::priority_queue<Waiting> waiting;
    std::priority_queue<Arrived> arrived;
    OperatorId last;
  };

  void enqueue(OperatorId op) {
    for (DeviceId device : input.index.devices)
      if (mayRun(op, device))
        queues[device.index()].waiting.push({scheduler.readyNs(op, device), op});
  }

  /// Room only shrinks: what does not fit now never will.
  bool mayRun(OperatorId op, DeviceId device) const {
    const DeviceId settled = settler.deviceOf(op);
    return settled.valid() ? settled == device : settler.fits(op, device);
  }

  std::pair<OperatorId, int64_t> firstOn(DeviceId device) {
    Queue &queue = queues[device.index()];
    const int64_t free = scheduler.freeNs(device);
    auto stale = [&](OperatorId op) { return done[op.index()] || !mayRun(op, device); };
    while (!queue.waiting.empty() && (stale(queue.waiting.top().op) || queue.waiting.top().readyNs <= free)) {
      if (!stale(queue.waiting.top().op))
        queue.arrived.push({ranks[queue.waiting.top().op.index()], queue.waiting.top().op});
      queue.waiting.pop();
    }
    while (!queue.arrived.empty() && stale(queue.arrived.top().op))
      queue.arrived.pop();

    // A favourite child has its parent's device to itself until it could as well
    // start elsewhere.
    int64_t kept = free;
    if (queue.last.valid())
      if (OperatorId child = favouriteChild[queue.last.index()];
          child.valid() && !done[child.index()] && mayRun(child, device)) {
        if (missing[child.index()] == 0)
          if (int64_t start = std::max(free, scheduler.readyNs(child, device)); start <= free + apartNs[child.index()])
            return {child, start};
        kept = free + apartNs[child.index()];
      }
    if (!queue.arrived.empty())
      return {queue.arrived.top().op, kept};
    if (!queue.waiting.empty())
      return {queue.waiting.top().op, std::max(kept, queue.waiting.top().readyNs)};
    return {OperatorId(), kNever};
  }

  /// Each operator gets at most one favourite child and is one's at most:
  /// dependences in descending order of the path they are on, the moving
  /// included.
  void matchFavourites() {
    const Graph &graph = *input.problem.graph;
    struct Edge {
      double weight, moveNs;
      OperatorId from, to;
    };
    std::vector<Edge> edges;
    for (OperatorId op : input.topological)
      for (TensorId output : graph.op(op).outputs)
        for (OperatorId reader : graph.tensor(output).consumers) {
          const double move = input.routes.meanNs(graph.tensor(output).bytes);
          edges.push_back({move + ranks[reader.index()], move, op, reader});
        }
    std::stable_sort(edges.begin(), edges.end(), [](const Edge &a, const Edge &b) { return a.weight > b.weight; });
    std::vector<uint8_t> hasParent(ranks.size());
    for (const Edge &edge : edges) {
      if (favouriteChild[edge.from.index()].valid() || hasParent[edge.to.index()])
        continue;
      favouriteChild[edge.from.index()] = edge.to;
      hasParent[edge.to.index()] = 1;
      apartNs[edge.to.index()] = static_cast<int64_t>(edge.moveNs);
    }
  }

  tl::unexpected<Error> noRoom() {
    for (OperatorId op : input.topological)
      if (!done[op.index()] && missing[op.index()] == 0)
        return settler.noRoom(op);
    return makeError(ErrorCode::Internal, "no operator of graph '", input.problem.graph->name,
                     "' is ready, this is a bug of Sluice, please report it");
  }

  const SolverInput &input;
  Settler settler;
  ListScheduler scheduler;
  std::vector<double> ranks;
  std::vector<uint8_t> done;
  std::vector<size_t> missing; ///< Predecessors not placed, per operator.
  std::vector<Queue> queues;   ///< Per device.
  std::vector<OperatorId> favouriteChild;
  std::vector<int64_t> apartNs; ///< Per favourite child: its way from its parent.
};

} // namespace

Expected<ListSchedule> placeEtf(const SolverInput &input) { return EarliestStart(input, /*favourites=*/false).run(); }

Expected<ListSchedule> placeSct(const SolverInput &input) { return EarliestStart(input, /*favourites=*/true).run(); }

} // namespace sluice
