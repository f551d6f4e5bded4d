//===- Dtr.cpp ------------------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The paper copies a tensor before an operator mutates it, so that it can always compute dropped tensors again. Here
// a state is updated in place, and what depends on the old value cannot be computed again. Two rules replace the
// copies. A tensor is dropped only if all dropped tensors on the way to it can be computed again. And a tensor that
// cannot be computed again stays while a dropped tensor that is still read depends on it.
//
//===----------------------------------------------------------------------===//

#include "sluice/Swap/Dtr.h"

#include "SingleAccelerator.h"
#include "StepPlanner.h"
#include "sluice/Support/IdRange.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/Recompute.h"
#include "sluice/Swap/SwapPlanner.h"

#include <algorithm>
#include <limits>
#include <optional>

using namespace sluice;
using namespace sluice::swap;

namespace {

/// The sums of the times of dropped tensors that are connected, by union-find.
class DroppedSets {
public:
  explicit DroppedSets(size_t numTensors) : nodeOf(numTensors, 0) {}

  void add(TensorId t, int64_t costNs, const std::vector<uint32_t> &neighbours) {
    const auto node = static_cast<uint32_t>(parent.size());
    nodeOf[t.index()] = node;
    parent.push_back(node);
    sumNs.push_back(costNs);
    for (uint32_t root : neighbours) {
      parent[root] = node;
      sumNs[node] += sumNs[root];
    }
  }
  /// The paper's approximation: the tensor leaves its set, which stays one set.
  void remove(TensorId t, int64_t costNs) { sumNs[find(t)] -= costNs; }
  uint32_t find(TensorId t) {
    uint32_t node = nodeOf[t.index()];
    while (parent[node] != node) {
      parent[node] = parent[parent[node]];
      node = parent[node];
    }
    return node;
  }
  int64_t sumOf(uint32_t root) const { return sumNs[root]; }

private:
  std::vector<uint32_t> nodeOf; ///< Per tensor that is dropped.
  std::vector<uint32_t> parent;
  std::vector<int64_t> sumNs; ///< Per root.
};

class Dtr {
public:
  Dtr(const SwapProblem &problem, int64_t budgetBytes)
      : problem(problem), graph(problem.graph), budget(budgetBytes), sets(graph.numTensors()) {
    const size_t numTensors = graph.numTensors();
    state.assign(numTensors, State::Absent);
    readsLeft.assign(numTensors, 0);
    locks.assign(numTensors, 0);
    lastAccessNs.assign(numTensors, 0);
    isUpdated.assign(numTensors, 0);
    isPinned.assign(numTensors, 0);
    visited.assign(numTensors, 0);
    for (const Operator &op : graph.operators())
      for (TensorId t : op.inputs)
        ++readsLeft[t.index()];
    for (TensorId t : idsBelow<TensorId>(numTensors))
      if (isConstant(t) && readsLeft[t.index()] > 0) {
        state[t.index()] = State::Resident;
        used += bytesOf(t);
      }
  }

  Expected<std::vector<OperatorId>> run() {
    for (OperatorId op : problem.order) {
      std::vector<TensorId> saved;
      for (TensorId output : graph.op(op).outputs)
        if (const TensorId old = graph.tensor(output).updates; old.valid())
          for (TensorId t : dependents(old, op)) {
            SLUICE_RETURN_IF_ERROR(makeResident(t));
            ++locks[t.index()];
            saved.push_back(t);
          }
      SLUICE_RETURN_IF_ERROR(perform(op));
      for (TensorId t : saved)
        --locks[t.index()];
      for (TensorId output : graph.op(op).outputs)
        if (const TensorId old = graph.tensor(output).updates; old.valid())
          isUpdated[old.index()] = 1;
      for (TensorId t : graph.op(op).inputs)
        --readsLeft[t.index()];
      for (const std::vector<TensorId> *list : {&graph.op(op).inputs, &graph.op(op).outputs})
        held.insert(held.end(), list->begin(), list->end());
      // What the program does not read any more.
      std::erase_if(held, [&](TensorId t) { return dropUnread(t); });
    }
    return std::move(runs);
  }

private:
  enum class State : uint8_t { Absent, Resident, Dropped };

  bool isConstant(TensorId t) const { return !graph.tensor(t).producer.valid(); }
  int64_t bytesOf(TensorId t) const { return alignUp(graph.tensor(t).bytes); }
  int64_t costOf(TensorId t) const { return costOf(graph.tensor(t).producer); }
  int64_t costOf(OperatorId op) const { return problem.costs.timeNs(op, problem.placement[op.index()]); }
  bool isResident(TensorId t) const { return state[t.index()] == State::Resident; }
  bool isDropped(TensorId t) const { return state[t.index()] == State::Dropped; }

  /// Calls `visit` for the dropped tensors from which the tensor is computed or that are computed from it, directly.
  template <typename Visit>
  void forNeighbours(TensorId t, Visit visit) const {
    for (TensorId input : graph.op(graph.tensor(t).producer).inputs)
      if (isDropped(input))
        visit(input);
    for (OperatorId reader : graph.tensor(t).consumers)
      for (TensorId output : graph.op(reader).outputs)
        if (isDropped(output))
          visit(output);
  }

  /// The sets of dropped tensors that touch the tensor, each once.
  const std::vector<uint32_t> &neighbourSets(TensorId t) {
    roots.clear();
    forNeighbours(t, [&](TensorId neighbour) {
      const uint32_t root = sets.find(neighbour);
      if (std::find(roots.begin(), roots.end(), root) == roots.end())
        roots.push_back(root);
    });
    return roots;
  }

  /// Whether the tensor could be computed again if it were dropped now.
  bool mayDrop(TensorId t) {
    ++stamp;
    std::vector<TensorId> open{t};
    while (!open.empty()) {
      const TensorId next = open.back();
      open.pop_back();
      const OperatorId producer = graph.tensor(next).producer;
      if (!graph.isRepeatable(producer))
        return false;
      for (TensorId input : graph.op(producer).inputs) {
        if (isConstant(input) && isUpdated[input.index()])
          return false;
        if (!isResident(input) && visited[input.index()] != stamp) {
          visited[input.index()] = stamp;
          open.push_back(input);
        }
      }
    }
    return true;
  }

  /// The dropped tensors that the program still reads and that are computed from the tensor, over dropped tensors
  /// only. `except` is a reader that does not count.
  std::vector<TensorId> dependents(TensorId t, OperatorId except = {}) {
    ++stamp;
    std::vector<TensorId> open{t}, found;
    while (!open.empty()) {
      const TensorId next = open.back();
      open.pop_back();
      for (OperatorId reader : graph.tensor(next).consumers)
        for (TensorId output : graph.op(reader).outputs) {
          if (reader == except || !isDropped(output) || visited[output.index()] == stamp)
            continue;
          visited[output.index()] = stamp;
          open.push_back(output);
          if (readsLeft[output.index()] > 0)
            found.push_back(output);
        }
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  /// Drops the tensor if the program does not read it any more; false if it must stay for now.
  bool dropUnread(TensorId t) {
    if (readsLeft[t.index()] > 0 || isConstant(t) || !isResident(t))
      return true;
    if (!mayDrop(t) && !dependents(t).empty())
      return false;
    drop(t);
    return true;
  }

  void drop(TensorId t) {
    used -= bytesOf(t);
    if (!graph.isRepeatable(graph.tensor(t).producer)) {
      state[t.index()] = State::Absent;
      return;
    }
    sets.add(t, costOf(t), neighbourSets(t));
    state[t.index()] = State::Dropped;
  }

  /// Drops the tensor of least h; false if there is none.
  bool dropOne() {
    for (;;) {
      TensorId best;
      double least = std::numeric_limits<double>::infinity();
      std::erase_if(resident, [&](TensorId t) { return !isResident(t); });
      for (TensorId t : resident) {
        if (locks[t.index()] > 0 || isPinned[t.index()] || bytesOf(t) == 0)
          continue;
        int64_t againNs = costOf(t);
        for (uint32_t root : neighbourSets(t))
          againNs += sets.sumOf(root);
        const auto stale = static_cast<double>(std::max<int64_t>(nowNs - lastAccessNs[t.index()], 1));
        const double h = static_cast<double>(againNs) / (static_cast<double>(bytesOf(t)) * stale);
        if (h < least || (h == least && t < best)) {
          least = h;
          best = t;
        }
      }
      if (!best.valid())
        return false;
      if (mayDrop(best)) {
        drop(best);
        return true;
      }
      isPinned[best.index()] = 1;
    }
  }

  Status makeResident(TensorId t) { return isResident(t) ? Status() : perform(graph.tensor(t).producer); }

  /// Runs an operator after all operators that it needs again. All operands are locked first.
  Status perform(OperatorId first) {
    std::vector<OperatorId> open;
    auto enter = [&](OperatorId op) {
      open.push_back(op);
      for (TensorId input : graph.op(op).inputs)
        ++locks[input.index()];
    };
    enter(first);
    while (!open.empty()) {
      const OperatorId id = open.back();
      const std::vector<TensorId> &inputs = graph.op(id).inputs;
      const auto missing = std::find_if(inputs.begin(), inputs.end(), [&](TensorId t) { return !isResident(t); });
      if (missing != inputs.end()) {
        enter(graph.tensor(*missing).producer);
        continue;
      }
      SLUICE_RETURN_IF_ERROR(launch(id));
      for (TensorId input : inputs)
        --locks[input.index()];
      open.pop_back();
    }
    return {};
  }

  Status launch(OperatorId id) {
    const Operator &op = graph.op(id);
    int64_t needed = alignUp(op.workspaceBytes);
    for (TensorId t : op.outputs)
      needed += bytesOf(t);
    while (used + needed > budget)
      if (!dropOne()) {
        const std::string &memory =
            problem.machine.memory(problem.machine.device(problem.placement[id.index()]).memory).name;
        tl::unexpected<Error> error =
            makeError(ErrorCode::Infeasible, "operator '", op.name, "' needs ", formatBytes(needed), " in addition to ",
                      formatBytes(used), " that dynamic rematerialization cannot drop, and the limit of memory '",
                      memory, "' is ", formatBytes(budget), ", raise --memory ", memory, " by at least ",
                      used + needed - budget, " bytes, or use a solver that swaps");
        error.value().operators = {id.value};
        return error;
      }
    runs.push_back(id);
    nowNs += costOf(id);
    for (TensorId t : op.outputs) {
      // The results of an earlier run that are still there are replaced.
      if (isDropped(t))
        sets.remove(t, costOf(t));
      if (!isResident(t)) {
        used += bytesOf(t);
        state[t.index()] = State::Resident;
        resident.push_back(t);
      }
      isPinned[t.index()] = 0;
      lastAccessNs[t.index()] = nowNs;
    }
    for (TensorId t : op.inputs)
      lastAccessNs[t.index()] = nowNs;
    return {};
  }

  const SwapProblem &problem;
  const Graph &graph;
  int64_t budget, used = 0, nowNs = 0;
  DroppedSets sets;
  std::vector<OperatorId> runs;
  std::vector<State> state; ///< Per tensor, as all below but lists.
  std::vector<uint32_t> readsLeft, locks;
  std::vector<int64_t> lastAccessNs;
  std::vector<uint8_t> isUpdated; ///< A state whose new value has taken its place.
  std::vector<uint8_t> isPinned;  ///< It cannot be computed again.
  std::vector<uint32_t> visited;  ///< The last search that visited it.
  uint32_t stamp = 0;
  std::vector<TensorId> resident; ///< A superset of the results in memory.
  std::vector<TensorId> held;     ///< Tensors to drop that may have to stay longer.
  std::vector<uint32_t> roots;    ///< Scratch of neighbourSets().
};

/// Whether the plan keeps evicted tensors in the host's memory.
bool swaps(const Plan &plan) {
  return std::any_of(plan.residencies.begin(), plan.residencies.end(), [](const Residency &r) {
    return r.memory == Machine::hostMemory() && r.segment == Segment::Arena;
  });
}

} // namespace

Expected<std::vector<OperatorId>> sluice::dtrRuns(const SwapProblem &problem, int64_t budgetBytes) {
  return Dtr(problem, budgetBytes).run();
}

Expected<Plan> sluice::planDtr(const SwapProblem &problem) {
  SLUICE_RETURN_IF_ERROR(check(problem));
  SLUICE_ASSIGN_OR_RETURN(const MemoryId memory, singleAccelerator(problem, "dynamic rematerialization"));
  const int64_t capacity = problem.capacityBytes[memory.index()] / kArenaAlignment * kArenaAlignment;
  std::optional<Error> first;
  // The shares of the memory that DTR counts on; the rest is lost to fragmentation.
  for (const double share : {1.0, 0.98, 0.95, 0.9, 0.85, 0.8, 0.7}) {
    Expected<std::vector<OperatorId>> runs =
        dtrRuns(problem, static_cast<int64_t>(share * static_cast<double>(capacity)));
    if (!runs) {
      if (!first)
        first = runs.error();
      break;
    }
    const RecomputedGraph repeated(problem.graph, problem.costs, *runs);
    Expected<Plan> plan =
        planSwapOffsets({repeated.graph(), problem.machine, repeated.costs(), repeated.placement(problem.placement),
                         repeated.orderOfRuns(), problem.capacityBytes});
    if (plan && !swaps(*plan))
      return validated(problem, repeated.planOfFirst(std::move(*plan)), "swap=dtr");
    if (!first)
      first = plan ? makeError(ErrorCode::Infeasible, "the tensors that dynamic rematerialization keeps in memory '",
                               problem.machine.memory(memory).name, "' cannot be packed into ", formatBytes(capacity),
                               ", raise --memory ", problem.machine.memory(memory).name, ", or use a solver that swaps")
                         .value()
                   : plan.error();
  }
  return tl::unexpected<Error>(std::move(*first));
}
