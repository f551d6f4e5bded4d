//===- BruteForce.h - The fastest step by trying all ------------*- C++ -*-===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Dijkstra's search through everything that one device, its memory and a link with independent directions can do. Bytes
// may lie anywhere in the memory, so the fastest step found is at most as long as the fastest valid plan, and a lower
// bound that looks at no addresses must keep below it.
//
//===----------------------------------------------------------------------===//
#ifndef SLUICE_TEST_UNIT_SEARCH_BRUTEFORCE_H
#define SLUICE_TEST_UNIT_SEARCH_BRUTEFORCE_H

#include "sluice/Graph/Graph.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

namespace sluice::test {

class BruteForce {
public:
  /// `nsPerByteIn` and `nsPerByteOut` are the link's. `homesInside`: inputs and outputs are in the memory all the time.
  BruteForce(const Graph &graph, std::vector<int64_t> operatorNs, int64_t capacity, int64_t nsPerByteIn,
             int64_t nsPerByteOut, bool homesInside)
      : graph(graph), operatorNs(std::move(operatorNs)), nsPerByteIn(nsPerByteIn), nsPerByteOut(nsPerByteOut),
        capacity(capacity) {
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      const Tensor &tensor = graph.tensor(TensorId(i));
      const bool isHome = homesInside && (tensor.kind == TensorKind::Input || tensor.isOutput);
      fixed |= isHome ? 1u << i : 0;
      this->capacity -= isHome ? tensor.bytes : 0;
      given |= tensor.producer.valid() ? 0 : 1u << i;
      if (!tensor.producer.valid() && tensor.kind != TensorKind::Input)
        keepable |= 1u << i;
    }
  }

  /// The fastest step with at most `runs` launches of an operator; nothing where none fits or there are too many
  /// states.
  std::optional<int64_t> solve(int runs, size_t maxStates = 20'000) {
    mostRuns = runs;
    int64_t best = std::numeric_limits<int64_t>::max();
    for (uint32_t kept = 0; kept < 1u << graph.numTensors(); ++kept) {
      if ((kept & ~keepable) || bytesOf(kept) > capacity)
        continue;
      // A state that is updated is kept alone or beside its home.
      uint32_t updated = 0;
      for (uint32_t i = 0; i < graph.numTensors(); ++i)
        updated |= (kept >> i & 1) && graph.tensor(TensorId(i)).updatedBy.valid() ? 1u << i : 0;
      for (uint32_t alone = updated;; alone = (alone - 1) & updated) {
        const std::optional<int64_t> ns = solveKeeping(kept, alone, best, maxStates);
        if (!ns)
          return std::nullopt;
        best = std::min(best, *ns);
        if (alone == 0)
          break;
      }
    }
    return best == std::numeric_limits<int64_t>::max() ? std::nullopt : std::optional(best);
  }

private:
  /// Masks of tensors: inside and complete, with a copy outside. What runs, with the time that is left; -1: nothing.
  struct State {
    uint32_t inside = 0, outside = 0;
    std::array<int8_t, 8> ran{};
    int op = -1, coming = -1, leaving = -1;
    int64_t opNs = 0, comingNs = 0, leavingNs = 0;
    auto operator<=>(const State &) const = default;
    bool operator==(const State &) const = default;
  };

  int64_t bytesOf(uint32_t mask) const {
    int64_t bytes = 0;
    for (uint32_t i = 0; i < graph.numTensors(); ++i)
      bytes += mask >> i & 1 && !(fixed >> i & 1) ? graph.tensor(TensorId(i)).bytes : 0;
    return bytes;
  }

  static uint32_t maskOf(const std::vector<TensorId> &tensors) {
    uint32_t mask = 0;
    for (TensorId t : tensors)
      mask |= 1u << t.value;
    return mask;
  }

  /// All that takes bytes: complete tensors, what is being made and what comes.
  int64_t usedBytes(const State &state) const {
    uint32_t mask = state.inside | (state.coming >= 0 ? 1u << state.coming : 0);
    int64_t bytes = 0;
    if (state.op >= 0) {
      const Operator &op = graph.op(OperatorId(state.op));
      mask |= maskOf(op.outputs);
      bytes = op.workspaceBytes;
    }
    return bytes + bytesOf(mask);
  }

  bool isDone(const State &state, uint32_t kept, uint32_t alone) const {
    if (state.op >= 0 || state.coming >= 0 || state.leaving >= 0)
      return false;
    for (size_t i = 0; i < graph.numOperators(); ++i)
      if (state.ran[i] == 0)
        return false;
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      const Tensor &tensor = graph.tensor(TensorId(i));
      const uint32_t bit = 1u << i;
      if (tensor.isOutput && !(fixed & bit) && !(state.outside & bit))
        return false;
      const uint32_t stays = tensor.updatedBy.valid() ? 1u << tensor.updatedBy.value : bit;
      if ((kept & bit) && !(state.inside & stays))
        return false;
      if (tensor.updates.valid() && !(fixed & bit) && !(alone >> tensor.updates.value & 1) && !(state.outside & bit))
        return false;
    }
    return true;
  }

  std::optional<int64_t> solveKeeping(uint32_t kept, uint32_t alone, int64_t limit, size_t maxStates) {
    queue = {};
    known.clear();
    State start;
    start.inside = kept | (fixed & given);
    start.outside = given & ~(fixed & given);
    start.outside &= ~alone;
    offer(start, 0);
    while (!queue.empty()) {
      const auto [time, state] = queue.top();
      queue.pop();
      if (time >= limit)
        break;
      if (time > known[state])
        continue;
      if (isDone(state, kept, alone))
        return time;
      if (known.size() > maxStates)
        return std::nullopt;
      expand(state, time);
    }
    return limit;
  }

  void offer(const State &state, int64_t time) {
    if (usedBytes(state) > capacity)
      return;
    auto [at, isNew] = known.emplace(state, time);
    if (!isNew && at->second <= time)
      return;
    at->second = time;
    queue.push({time, state});
  }

  void expand(const State &state, int64_t time) {
    for (size_t i = 0; state.op < 0 && i < graph.numOperators(); ++i)
      launch(state, time, static_cast<int>(i));
    uint32_t busy = state.leaving >= 0 ? 1u << state.leaving : 0;
    if (state.op >= 0)
      busy |= maskOf(graph.op(OperatorId(state.op)).inputs) | maskOf(graph.op(OperatorId(state.op)).outputs);
    for (uint32_t i = 0; i < graph.numTensors(); ++i) {
      const uint32_t bit = 1u << i;
      const int64_t bytes = graph.tensor(TensorId(i)).bytes;
      if (fixed & bit)
        continue;
      State next = state;
      if (state.coming < 0 && !(state.inside & bit) && (state.outside & bit) && !(busy & bit)) {
        next.coming = static_cast<int>(i);
        next.comingNs = bytes * nsPerByteIn;
        offer(next, time);
      }
      next = state;
      if (state.leaving < 0 && (state.inside & bit) && !(state.outside & bit)) {
        next.leaving = static_cast<int>(i);
        next.leavingNs = bytes * nsPerByteOut;
        offer(next, time);
      }
      next = state;
      if ((state.inside & bit) && !(busy & bit)) {
        next.inside &= ~bit;
        offer(next, time);
      }
    }
    wait(state, time);
  }

  void launch(const State &state, int64_t time, int index) {
    const OperatorId id(index);
    const Operator &op = graph.op(id);
    const uint32_t inputs = maskOf(op.inputs), outputs = maskOf(op.outputs);
    if ((state.inside & inputs) != inputs || (state.inside & outputs & ~fixed) ||
        state.ran[index] >= (graph.isRepeatable(id) ? mostRuns : 1) ||
        (state.coming >= 0 && (outputs >> state.coming & 1)))
      return;
    State next = state;
    next.op = index;
    next.opNs = operatorNs[index];
    ++next.ran[index];
    offer(next, time);
    // The output takes the place of an input, which is gone.
    for (auto [from, to] : op.inPlace) {
      const uint32_t lost = 1u << op.inputs[from].value;
      if ((fixed & lost) || state.leaving == static_cast<int>(op.inputs[from].value) ||
          graph.tensor(op.inputs[from]).bytes > graph.tensor(op.outputs[to]).bytes)
        continue;
      State inPlace = next;
      inPlace.inside &= ~lost;
      offer(inPlace, time);
    }
  }

  void wait(State state, int64_t time) {
    int64_t step = std::numeric_limits<int64_t>::max();
    for (auto [what, ns] : {std::pair(state.op, state.opNs), std::pair(state.coming, state.comingNs),
                            std::pair(state.leaving, state.leavingNs)})
      if (what >= 0)
        step = std::min(step, ns);
    if (step == std::numeric_limits<int64_t>::max())
      return;
    if (state.op >= 0 && (state.opNs -= step) == 0) {
      state.inside |= maskOf(graph.op(OperatorId(state.op)).outputs);
      state.op = -1;
    }
    if (state.coming >= 0 && (state.comingNs -= step) == 0) {
      state.inside |= 1u << state.coming;
      state.coming = -1;
    }
    if (state.leaving >= 0 && (state.leavingNs -= step) == 0) {
      state.outside |= 1u << state.leaving;
      state.leaving = -1;
    }
    offer(state, time + step);
  }

  const Graph &graph;
  std::vector<int64_t> operatorNs;
  int64_t nsPerByteIn, nsPerByteOut, capacity;
  uint32_t fixed = 0, given = 0, keepable = 0;
  int mostRuns = 1;
  struct Later {
    template <typename T>
    bool operator()(const T &a, const T &b) const {
      return a.first > b.first;
    }
  };
  struct Hash {
    size_t operator()(const State &state) const {
      uint64_t hash = state.inside;
      auto mix = [&](int64_t value) {
        hash = (hash ^ static_cast<uint64_t>(value)) * 0x9e3779b97f4a7c15u + (hash >> 29);
      };
      mix(state.outside);
      for (int8_t runs : state.ran)
        mix(runs);
      for (int64_t value : {int64_t(state.op), int64_t(state.coming), int64_t(state.leaving), state.opNs,
                            state.comingNs, state.leavingNs})
        mix(value);
      return hash;
    }
  };
  std::unordered_map<State, int64_t, Hash> known;
  std::priority_queue<std::pair<int64_t, State>, std::vector<std::pair<int64_t, State>>, Later> queue;
};

} // namespace sluice::test

#endif // SLUICE_TEST_UNIT_SEARCH_BRUTEFORCE_H
