//===- TrainingChain.cpp --------------------------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The forward pass gives the boundaries: places in the order where a single tensor is all that later forward operators
// read. A backward operator belongs to the last stage to which its operands allow it to belong. A boundary is removed
// if a backward operator reads across it anything but the one gradient, or the boundary's own tensor. Stages are then
// assigned again, until nothing changes.
//
//===----------------------------------------------------------------------===//

#include "TrainingChain.h"

#include "ProblemIndex.h"
#include "sluice/Support/Units.h"

#include <algorithm>
#include <limits>
#include <optional>

using namespace sluice;
using namespace sluice::swap;

namespace {

constexpr uint32_t kNoStage = std::numeric_limits<uint32_t>::max();

/// A division of the order into a forward and a backward pass, and of both into stages.
class Division {
public:
  Division(const ProblemIndex &index, size_t turn) : index(index), graph(index.problem.graph), turn(turn) {
    findBoundaries();
    do
      assignStages();
    while (removeBoundaries());
  }

  size_t numStages() const { return boundaries.size() + 1; }
  /// The number of forward operators in the largest stage.
  size_t largestStage() const {
    size_t largest = 0, begin = 0;
    for (const Boundary &boundary : boundaries) {
      largest = std::max(largest, boundary.position.index() + 1 - begin);
      begin = boundary.position.index() + 1;
    }
    return std::max(largest, turn - begin);
  }
  size_t numForward() const { return turn; }
  /// What removed the last boundary, in words; empty if there was no boundary at all.
  const std::string &obstacle() const { return why; }

  TrainingChain chain() const {
    TrainingChain result;
    result.stages.resize(numStages());
    for (Position p : index.positions()) {
      ChainStage &stage = result.stages[stageAt(p)];
      (isForward(p) ? stage.forward : stage.backward).push_back(index.opAt(p));
    }
    for (size_t i = 0; i < boundaries.size(); ++i)
      result.stages[i].output = boundaries[i].tensor;
    std::vector<uint8_t> isResident(index.bytes.size(), 0);
    for (Position p : index.positions())
      if (isForward(p))
        for (TensorId t : index.operatorAt(p).inputs)
          if (isConstant(t) && !isResident[t.index()]) {
            isResident[t.index()] = 1;
            result.residentBytes = saturatingAdd(result.residentBytes, index.bytes[t.index()]);
          }
    for (size_t i = 0; i < result.stages.size(); ++i)
      result.costs.push_back(costOf(result.stages[i], i, isResident));
    return result;
  }

private:
  /// After the operator at `position`: forward operators after it read `tensor` alone of those before.
  struct Boundary {
    Position position;
    TensorId tensor;
  };

  bool isConstant(TensorId t) const { return !index.producedAt(t).valid(); }
  bool isForward(Position p) const { return p.index() < turn; }
  uint32_t stageAt(Position p) const { return stages[p.index()]; }
  uint32_t stageOf(OperatorId op) const { return stages[index.positionOf[op.index()].index()]; }

  void findBoundaries() {
    // At each place: the number of tensors that pass it, and the sum of their ids, which is the id if there is one.
    std::vector<int64_t> count(turn + 1, 0), sum(turn + 1, 0);
    for (TensorId t : index.tensors()) {
      const Position produced = index.producedAt(t);
      if (!produced.valid() || !isForward(produced))
        continue;
      Position last = produced;
      for (OperatorId reader : graph.tensor(t).consumers)
        if (const Position p = index.positionOf[reader.index()]; isForward(p))
          last = std::max(last, p);
      ++count[produced.index()];
      --count[last.index()];
      sum[produced.index()] += t.value;
      sum[last.index()] -= t.value;
    }
    int64_t passing = 0, ids = 0;
    for (size_t p = 0; p + 1 < turn; ++p) {
      passing += count[p];
      ids += sum[p];
      if (passing == 1 && (boundaries.empty() || boundaries.back().tensor.value != ids))
        boundaries.push_back({Position(p), TensorId(static_cast<size_t>(ids))});
    }
  }

  void assignStages() {
    stages.assign(index.numPositions, kNoStage);
    outputOf.assign(index.bytes.size(), kNoStage);
    for (size_t i = 0; i < boundaries.size(); ++i)
      outputOf[boundaries[i].tensor.index()] = static_cast<uint32_t>(i);
    uint32_t stage = 0;
    for (Position p : index.positions()) {
      if (isForward(p)) {
        stages[p.index()] = stage;
        stage += stage < boundaries.size() && boundaries[stage].position == p;
        continue;
      }
      for (TensorId t : index.operatorAt(p).inputs)
        if (const OperatorId producer = index.producers[t.index()]; producer.valid() && stageOf(producer) != kNoStage)
          stages[p.index()] =
              std::min(stageAt(p), outputOf[t.index()] != kNoStage ? outputOf[t.index()] + 1 : stageOf(producer));
    }
    // What reads no result runs right before its first reader.
    for (size_t p = index.numPositions; p-- > turn;) {
      if (stages[p] != kNoStage)
        continue;
      uint32_t latest = 0;
      for (TensorId t : index.operatorAt(Position(p)).outputs)
        for (OperatorId reader : graph.tensor(t).consumers)
          latest = std::max(latest, stageOf(reader));
      stages[p] = latest;
    }
  }

  /// Removes the boundaries that something crosses that may not; false if there is none.
  bool removeBoundaries() {
    std::vector<uint8_t> isCrossed(boundaries.size(), 0);
    bool any = false;
    auto cross = [&](uint32_t low, uint32_t high, OperatorId op, TensorId t) {
      for (uint32_t i = low; i < high; ++i)
        isCrossed[i] = 1;
      if (low < high && !any) {
        any = true;
        why = concat("operator '", graph.op(op).name, "' of the backward pass needs '", graph.tensor(t).name,
                     "' of another stage");
      }
    };
    std::vector<TensorId> gradients(boundaries.size());
    for (size_t p = turn; p < index.numPositions; ++p) {
      const uint32_t stage = stages[p];
      const OperatorId op = index.opAt(Position(p));
      for (TensorId t : graph.op(op).inputs) {
        if (isConstant(t))
          continue;
        const uint32_t maker = stageOf(index.producers[t.index()]);
        if (isForward(index.producedAt(t))) {
          // A boundary's tensor belongs to the stages on both sides.
          if (outputOf[t.index()] == kNoStage || stage < maker || stage > maker + 1)
            cross(std::min(stage, maker), std::max(stage, maker), op, t);
        } else if (maker != stage) {
          TensorId *gradient = maker == stage + 1 ? &gradients[stage] : nullptr;
          if (!gradient || (gradient->valid() && *gradient != t))
            cross(std::min(stage, maker), std::max(stage, maker), op, t);
          else
            *gradient = t;
        }
      }
      // No stage may run again after a later pass has replaced a state that it reads.
      for (TensorId t : graph.op(op).outputs)
        if (const TensorId old = graph.tensor(t).updates; old.valid())
          for (OperatorId reader : graph.tensor(old).consumers)
            if (stageOf(reader) < stage)
              cross(stageOf(reader), stage, op, old);
    }
    size_t kept = 0;
    for (size_t i = 0; i < boundaries.size(); ++i)
      if (!isCrossed[i])
        boundaries[kept++] = boundaries[i];
    boundaries.resize(kept);
    return any;
  }

  bool hasForwardReader(TensorId t, Position after) const {
    return std::any_of(graph.tensor(t).consumers.begin(), graph.tensor(t).consumers.end(), [&](OperatorId reader) {
      const Position p = index.positionOf[reader.index()];
      return isForward(p) && p > after;
    });
  }
  bool hasBackwardReader(TensorId t) const {
    return std::any_of(graph.tensor(t).consumers.begin(), graph.tensor(t).consumers.end(),
                       [&](OperatorId reader) { return !isForward(index.positionOf[reader.index()]); });
  }
  /// Whether it leaves for a home, and stays until the copy has ended.
  bool leaves(TensorId t) const { return index.hasHome[t.index()]; }

  /// The peak of the forward pass of a stage, if it saves all that is in `saved`, or the output only.
  int64_t forwardPeak(const ChainStage &stage, bool savesAll) const {
    int64_t live = 0, peak = 0;
    std::vector<TensorId> held;
    for (OperatorId op : stage.forward) {
      const Position p = index.positionOf[op.index()];
      for (TensorId t : graph.op(op).outputs)
        live += index.bytes[t.index()];
      peak = std::max(peak, live + alignUp(graph.op(op).workspaceBytes));
      held.insert(held.end(), graph.op(op).outputs.begin(), graph.op(op).outputs.end());
      std::erase_if(held, [&](TensorId t) {
        const bool stays =
            t == stage.output || leaves(t) || hasForwardReader(t, p) || (savesAll && hasBackwardReader(t));
        live -= stays ? 0 : index.bytes[t.index()];
        return !stays;
      });
    }
    return peak;
  }

  PofoStage costOf(ChainStage &stage, size_t number, const std::vector<uint8_t> &isResident) const {
    PofoStage cost;
    auto timeOf = [&](OperatorId op) { return index.problem.costs.timeNs(op, index.problem.placement[op.index()]); };
    for (OperatorId op : stage.forward) {
      cost.forwardNs += timeOf(op);
      cost.isRepeatable &= graph.isRepeatable(op);
      for (TensorId t : graph.op(op).outputs)
        if (t == stage.output || hasBackwardReader(t)) {
          stage.saved.push_back(t);
          cost.savedBytes += index.bytes[t.index()];
        }
    }
    if (stage.output.valid())
      cost.outputBytes = index.bytes[stage.output.index()];
    cost.keepPeakBytes = forwardPeak(stage, true);
    cost.dropPeakBytes = forwardPeak(stage, false);

    // The backward pass holds what the forward pass saved and the gradient, each until its last reader.
    std::vector<uint32_t> readsLeft(index.bytes.size(), 0);
    for (OperatorId op : stage.backward) {
      cost.backwardNs += timeOf(op);
      for (TensorId t : graph.op(op).inputs)
        ++readsLeft[t.index()];
    }
    // A tensor of the input counts outside.
    auto counts = [&](TensorId t) {
      if (isConstant(t))
        return !isResident[t.index()];
      return outputOf[t.index()] == kNoStage || outputOf[t.index()] == number;
    };
    int64_t live = 0;
    std::vector<uint8_t> isLive(index.bytes.size(), 0);
    for (TensorId t : stage.saved)
      if (readsLeft[t.index()] > 0) {
        isLive[t.index()] = 1;
        live += index.bytes[t.index()];
      }
    for (OperatorId op : stage.backward)
      for (TensorId t : graph.op(op).inputs) {
        const OperatorId producer = index.producers[t.index()];
        if (producer.valid() && !isForward(index.producedAt(t)) && stageOf(producer) != number && !isLive[t.index()]) {
          isLive[t.index()] = 1;
          cost.gradientBytes += index.bytes[t.index()];
        }
      }
    live += cost.gradientBytes;
    cost.backwardPeakBytes = live;
    for (OperatorId op : stage.backward) {
      const Operator &o = graph.op(op);
      auto arrive = [&](TensorId t) {
        if (!isLive[t.index()] && counts(t)) {
          isLive[t.index()] = 1;
          live += index.bytes[t.index()];
        }
      };
      std::for_each(o.inputs.begin(), o.inputs.end(), arrive);
      std::for_each(o.outputs.begin(), o.outputs.end(), arrive);
      cost.backwardPeakBytes = std::max(cost.backwardPeakBytes, live + alignUp(o.workspaceBytes));
      auto depart = [&](TensorId t) {
        const bool isReadElsewhere = number > 0 && !isConstant(t) && !isForward(index.producedAt(t)) &&
                                     std::any_of(graph.tensor(t).consumers.begin(), graph.tensor(t).consumers.end(),
                                                 [&](OperatorId reader) { return stageOf(reader) != number; });
        if (isLive[t.index()] && readsLeft[t.index()] == 0 && !isReadElsewhere && (isConstant(t) || !leaves(t))) {
          isLive[t.index()] = 0;
          live -= index.bytes[t.index()];
        }
      };
      for (TensorId t : o.inputs) {
        --readsLeft[t.index()];
        depart(t);
      }
      std::for_each(o.outputs.begin(), o.outputs.end(), depart);
    }
    return cost;
  }

  const ProblemIndex &index;
  const Graph &graph;
  size_t turn;
  std::vector<Boundary> boundaries; ///< Ascending.
  std::vector<uint32_t> stages;     ///< Per position.
  std::vector<uint32_t> outputOf;   ///< Per tensor: the number of its boundary, or kNoStage.
  std::string why;
};

} // namespace

Expected<TrainingChain> swap::trainingChain(const SwapProblem &problem) {
  const ProblemIndex index(problem);
  std::vector<size_t> turns;
  for (TensorId t : index.tensors())
    if (const Tensor &tensor = problem.graph.tensor(t); tensor.isOutput && !tensor.updates.valid())
      turns.push_back(index.producedAt(t).index() + 1);
  if (!turns.empty())
    turns = {*std::max_element(turns.begin(), turns.end())};
  for (MemoryId m : index.acceleratorMemories()) {
    const Position peak = peakOfStays(index, unlimitedStays(index, m)).second;
    turns.insert(turns.end(), {peak.index(), peak.index() + 1});
  }
  std::optional<Division> best;
  for (size_t turn : turns)
    if (turn > 0 && turn < index.numPositions)
      if (Division division(index, turn); !best || division.numStages() > best->numStages())
        best.emplace(std::move(division));
  // A stage that is most of the network leaves nothing to choose.
  if (best && best->numStages() > 1 && 2 * best->largestStage() <= best->numForward())
    return best->chain();
  const std::string why =
      best && !best->obstacle().empty()
          ? best->obstacle()
          : std::string("the forward pass has no point after which operators read only one earlier tensor");
  return makeError(ErrorCode::Unsupported, "graph '", problem.graph.name, "' is not a chain: ", why,
                   ", and POFO plans only training steps that are chains, use --solver search=default");
}
