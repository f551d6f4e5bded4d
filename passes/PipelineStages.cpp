//===- PipelineStages.cpp - The stages of a training step -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/PipelineStages.h"

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Refuse.h"
#include "passes/Bridge/FunctionCheck.h"

#include "llvm/ADT/StringMap.h"

#include <algorithm>

using namespace mlir;

namespace sluice {

using namespace dataflow;

/// The operators from which `roots` follow, in program order; states and arguments end paths.
static SmallVector<Operation *> ancestorsOf(ArrayRef<Value> roots) {
  llvm::SetVector<Operation *> found;
  auto add = [&](Value value) {
    if (Operation *op = value.getDefiningOp(); op && !isa<StateOp>(op))
      found.insert(op);
  };
  llvm::for_each(roots, add);
  for (size_t i = 0; i < found.size(); ++i)
    llvm::for_each(found[i]->getOperands(), add);
  SmallVector<Operation *> order = found.takeVector();
  llvm::sort(order, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return order;
}

/// The states that operators read, each once.
static llvm::SetVector<Operation *> statesReadBy(ArrayRef<Operation *> operators, Value root) {
  llvm::SetVector<Operation *> states;
  auto add = [&](Value value) {
    if (auto state = value.getDefiningOp<StateOp>())
      states.insert(state);
  };
  add(root);
  for (Operation *op : operators)
    llvm::for_each(op->getOperands(), add);
  return states;
}

static bool readsArguments(ArrayRef<Operation *> operators) {
  return llvm::any_of(operators, [](Operation *op) {
    return llvm::any_of(op->getOperands(), [](Value operand) { return isa<BlockArgument>(operand); });
  });
}

LogicalResult PipelineStages::findResults() {
  if (Status readable = checkFunction(function); !readable) {
    emitError(function, readable.error());
    return failure();
  }
  if (symbolsOf(function.getOperation()))
    return refuse(function, ErrorCode::Unsupported) << "the model has dimensions with a range, and a pipeline divides "
                                                       "steps of one size, option '--dim', give each "
                                                       "dimension one size";
  Block &block = function.getBody().front();
  llvm::StringMap<StateOp> byName;
  for (StateOp state : block.getOps<StateOp>())
    byName[state.getName()] = state;
  scale = byName.lookup("optimizer.scale");
  Operation *terminator = block.getTerminator();
  for (OpOperand &operand : terminator->getOpOperands()) {
    const StringAttr name = updatedState(function, operand.getOperandNumber());
    if (name)
      next.emplace_back(byName.lookup(name), operand.get());
    else if (!loss)
      loss = operand.get(), lossNumber = operand.getOperandNumber();
    else
      return function.emitError("the program has several outputs, and a training step returns only its loss, run the "
                                "pass dataflow-train with accumulate=0");
  }
  if (!scale || !loss)
    return function.emitError(
        "the program is not a training step that exchanges gradients, run the pass dataflow-train with accumulate=0");
  // The forward pass reads weights after their update. Here they are read as states, and the update comes last.
  for (auto &[state, value] : next)
    if (state.getTrainable() && value.getDefiningOp() && !readsArguments(ancestorsOf(value)))
      value.replaceUsesWithIf(state.getResult(), [&, name = state.getNameAttr()](OpOperand &use) {
        return use.getOwner() != terminator || updatedState(function, use.getOperandNumber()) != name;
      });
  size_t i = 0;
  for (OpOperand &operand : terminator->getOpOperands())
    if (updatedState(function, operand.getOperandNumber()))
      next[i++].second = operand.get();
  return success();
}

LogicalResult PipelineStages::findUpdates() {
  struct Found {
    StateOp state;
    Value next;
    llvm::SetVector<Operation *> reads;
  };
  std::vector<Found> all;
  for (auto &[state, value] : next)
    all.push_back({state, value, statesReadBy(ancestorsOf(value), value)});
  llvm::DenseSet<Operation *> updated, sums;
  for (const Found &each : all)
    if (each.reads.contains(scale))
      updated.insert(each.state);
  llvm::DenseMap<Operation *, size_t> weightOfSum;
  for (Found &each : all)
    if (updated.contains(each.state) && each.state.getTrainable()) {
      SmallVector<Operation *> read;
      for (Operation *state : each.reads)
        if (!updated.contains(state) && state != scale)
          read.push_back(state);
      if (read.size() != 1)
        return each.state.emitError("has an update that does not depend on exactly one gradient, run the pass "
                                    "dataflow-train with accumulate=0");
      weightOfSum[read.front()] = weights.size();
      weights.push_back({each.state, cast<StateOp>(read.front()), {}, {}, {}, 0});
      sums.insert(read.front());
    }
  for (const Found &each : all) {
    if (updated.contains(each.state)) {
      std::optional<size_t> weight;
      for (Operation *state : each.reads)
        if (auto found = weightOfSum.find(state); found != weightOfSum.end())
          weight = found->second;
      updates.push_back({each.state, each.next, weight});
    } else if (auto found = weightOfSum.find(each.state); found != weightOfSum.end()) {
      weights[found->second].gradient = each.next;
    } else if (each.state != scale) {
      modelStates.push_back({each.state, each.next});
    }
  }
  for (Weight &weight : weights)
    if (!weight.gradient)
      return weight.state.emitError("has no gradient in this step, run the pass dataflow-train with accumulate=0");
  return success();
}

void PipelineStages::findMembers() {
  SmallVector<Value> roots{loss};
  for (const ModelState &state : modelStates)
    roots.push_back(state.next);
  for (Operation *op : ancestorsOf(roots))
    forward.insert(op);
  for (const Weight &weight : weights)
    roots.push_back(weight.gradient);
  reached = ancestorsOf(roots);
}

const PipelineStages::ModelState *PipelineStages::findModelState(StateOp state) const {
  const auto found = llvm::find_if(modelStates, [&](const ModelState &each) { return each.state == state; });
  return found == modelStates.end() ? nullptr : &*found;
}

std::optional<size_t> PipelineStages::findWeight(StateOp state) const {
  for (size_t i = 0; i < weights.size(); ++i)
    if (weights[i].state == state)
      return i;
  return std::nullopt;
}

ValueScope PipelineStages::scopeOf(Value value) const {
  if (isa<BlockArgument>(value))
    return ValueScope::Microbatch;
  if (auto state = value.getDefiningOp<StateOp>()) {
    const ModelState *own = findModelState(state);
    return own ? own->scope : ValueScope::Step;
  }
  return scopes.lookup(value);
}

/// A state that follows from itself alone counts microbatches. If it follows from data, the stage of that data keeps
/// it.
void PipelineStages::findScopes() {
  for (bool isStable = false; !isStable;) {
    for (Operation *op : reached) {
      ValueScope scope = ValueScope::Step;
      for (Value operand : op->getOperands())
        scope = std::max(scope, scopeOf(operand));
      for (Value result : op->getResults())
        scopes[result] = scope;
    }
    isStable = true;
    for (ModelState &state : modelStates)
      if (state.scope == ValueScope::Counted && scopeOf(state.next) == ValueScope::Microbatch) {
        state.scope = ValueScope::Microbatch;
        isStable = false;
      }
  }
  for (Operation *op : reached)
    if (op->getNumResults() > 0 && scopeOf(op->getResult(0)) == ValueScope::Microbatch)
      members.push_back(op);
}

/// Operators of the forward pass are numbered in order. The others have the number of the operator whose gradient they
/// compute, but none above that of a gradient they read, so that gradients flow backward.
LogicalResult PipelineStages::findPositions() {
  DataflowDialect::PositionAttrHelper mark(function.getContext());
  llvm::DenseMap<int64_t, size_t> ofMark;
  for (Operation *op : members)
    if (isForward(op)) {
      if (IntegerAttr marked = mark.getAttr(op))
        ofMark[marked.getInt()] = numPositions;
      positions[op] = numPositions++;
    }
  if (ofMark.empty())
    return function.emitError(
        "the program has no operator with a position, run the pass dataflow-mark-positions before dataflow-train");
  for (Operation *op : members) {
    if (isForward(op))
      continue;
    size_t position = numPositions == 0 ? 0 : numPositions - 1;
    if (IntegerAttr marked = mark.getAttr(op))
      if (auto found = ofMark.find(marked.getInt()); found != ofMark.end())
        position = found->second;
    for (Value operand : op->getOperands())
      if (Operation *maker = operand.getDefiningOp(); maker && positions.contains(maker) && !isForward(maker))
        position = std::min(position, positions.lookup(maker));
    positions[op] = position;
  }
  return success();
}

CutProblem PipelineStages::cutProblem(uint32_t numStages, const StageRates &rates) const {
  CutProblem problem;
  problem.stages = numStages;
  problem.bytesPerSec = rates.linkBytesPerSec;
  problem.latencyNs = rates.linkLatencyNs;
  problem.workNs.assign(numPositions, 0);
  problem.crossingBytes.assign(numPositions, 0);
  for (Operation *op : members) {
    if (auto cost = modelOf<CostOpInterface>(op)) {
      const double ns = 1e9 * std::max(static_cast<double>(cost.getFlops()) / rates.flopsPerSec,
                                       static_cast<double>(cost.getBytesMoved()) / rates.bytesPerSec);
      constexpr double kMostNs = 1e15;
      problem.workNs[positions.lookup(op)] += static_cast<int64_t>(std::min(ns, kMostNs));
    }
    if (!isForward(op))
      continue;
    for (Value result : op->getResults()) {
      size_t last = positions.lookup(op);
      for (Operation *reader : result.getUsers())
        if (isForward(reader))
          last = std::max(last, positions.lookup(reader));
      for (size_t cut = positions.lookup(op) + 1; cut <= last; ++cut)
        problem.crossingBytes[cut] += tensorBytes(result.getType());
    }
  }
  return problem;
}

uint32_t PipelineStages::stageOf(Value value, uint32_t otherwise) const {
  Operation *op = value.getDefiningOp();
  auto found = op ? stages.find(op) : stages.end();
  return found == stages.end() ? otherwise : found->second;
}

SmallVector<size_t> PipelineStages::weightsOf(Value value) const {
  SmallVector<size_t> list;
  llvm::SetVector<Operation *> open = statesReadBy(ancestorsOf(value), value);
  for (size_t i = 0; i < open.size(); ++i) {
    auto state = cast<StateOp>(open[i]);
    if (std::optional<size_t> weight = findWeight(state)) {
      list.push_back(*weight);
    } else if (const ModelState *own = findModelState(state); own && own->scope == ValueScope::Counted) {
      const llvm::SetVector<Operation *> more = statesReadBy(ancestorsOf(own->next), own->next);
      open.insert(more.begin(), more.end());
    }
  }
  return list;
}

/// A weight that several stages read has a gradient that is a sum over them. Each stage adds up its own terms, and the
/// sums are sent once. The operators that add the terms of a microbatch are left out.
void PipelineStages::findTerms(Weight &weight) {
  SmallVector<Value> open{weight.gradient};
  while (!open.empty()) {
    const Value value = open.pop_back_val();
    auto sum = value.getDefiningOp<BinaryOp>();
    if (sum && sum.getKind() == BinaryKind::add && stages.contains(sum) && !isForward(sum) &&
        sum.getLhs().getType() == sum.getType() && sum.getRhs().getType() == sum.getType() &&
        stageOf(sum.getLhs(), weight.stage) != stageOf(sum.getRhs(), weight.stage) && sum.getResult().hasOneUse()) {
      open.push_back(sum.getRhs());
      open.push_back(sum.getLhs());
      stages.erase(sum);
      continue;
    }
    weight.terms.push_back(value);
    weight.termStages.push_back(stageOf(value, weight.stage));
  }
}

LogicalResult PipelineStages::assignStages(const CutSolution &cuts) {
  for (Operation *op : members)
    stages[op] = static_cast<uint32_t>(std::upper_bound(cuts.firsts.begin(), cuts.firsts.end(), positions.lookup(op)) -
                                       cuts.firsts.begin() - 1);
  std::vector<uint32_t> first(weights.size(), static_cast<uint32_t>(cuts.firsts.size()) - 1);
  for (Operation *op : members)
    for (Value operand : op->getOperands())
      if (scopeOf(operand) != ValueScope::Microbatch)
        for (size_t weight : weightsOf(operand))
          first[weight] = std::min(first[weight], stages.lookup(op));
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i].stage = first[i];
    findTerms(weights[i]);
  }
  llvm::erase_if(members, [&](Operation *op) { return !stages.contains(op); });
  for (ModelState &state : modelStates) {
    if (state.scope != ValueScope::Microbatch)
      continue;
    Operation *maker = state.next.getDefiningOp();
    if (!maker || !stages.contains(maker))
      return refuse(state.state, ErrorCode::Unsupported)
             << "state '" << state.state.getName()
             << "' has a next value that no operator computes, so a pipeline cannot assign it to a stage, train the "
                "model without --pipeline";
    state.stage = stages.lookup(maker);
    for (Operation *reader : state.state.getResult().getUsers())
      if (stages.contains(reader) && stages.lookup(reader) != state.stage)
        return refuse(state.state, ErrorCode::Unsupported)
               << "state '" << state.state.getName() << "' is read in stage " << stages.lookup(reader)
               << " and updated in stage " << state.stage
               << ", and a state that the model updates must be in one stage, give another number of stages";
  }
  return success();
}

LogicalResult PipelineStages::run(uint32_t numStages, const StageRates &rates) {
  if (failed(findResults()) || failed(findUpdates()))
    return failure();
  findMembers();
  findScopes();
  if (scopeOf(loss) != ValueScope::Microbatch || !loss.getDefiningOp())
    return refuse(function, ErrorCode::InvalidInput) << "the model has a loss that no operator computes from the "
                                                        "inputs, so a pipeline has no work to divide, give a loss "
                                                        "that depends on the inputs";
  if (failed(findPositions()))
    return failure();
  const Expected<CutSolution> cuts = solveCuts(cutProblem(numStages, rates));
  if (!cuts) {
    emitError(function, cuts.error());
    return failure();
  }
  return assignStages(*cuts);
}

} // namespace sluice
