//===- KeptStates.cpp - States that stay on a device between steps --------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "ProblemIndex.h"
#include "sluice/Support/Units.h"
#include "sluice/Swap/SwapPlanner.h"

#include <algorithm>

using namespace sluice;
using namespace sluice::swap;

namespace {

class StateKeeper {
public:
  StateKeeper(const ProblemIndex &index, MemoryId memory, StateChoice choice) : index(index), memory(memory) {
    for (TensorId t : index.tensors())
      if (mayStay(t)) {
        states.push_back(t);
        total = saturatingAdd(total, index.bytes[t.index()]);
      }
    isSpread = choice == StateChoice::Spread;
    if (isSpread) {
      std::stable_sort(states.begin(), states.end(),
                       [&](TensorId a, TensorId b) { return updatedAt(a) < updatedAt(b); });
      return;
    }
    // What is read early cannot come in before, and what is updated late cannot leave before the step ends.
    auto slack = [&](TensorId t) {
      const Position first = index.uses(index.spot(t, memory)).front();
      return first.index() + index.numPositions - updatedAt(t).index();
    };
    std::stable_sort(states.begin(), states.end(), [&](TensorId a, TensorId b) { return slack(a) < slack(b); });
  }

  void keep(double share, std::vector<uint8_t> &kept) const {
    for (; share > kLeastShare; share /= 2) {
      const auto budget = static_cast<int64_t>(share * static_cast<double>(total));
      std::vector<uint8_t> own(index.bytes.size(), 0);
      int64_t taken = 0;
      double due = isSpread ? 0 : static_cast<double>(budget);
      for (TensorId t : states) {
        due += isSpread ? share * static_cast<double>(index.bytes[t.index()]) : 0;
        // Half of the state at hand may be ahead of its share.
        if (static_cast<double>(taken) + 0.5 * static_cast<double>(index.bytes[t.index()]) > due)
          continue;
        if (taken + index.bytes[t.index()] <= budget) {
          taken += index.bytes[t.index()];
          own[t.index()] = Keeping::Always;
        }
      }
      if (taken == 0 || !fits(own, taken))
        continue;
      for (size_t i = 0; i < own.size(); ++i)
        kept[i] |= own[i];
      return;
    }
  }

  void rest(int64_t budget, std::vector<uint8_t> &kept) const {
    for (TensorId t : states)
      if (kept[t.index()] == Keeping::Never && index.bytes[t.index()] <= budget) {
        budget -= index.bytes[t.index()];
        kept[t.index()] = Keeping::BetweenSteps;
      }
  }

private:
  static constexpr double kLeastShare = 1e-3;

  TensorId newValue(TensorId t) const { return index.problem.graph.tensor(t).updatedBy; }
  Position updatedAt(TensorId t) const { return index.producedAt(newValue(t)); }
  bool isReadHereAlone(TensorId t) const {
    return index.uses(index.spot(t, memory)).size() == index.totalUses[t.index()];
  }

  bool mayStay(TensorId t) const {
    const Tensor &tensor = index.problem.graph.tensor(t);
    if (tensor.kind != TensorKind::State || !tensor.updatedBy.valid() || tensor.bytes == 0)
      return false;
    const Position updated = updatedAt(t);
    if (!updated.valid() || index.memoryOf(updated) != memory || !isReadHereAlone(t) || !isReadHereAlone(newValue(t)) ||
        index.problem.graph.tensor(newValue(t)).isOutput || !index.diesFor(updated, t, newValue(t)))
      return false;
    const Operator &op = index.operatorAt(updated);
    return std::any_of(op.inPlace.begin(), op.inPlace.end(),
                       [&](auto pair) { return op.inputs[pair.first] == t && op.outputs[pair.second] == newValue(t); });
  }

  /// Every operator fits beside the states with its other tensors.
  bool fits(const std::vector<uint8_t> &kept, int64_t taken) const {
    const int64_t capacity = index.problem.capacityBytes[memory.index()] / kArenaAlignment * kArenaAlignment;
    for (Position p : index.positions()) {
      if (index.memoryOf(p) != memory)
        continue;
      int64_t needed = index.workingSets[p.index()];
      for (TensorId t : index.operatorAt(p).inputs)
        needed -= kept[t.index()] ? index.bytes[t.index()] : 0;
      for (TensorId t : index.operatorAt(p).outputs)
        if (const TensorId old = index.problem.graph.tensor(t).updates; old.valid() && kept[old.index()])
          needed -= index.bytes[t.index()];
      if (needed > capacity - taken)
        return false;
    }
    return true;
  }

  const ProblemIndex &index;
  MemoryId memory;
  std::vector<TensorId> states; ///< Those to keep first come first.
  int64_t total = 0;
  bool isSpread = false;
};

} // namespace

bool sluice::mayKeepStates(const Graph &graph, const Machine &machine) {
  const std::span<const Tensor> tensors = graph.tensors();
  const std::span<const Device> devices = machine.devices;
  return std::any_of(devices.begin(), devices.end(),
                     [](const Device &d) { return d.computes && d.memory != Machine::hostMemory(); }) &&
         std::any_of(tensors.begin(), tensors.end(), [](const Tensor &tensor) {
           return tensor.kind == TensorKind::State && tensor.updatedBy.valid() && tensor.bytes > 0;
         });
}

std::vector<uint8_t> swap::statesToKeep(const SwapProblem &problem, double share, StateChoice choice) {
  if (!(share > 0) || !mayKeepStates(problem.graph, problem.machine))
    return {};
  const ProblemIndex index(problem);
  std::vector<uint8_t> kept(index.bytes.size(), 0);
  for (MemoryId memory : index.acceleratorMemories())
    StateKeeper(index, memory, choice).keep(std::min(share, 1.0), kept);
  return kept;
}

void swap::restStates(const SwapProblem &problem, int64_t bytes, std::vector<uint8_t> &kept) {
  if (bytes <= 0 || !mayKeepStates(problem.graph, problem.machine))
    return;
  const ProblemIndex index(problem);
  kept.resize(index.bytes.size(), Keeping::Never);
  for (MemoryId memory : index.acceleratorMemories())
    StateKeeper(index, memory, StateChoice::Edges).rest(bytes, kept);
}
