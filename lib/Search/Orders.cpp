//===- Orders.cpp ---------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All orders are list schedules: they repeatedly take one of the operators whose predecessors are scheduled, and differ
// in the choice. The result is therefore always topological. The same holds for children of the genetic search: the
// crossover keeps the relative order of one parent for the operators that the other parent does not give, and a
// mutation takes random ready operators in between.
//
//===----------------------------------------------------------------------===//

#include "sluice/Search/Orders.h"

#include "sluice/Support/Units.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <queue>

namespace sluice {

namespace {

/// Which operators are ready, as a schedule grows.
class ReadyTracker {
public:
  explicit ReadyTracker(const Graph &graph) : graph(graph), missing(graph.numOperators()) {
    for (uint32_t i = 0; i < missing.size(); ++i)
      forEachEdge(OperatorId(i), [&](OperatorId next) { ++missing[next.index()]; });
  }
  /// Calls fn for each operator ready from the start, ascending.
  template <typename Fn>
  void forEachInitial(Fn fn) const {
    for (uint32_t i = 0; i < missing.size(); ++i)
      if (missing[i] == 0)
        fn(OperatorId(i));
  }
  /// Calls fn for each operator that `op` was the last to wait for.
  template <typename Fn>
  void schedule(OperatorId op, Fn fn) {
    forEachEdge(op, [&](OperatorId next) {
      if (--missing[next.index()] == 0)
        fn(next);
    });
  }

private:
  /// As Graph::successors, repetitions included: this is a hot loop.
  template <typename Fn>
  void forEachEdge(OperatorId op, Fn fn) const {
    for (TensorId output : graph.op(op).outputs)
      for (OperatorId reader : graph.tensor(output).consumers)
        fn(reader);
    for (TensorId input : graph.op(op).inputs)
      if (TensorId next = graph.tensor(input).updatedBy; next.valid())
        if (OperatorId writer = graph.tensor(next).producer; writer.valid() && writer != op)
          fn(writer);
  }

  const Graph &graph;
  std::vector<uint32_t> missing; ///< Edges from operators not scheduled yet, per operator.
};

} // namespace

Schedule modelOrder(const Graph &graph) {
  Expected<Schedule> order = graph.topologicalOrder();
  assert(order && "the graph was checked");
  return order ? std::move(*order) : Schedule();
}

Schedule depthFirstOrder(const Graph &graph) {
  ReadyTracker tracker(graph);
  std::vector<OperatorId> stack;
  tracker.forEachInitial([&](OperatorId op) { stack.push_back(op); });
  std::reverse(stack.begin(), stack.end());
  Schedule order;
  order.reserve(graph.numOperators());
  while (!stack.empty()) {
    OperatorId op = stack.back();
    stack.pop_back();
    order.push_back(op);
    size_t first = stack.size();
    tracker.schedule(op, [&](OperatorId ready) { stack.push_back(ready); });
    std::sort(stack.begin() + static_cast<ptrdiff_t>(first), stack.end(), std::greater<>());
  }
  return order;
}

Schedule memoryAwareOrder(const Graph &graph) {
  std::vector<size_t> readersLeft(graph.numTensors());
  for (uint32_t i = 0; i < readersLeft.size(); ++i)
    readersLeft[i] = graph.tensor(TensorId(i)).consumers.size();
  auto growth = [&](OperatorId op) {
    int64_t bytes = 0;
    for (TensorId output : graph.op(op).outputs)
      bytes = saturatingAdd(bytes, graph.tensor(output).bytes);
    for (TensorId input : graph.op(op).inputs) {
      const Tensor &tensor = graph.tensor(input);
      if (tensor.kind == TensorKind::Activation && !tensor.isOutput && readersLeft[input.index()] == 1)
        bytes = saturatingAdd(bytes, -tensor.bytes);
    }
    return bytes;
  };

  // An operator's growth only ever falls, when it becomes some tensor's last
  // reader; it is pushed again then, and stale entries are skipped.
  using Entry = std::pair<int64_t, OperatorId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  enum : char { Waiting, Ready, Done };
  std::vector<char> state(graph.numOperators(), Waiting);
  auto makeReady = [&](OperatorId op) {
    state[op.index()] = Ready;
    ready.push({growth(op), op});
  };
  ReadyTracker tracker(graph);
  tracker.forEachInitial(makeReady);
  Schedule order;
  order.reserve(graph.numOperators());
  while (!ready.empty()) {
    OperatorId op = ready.top().second;
    ready.pop();
    if (state[op.index()] == Done)
      continue;
    state[op.index()] = Done;
    order.push_back(op);
    for (TensorId input : graph.op(op).inputs)
      if (--readersLeft[input.index()] == 1)
        for (OperatorId reader : graph.tensor(input).consumers)
          if (state[reader.index()] == Ready)
            ready.push({growth(reader), reader});
    tracker.schedule(op, makeReady);
  }
  return order;
}

/// Repeatedly the ready operator with the least key.
template <typename Key>
static Schedule listSchedule(const Graph &graph, const std::vector<Key> &keys) {
  using Entry = std::pair<Key, OperatorId>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto push = [&](OperatorId op) { ready.push({keys[op.index()], op}); };
  ReadyTracker tracker(graph);
  tracker.forEachInitial(push);
  Schedule order;
  order.reserve(graph.numOperators());
  while (!ready.empty()) {
    OperatorId op = ready.top().second;
    ready.pop();
    order.push_back(op);
    tracker.schedule(op, push);
  }
  return order;
}

Schedule criticalPathOrder(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement) {
  Schedule topological = modelOrder(graph);
  std::vector<int64_t> keys(graph.numOperators()); // Minus the longest path: least first.
  for (size_t i = topological.size(); i-- > 0;) {
    OperatorId op = topological[i];
    int64_t longest = 0;
    for (OperatorId next : graph.successors(op))
      longest = std::max(longest, -keys[next.index()]);
    keys[op.index()] = -saturatingAdd(longest, costs.timeNs(op, placement[op.index()]));
  }
  return listSchedule(graph, keys);
}

Schedule overlappingOrder(const Graph &graph, const CostTable &costs, std::span<const DeviceId> placement,
                          const Schedule &order) {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::vector<uint32_t> position(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    position[order[i].index()] = i;
  // Least first: when an operator may start, or where it is in the order.
  using Entry = std::pair<int64_t, OperatorId>;
  using Queue = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;
  struct Lane {
    int64_t clockNs = 0;
    Queue waiting, ready;
    /// When its next operator starts.
    int64_t nextNs() const {
      return !ready.empty() ? clockNs : waiting.empty() ? kNever : std::max(clockNs, waiting.top().first);
    }
  };
  std::vector<Lane> lanes(2 * costs.numDevices); // Communicating is the second of a device's.
  auto laneOf = [&](OperatorId op) { return 2 * placement[op.index()].index() + graph.op(op).communicates; };
  std::vector<int64_t> endNs(graph.numOperators(), 0);
  auto push = [&](OperatorId op) {
    int64_t startNs = 0;
    for (OperatorId before : graph.predecessors(op))
      startNs = std::max(startNs, endNs[before.index()]);
    lanes[laneOf(op)].waiting.push({startNs, op});
  };
  ReadyTracker tracker(graph);
  tracker.forEachInitial(push);
  Schedule result;
  result.reserve(order.size());
  while (result.size() < order.size()) {
    // Of two that start together, what communicates goes first.
    size_t chosen = 0;
    for (size_t i = 1; i < lanes.size(); ++i)
      if (std::pair(lanes[i].nextNs(), 1 - i % 2) < std::pair(lanes[chosen].nextNs(), 1 - chosen % 2))
        chosen = i;
    Lane &lane = lanes[chosen];
    lane.clockNs = lane.nextNs();
    for (; !lane.waiting.empty() && lane.waiting.top().first <= lane.clockNs; lane.waiting.pop())
      lane.ready.push({position[lane.waiting.top().second.index()], lane.waiting.top().second});
    const OperatorId op = lane.ready.top().second;
    lane.ready.pop();
    lane.clockNs = endNs[op.index()] = saturatingAdd(lane.clockNs, costs.timeNs(op, placement[op.index()]));
    result.push_back(op);
    tracker.schedule(op, push);
  }
  return result;
}

Schedule updatesTogetherOrder(const Graph &graph, const Schedule &order) {
  // Union-find over the operators that update states: those that read a common activation, or the new value of another
  // state, update one group of states.
  constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max(), kSeveral = kNone - 1;
  std::vector<uint32_t> leader(graph.numOperators());
  for (uint32_t i = 0; i < leader.size(); ++i)
    leader[i] = i;
  auto find = [&](uint32_t op) {
    for (; leader[op] != op; op = leader[op])
      leader[op] = leader[leader[op]];
    return op;
  };
  auto updates = [&](OperatorId op) {
    const std::vector<TensorId> &outputs = graph.op(op).outputs;
    return std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) { return graph.tensor(t).updates.valid(); });
  };
  for (const Tensor &tensor : graph.tensors()) {
    if (tensor.kind != TensorKind::Activation && !tensor.updates.valid())
      continue;
    OperatorId first = tensor.updates.valid() ? tensor.producer : OperatorId();
    for (OperatorId reader : tensor.consumers) {
      if (!updates(reader))
        continue;
      if (!first.valid())
        first = reader;
      leader[find(reader.value)] = find(first.value);
    }
  }
  // The tail of a group has the operators whose results reach the updates of this group and nothing else.
  std::vector<uint32_t> tailOf(graph.numOperators(), kNone);
  for (size_t i = order.size(); i-- > 0;) {
    const OperatorId op = order[i];
    uint32_t &tail = tailOf[op.index()];
    auto reach = [&](uint32_t other) { tail = tail == kNone || tail == other ? other : kSeveral; };
    for (TensorId output : graph.op(op).outputs) {
      const Tensor &tensor = graph.tensor(output);
      if (tensor.updates.valid())
        reach(find(op.value));
      else if (tensor.isOutput || tensor.consumers.empty())
        reach(kSeveral);
      for (OperatorId reader : tensor.consumers)
        reach(tailOf[reader.index()]);
    }
  }
  std::vector<Schedule> tails(graph.numOperators());
  std::vector<uint32_t> missing(graph.numOperators(), 0); // Per tail: edges from operators outside of it.
  auto inTail = [&](OperatorId op) { return tailOf[op.index()] != kSeveral; };
  auto feeds = [&](OperatorId op, OperatorId next) {
    return inTail(next) && tailOf[op.index()] != tailOf[next.index()];
  };
  for (OperatorId op : order) {
    if (inTail(op))
      tails[tailOf[op.index()]].push_back(op);
    for (OperatorId next : graph.successors(op))
      if (feeds(op, next))
        ++missing[tailOf[next.index()]];
  }
  std::vector<uint8_t> startsAlone(graph.numOperators(), 0); // Per tail: nothing outside of it comes first.
  for (size_t tail = 0; tail < tails.size(); ++tail)
    startsAlone[tail] = missing[tail] == 0;
  Schedule result;
  result.reserve(order.size());
  std::vector<OperatorId> due; // A stack of operators to be emitted.
  auto open = [&](uint32_t tail) { due.insert(due.end(), tails[tail].rbegin(), tails[tail].rend()); };
  auto emitFrom = [&](OperatorId first) {
    due.assign(1, first);
    while (!due.empty()) {
      const OperatorId op = due.back();
      due.pop_back();
      result.push_back(op);
      for (OperatorId next : graph.successors(op))
        if (feeds(op, next) && --missing[tailOf[next.index()]] == 0)
          open(tailOf[next.index()]);
    }
  };
  for (OperatorId op : order) {
    const uint32_t tail = tailOf[op.index()];
    if (!inTail(op)) {
      emitFrom(op);
    } else if (startsAlone[tail]) {
      startsAlone[tail] = 0;
      for (OperatorId member : tails[tail])
        emitFrom(member);
    }
  }
  // Two tails that read each other's states cannot both run as a whole.
  return result.size() == order.size() ? result : order;
}

Schedule crossoverOrders(const Schedule &head, const Schedule &tail, size_t point) {
  Schedule child(head.begin(), head.begin() + static_cast<ptrdiff_t>(point));
  child.reserve(tail.size());
  std::vector<char> taken(tail.size(), 0);
  for (OperatorId op : child)
    taken[op.index()] = 1;
  for (OperatorId op : tail)
    if (!taken[op.index()])
      child.push_back(op);
  return child;
}

Schedule mutateOrder(const Graph &graph, const Schedule &order, double probability, Rng &rng) {
  std::vector<uint32_t> position(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    position[order[i].index()] = i;
  // Both views of the ready set: by position, and as an array to draw from.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> earliest;
  std::vector<OperatorId> pool;
  std::vector<uint32_t> slot(order.size());
  std::vector<char> done(order.size(), 0);
  auto push = [&](OperatorId op) {
    earliest.push(position[op.index()]);
    slot[op.index()] = static_cast<uint32_t>(pool.size());
    pool.push_back(op);
  };
  ReadyTracker tracker(graph);
  tracker.forEachInitial(push);
  Schedule child;
  child.reserve(order.size());
  while (!pool.empty()) {
    OperatorId op;
    if (rng.chance(probability)) {
      op = pool[rng.below(pool.size())];
    } else {
      while (done[order[earliest.top()].index()])
        earliest.pop();
      op = order[earliest.top()];
    }
    done[op.index()] = 1;
    slot[pool.back().index()] = slot[op.index()];
    pool[slot[op.index()]] = pool.back();
    pool.pop_back();
    child.push_back(op);
    tracker.schedule(op, push);
  }
  return child;
}

Schedule moveOne(const Graph &graph, const Schedule &order, Rng &rng) {
  if (order.size() < 2)
    return order;
  const size_t from = rng.below(order.size());
  const OperatorId op = order[from];
  auto dependsOn = [&](OperatorId later, OperatorId earlier) {
    std::vector<OperatorId> before = graph.predecessors(later);
    return std::binary_search(before.begin(), before.end(), earlier);
  };
  size_t low = from, high = from;
  while (low > 0 && !dependsOn(op, order[low - 1]))
    --low;
  while (high + 1 < order.size() && !dependsOn(order[high + 1], op))
    ++high;
  const size_t to = low + rng.below(high - low + 1);
  Schedule child = order;
  auto at = [&](size_t i) { return child.begin() + static_cast<ptrdiff_t>(i); };
  if (to < from)
    std::rotate(at(to), at(from), at(from + 1));
  else
    std::rotate(at(from), at(from + 1), at(to + 1));
  return child;
}

} // namespace sluice
