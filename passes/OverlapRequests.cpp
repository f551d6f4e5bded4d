//===- OverlapRequests.cpp - Several requests in one step ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/IR/Extents.h"
#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Refuse.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "passes/Bridge/FunctionCheck.h"
#include "passes/Passes.h"
#include "sluice/Pipeline/Cuts.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"

#include <numeric>

using namespace mlir;

namespace sluice {
#define GEN_PASS_DEF_OVERLAPREQUESTSPASS
#include "passes/Passes.h.inc"

using namespace dataflow;

namespace {

/// A state of the model that a step changes.
struct ModelState {
  StateOp op;
  Value next;
  unsigned result = 0;         ///< The function's result that is the next value.
  std::optional<size_t> first; ///< The position of the first operator that reads the state.
  uint32_t stage = 0;
};

class Overlapper {
public:
  Overlapper(func::FuncOp function, uint32_t requests, double flopsPerSec, double bytesPerSec, double linkBytesPerSec,
             int64_t linkLatencyNs)
      : function(function), body(function.getBody().front()), builder(function), requests(requests),
        flopsPerSec(flopsPerSec), bytesPerSec(bytesPerSec), linkBytesPerSec(linkBytesPerSec),
        linkLatencyNs(linkLatencyNs) {}

  LogicalResult run();

private:
  void findStates();
  void findMembers();
  /// Whether requests have values of their own; the others are constant.
  bool isMoving(Value value) const;
  LogicalResult assignStages();
  LogicalResult checkZeros();
  llvm::BitVector joinedPositions();
  int64_t nanosecondsOf(Operation *op) const;
  uint32_t stageOf(Value value) const;
  /// The value that `value` had `steps` steps ago.
  Value delayed(Value value, uint32_t steps);
  StateOp makeState(RankedTensorType type);
  /// Keeps a state at its initial value until the first request reaches its stage.
  Value whenReached(TensorBuilder &build, const ModelState &state, Value next);
  LogicalResult rewrite();
  void appendResults();

  /// Calls `visit` with the operands of `op` and of the operators in its regions that are values of the function's
  /// block.
  template <typename Visit>
  void forEachRead(Operation *op, Visit visit) const {
    op->walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        if (operand.get().getParentBlock() == &body)
          visit(operand);
    });
  }

  func::FuncOp function;
  Block &body;
  OpBuilder builder;
  const uint32_t requests;
  const double flopsPerSec, bytesPerSec, linkBytesPerSec;
  const int64_t linkLatencyNs;

  SmallVector<Operation *> members; ///< Operators of moving values, in order.
  llvm::DenseMap<Operation *, size_t> positions;
  llvm::DenseSet<Value> moving; ///< Results of members.
  SmallVector<ModelState> states;
  llvm::DenseMap<Operation *, size_t> stateIndex;
  SmallVector<uint32_t> stages; ///< By position.
  llvm::DenseMap<Value, SmallVector<Value>> delays;
  SmallVector<std::pair<StateOp, Value>> added; ///< New states and their next values.
  Value counter;                                ///< The number of earlier steps; null until it is needed.
};

bool Overlapper::isMoving(Value value) const {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return !func::FuncOp(function).getArgAttr(argument.getArgNumber(), DataflowDialect::FixedAttrHelper::getNameStr());
  if (isa_and_nonnull<StateOp>(value.getDefiningOp()))
    return stateIndex.contains(value.getDefiningOp());
  return moving.contains(value);
}

void Overlapper::findStates() {
  llvm::StringMap<StateOp> byName;
  for (StateOp state : body.getOps<StateOp>())
    byName[state.getName()] = state;
  for (OpOperand &operand : body.getTerminator()->getOpOperands())
    if (const StringAttr name = updatedState(function, operand.getOperandNumber())) {
      // A copy at the end of the program would join all operators before it.
      Value next = operand.get();
      while (auto copy = next.getDefiningOp<CopyOp>())
        next = copy.getOperand();
      stateIndex[byName.lookup(name)] = states.size();
      states.push_back({byName.lookup(name), next, operand.getOperandNumber(), std::nullopt, 0});
    }
  for (const ModelState &state : states) {
    const Value copy = body.getTerminator()->getOperand(state.result);
    body.getTerminator()->setOperand(state.result, state.next);
    if (copy != state.next && copy.use_empty())
      copy.getDefiningOp()->erase();
  }
}

void Overlapper::findMembers() {
  for (Operation &op : body.without_terminator()) {
    if (isa<StateOp>(op))
      continue;
    bool isMember = !isMemoryEffectFree(&op);
    forEachRead(&op, [&](OpOperand &read) { isMember |= isMoving(read.get()); });
    if (!isMember)
      continue;
    forEachRead(&op, [&](OpOperand &read) {
      if (auto found = stateIndex.find(read.get().getDefiningOp()); found != stateIndex.end())
        if (ModelState &state = states[found->second]; !state.first)
          state.first = members.size();
    });
    positions[&op] = members.size();
    members.push_back(&op);
    moving.insert(op.result_begin(), op.result_end());
  }
}

int64_t Overlapper::nanosecondsOf(Operation *op) const {
  auto cost = modelOf<CostOpInterface>(op);
  if (!cost)
    return 0;
  constexpr double kMostNs = 1e15;
  const double seconds = std::max(static_cast<double>(cost.getFlops()) / flopsPerSec,
                                  static_cast<double>(cost.getBytesMoved()) / bytesPerSec);
  return static_cast<int64_t>(std::min(1e9 * seconds, kMostNs));
}

/// Positions before which no stage may begin. A request reads what the request before it has left in a state, so the
/// operators from the first one that reads a state to the one that computes its next value are in one stage. So are
/// those of states whose next values are other states.
llvm::BitVector Overlapper::joinedPositions() {
  SmallVector<size_t> group(states.size());
  std::iota(group.begin(), group.end(), 0);
  auto rootOf = [&](size_t state) {
    while (group[state] != state)
      state = group[state];
    return state;
  };
  for (size_t i = 0; i < states.size(); ++i)
    if (auto other = stateIndex.find(states[i].next.getDefiningOp()); other != stateIndex.end())
      group[rootOf(other->second)] = rootOf(i);

  struct Range {
    size_t first = SIZE_MAX, last = 0, members = 0;
  };
  std::vector<Range> ranges(states.size());
  for (size_t i = 0; i < states.size(); ++i)
    ++ranges[rootOf(i)].members;
  for (size_t i = 0; i < states.size(); ++i) {
    Range &range = ranges[rootOf(i)];
    auto add = [&](size_t position) {
      range.first = std::min(range.first, position);
      range.last = std::max(range.last, position);
    };
    const auto maker = positions.find(states[i].next.getDefiningOp());
    if (states[i].first)
      add(*states[i].first);
    // What is computed before a state is first read may come from an earlier stage.
    if (maker != positions.end() && (range.members > 1 || !states[i].first || maker->second > *states[i].first))
      add(maker->second);
  }
  llvm::BitVector joined(static_cast<unsigned>(members.size()));
  for (size_t i = 0; i < states.size(); ++i)
    if (const Range &range = ranges[rootOf(i)]; range.first != SIZE_MAX) {
      states[i].first = range.first;
      for (size_t position = range.first + 1; position <= range.last; ++position)
        joined.set(static_cast<unsigned>(position));
    }
  return joined;
}

LogicalResult Overlapper::assignStages() {
  const llvm::BitVector joined = joinedPositions();
  SmallVector<size_t> unitOf(members.size());
  CutProblem problem;
  problem.stages = requests;
  // A problem counts the bytes that cross a cut in both directions, and requests go in one.
  problem.bytesPerSec = 2 * linkBytesPerSec;
  problem.latencyNs = linkLatencyNs / 2;
  for (size_t i = 0; i < members.size(); ++i) {
    if (!joined.test(static_cast<unsigned>(i)))
      problem.workNs.push_back(0);
    unitOf[i] = problem.workNs.size() - 1;
    problem.workNs.back() += nanosecondsOf(members[i]);
  }
  const size_t units = problem.workNs.size();
  if (units < requests) {
    InFlightDiagnostic error = refuse(function, units < 2 ? ErrorCode::Unsupported : ErrorCode::InvalidInput);
    error << "the model has " << units << (units == 1 ? " part" : " parts")
          << " that can compute for different requests"
          << (states.empty() ? "" : " (operators of a state are in one part)") << ", and " << requests
          << " requests are to be computed at once, option '--pipeline-requests', ";
    if (units < 2)
      error << "leave this option out";
    else
      error << "give at most " << units;
    return error;
  }
  problem.crossingBytes.assign(units, 0);
  auto cross = [&](Value value, size_t from) {
    size_t last = from;
    for (Operation *user : value.getUsers()) {
      Operation *reader = body.findAncestorOpInBlock(*user);
      if (auto found = positions.find(reader); found != positions.end())
        last = std::max(last, unitOf[found->second]);
      else if (reader == body.getTerminator())
        last = units - 1;
    }
    for (size_t cut = from + 1; cut <= last; ++cut)
      problem.crossingBytes[cut] += tensorBytes(value.getType());
  };
  for (BlockArgument argument : body.getArguments())
    if (isMoving(argument))
      cross(argument, 0);
  for (size_t i = 0; i < members.size(); ++i)
    for (Value result : members[i]->getResults())
      cross(result, unitOf[i]);
  Expected<CutSolution> cuts = solveCuts(problem);
  const Status valid = cuts ? validateCuts(problem, *cuts) : Status(propagate(cuts));
  if (!valid) {
    emitError(function, valid.error());
    return failure();
  }
  for (size_t i = 0; i < members.size(); ++i) {
    const auto *next = std::upper_bound(cuts->firsts.data(), cuts->firsts.data() + cuts->firsts.size(), unitOf[i]);
    stages.push_back(static_cast<uint32_t>(next - cuts->firsts.data() - 1));
  }
  for (ModelState &state : states)
    if (state.first)
      state.stage = stages[*state.first];
  return checkZeros();
}

/// Later stages compute with zeros at first. A loop that ends when its data says so may not end then, and an operator
/// that refuses its data may refuse zeros.
LogicalResult Overlapper::checkZeros() {
  constexpr int64_t kMostTrips = int64_t(1) << 32;
  for (Operation *member : members) {
    if (stages[positions.lookup(member)] == 0)
      continue;
    const WalkResult checked = member->walk([](Operation *op) -> WalkResult {
      StringRef what;
      APInt trips;
      if (op->hasTrait<FailsOnData>())
        what = "may refuse its data";
      else if (auto loop = dyn_cast<LoopOp>(op);
               loop && matchPattern(loop.getTrips(), m_ConstantInt(&trips)) && trips.sgt(kMostTrips))
        what = "is a loop without a number of iterations, which may not end";
      if (what.empty())
        return WalkResult::advance();
      return refuse(op, ErrorCode::Unsupported)
             << what << ", in a stage that computes with zeros before the first request reaches it, option "
             << "'--pipeline-requests', leave this option out";
    });
    if (checked.wasInterrupted())
      return failure();
  }
  return success();
}

uint32_t Overlapper::stageOf(Value value) const {
  if (isa<BlockArgument>(value))
    return 0;
  if (auto found = stateIndex.find(value.getDefiningOp()); found != stateIndex.end())
    return states[found->second].stage;
  return stages[positions.lookup(value.getDefiningOp())];
}

StateOp Overlapper::makeState(RankedTensorType type) {
  llvm::StringSet<> names;
  for (StateOp state : body.getOps<StateOp>())
    names.insert(state.getName());
  std::string name;
  for (size_t i = added.size(); name.empty() || names.contains(name); ++i)
    name = "pipeline." + std::to_string(i);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  return StateOp::create(builder, function.getLoc(), type, builder.getStringAttr(name),
                         SplatElementsAttr::get(type, builder.getZeroAttr(type.getElementType())), UnitAttr());
}

Value Overlapper::delayed(Value value, uint32_t steps) {
  if (steps == 0)
    return value;
  Value before = delayed(value, steps - 1);
  SmallVector<Value> &known = delays[value];
  if (known.size() < steps) {
    StateOp state = makeState(cast<RankedTensorType>(value.getType()));
    added.emplace_back(state, before);
    known.push_back(state);
  }
  return known[steps - 1];
}

Value Overlapper::whenReached(TensorBuilder &build, const ModelState &state, Value next) {
  if (state.stage == 0)
    return next;
  const auto type = RankedTensorType::get({}, builder.getI64Type());
  if (!counter) {
    StateOp number = makeState(type);
    counter = number;
    added.emplace_back(number, build.add(number, build.splat(type.getElementType(), 1)));
  }
  const Value first = build.splat(type.getElementType(), state.stage);
  return build.select(build.compare(ComparePredicate::ge, counter, first), next, StateOp(state.op));
}

LogicalResult Overlapper::rewrite() {
  for (Operation *op : members) {
    const uint32_t stage = stages[positions.lookup(op)];
    SmallVector<OpOperand *> reads;
    forEachRead(op, [&](OpOperand &read) {
      if (isMoving(read.get()))
        reads.push_back(&read);
    });
    for (OpOperand *read : reads) {
      if (isString(elementOf(read->get())) && stageOf(read->get()) < stage)
        return refuse(op, ErrorCode::Unsupported)
               << "reads text of an operator that computes for another request, which states do not support, option "
                  "'--pipeline-requests', give fewer requests";
      read->set(delayed(read->get(), stage - stageOf(read->get())));
    }
  }
  Operation *terminator = body.getTerminator();
  builder.setInsertionPoint(terminator);
  TensorBuilder build(builder, function.getLoc());
  for (OpOperand &operand : terminator->getOpOperands()) {
    const Value value = operand.get();
    if (const auto *state =
            llvm::find_if(states, [&](const ModelState &each) { return each.result == operand.getOperandNumber(); });
        state != states.end()) {
      if (isMoving(value) && stageOf(value) > state->stage)
        return function.emitError("the next value of state '")
               << StateOp(state->op).getName() << "' is in a later stage";
      const Value next = isMoving(value) ? delayed(value, state->stage - stageOf(value)) : value;
      operand.set(whenReached(build, *state, next));
    } else if (isMoving(value)) {
      if (isString(elementOf(value)) && stageOf(value) < requests - 1)
        return refuse(function, ErrorCode::Unsupported)
               << "an output of text is known before the last stage, which states do not support, option "
                  "'--pipeline-requests', leave this option out";
      operand.set(delayed(value, requests - 1 - stageOf(value)));
    }
  }
  if (!build.message().empty())
    return function.emitError("requests cannot be counted: ") << build.message();
  appendResults();
  return success();
}

void Overlapper::appendResults() {
  Operation *terminator = body.getTerminator();
  SmallVector<DictionaryAttr> attributes;
  function.getAllResultAttrs(attributes);
  attributes.resize(terminator->getNumOperands(), builder.getDictionaryAttr({}));
  SmallVector<Value> results(terminator->getOperands());
  for (auto [state, next] : added) {
    results.push_back(next);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(DataflowDialect::UpdatesAttrHelper::getNameStr(), state.getNameAttr())));
  }
  terminator->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
}

LogicalResult Overlapper::run() {
  if (Status readable = checkFunction(function); !readable) {
    emitError(function, readable.error());
    return failure();
  }
  if (symbolsOf(function.getOperation()))
    return refuse(function, ErrorCode::Unsupported)
           << "the model has tensors whose sizes change between steps, and values of earlier requests need one size, "
              "option '--pipeline-requests', give each dimension of the inputs one size by --dim, or leave this option "
              "out if the sizes depend on data";
  findStates();
  findMembers();
  if (failed(assignStages()))
    return failure();
  return rewrite();
}

struct OverlapRequests : impl::OverlapRequestsPassBase<OverlapRequests> {
  using OverlapRequestsPassBase::OverlapRequestsPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal() || requests <= 1)
      return;
    if (failed(Overlapper(getOperation(), requests, flopsPerSec, bytesPerSec, linkBytesPerSec, linkLatencyNs).run()))
      signalPassFailure();
  }
};
} // namespace
} // namespace sluice
