//===- Pipeline.cpp - From a training step to the ranks of a pipeline -----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Dataflow/IR/FirstError.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Refuse.h"
#include "dialects/Dataflow/IR/Shapes.h"
#include "dialects/Dataflow/IR/TensorBuilder.h"
#include "passes/PipelineStages.h"
#include "sluice/Pipeline/Exchanges.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_MARKPOSITIONSPASS
#define GEN_PASS_DEF_PIPELINEPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

/// The data of a transfer.
struct Sent {
  enum class Kind : uint8_t { Value, Weight, Term, Loss };
  Kind kind = Kind::Value;
  Value value;                 ///< With Kind::Value: the value; one is sent for each microbatch.
  size_t weight = 0, term = 0; ///< Of a weight, or of a term of its gradient.
};

/// The transfers between all ranks of a step.
class Transfers {
public:
  Transfers(const PipelineStages &stages, const PipelineSchedule &schedule) : stages(stages), schedule(schedule) {
    for (Operation *op : stages.getMembers())
      for (Value operand : op->getOperands())
        use(operand, taskOf(op));
    // The rank of the first stage counts all states that count.
    for (const PipelineStages::ModelState &state : stages.getModelStates())
      if (state.scope == ValueScope::Counted)
        use(state.next, {0, 0, false});
    const ArrayRef<PipelineStages::Weight> weights = stages.getWeights();
    for (size_t i = 0; i < weights.size(); ++i)
      for (size_t term = 0; term < weights[i].terms.size(); ++term) {
        const PipelineTask task{weights[i].termStages[term], 0, true};
        use(weights[i].terms[term], task);
        if (groupOf(task) != schedule.groupOf(weights[i].stage))
          add({TransferTime::End, groupOf(task), schedule.groupOf(weights[i].stage), {}, {}},
              {Sent::Kind::Term, {}, i, term});
      }
    const uint32_t last = groupOf(taskOf(stages.getLoss().getDefiningOp()));
    for (uint32_t group = 0; group < schedule.groups; ++group)
      if (group != last)
        add({TransferTime::End, last, group, {}, {}}, {Sent::Kind::Loss, {}, 0, 0});
  }

  std::vector<PipelineTransfer> transfers;
  std::vector<Sent> sent; ///< Per transfer.

  PipelineTask taskOf(Operation *op) const { return {stages.stageOf(op), 0, !stages.isForward(op)}; }
  uint32_t groupOf(const PipelineTask &task) const { return schedule.groupOf(task.stage); }

private:
  void add(PipelineTransfer transfer, Sent what) {
    transfers.push_back(transfer);
    sent.push_back(what);
  }

  /// A group receives each value once, before the first of its tasks that reads it.
  void use(Value value, const PipelineTask &by) {
    const uint32_t to = groupOf(by);
    if (stages.scopeOf(value) != ValueScope::Microbatch) {
      for (size_t weight : stages.weightsOf(value))
        if (const uint32_t from = schedule.groupOf(stages.getWeights()[weight].stage);
            from != to && known.insert({stages.getWeights()[weight].state->getResult(0), to}).second)
          add({TransferTime::Begin, from, to, {}, {}}, {Sent::Kind::Weight, {}, weight, 0});
      return;
    }
    Operation *maker = value.getDefiningOp();
    if (!maker || isa<StateOp>(maker) || groupOf(taskOf(maker)) == to)
      return;
    auto [entry, isNew] = indices.try_emplace({value, to}, transfers.size());
    if (isNew)
      return add({TransferTime::Microbatch, groupOf(taskOf(maker)), to, taskOf(maker), by},
                 {Sent::Kind::Value, value, 0, 0});
    PipelineTask &first = transfers[entry->second].consumer;
    const std::vector<PipelineTask> &tasks = schedule.tasks[to];
    if (llvm::find(tasks, by) < llvm::find(tasks, first))
      first = by;
  }

  const PipelineStages &stages;
  const PipelineSchedule &schedule;
  llvm::DenseSet<std::pair<Value, unsigned>> known;
  llvm::DenseMap<std::pair<Value, unsigned>, size_t> indices;
};

/// Writes the program of one rank into a new block.
class RankWriter {
public:
  RankWriter(const PipelineStages &stages, const PipelineSchedule &schedule, const Transfers &transfers,
             ArrayRef<PipelineExchange> exchanges, uint32_t rank, uint32_t groupRanks)
      : stages(stages), schedule(schedule), transfers(transfers), exchanges(exchanges), group(rank / groupRanks),
        groupRanks(groupRanks), position(rank % groupRanks), function(stages.getFunction()),
        builder(function.getContext()), ofMicrobatch(schedule.microbatches) {
    for (const PipelineStages::Weight &weight : stages.getWeights())
      sums.emplace_back(weight.terms.size());
  }

  LogicalResult run();

private:
  void writeExchange(const PipelineExchange &exchange);
  void writeTask(const PipelineTask &task);
  void addTerm(size_t weight, size_t term, uint32_t microbatch);
  LogicalResult writeResults();
  void countStates();
  void clone(Operation *op, Location loc, llvm::function_ref<Value(Value)> operandOf, DenseMap<Value, Value> &to);
  /// The value in the program of this rank.
  Value get(Value value, uint32_t microbatch);
  Value getUpdated(Value value);
  Value localState(StateOp state);
  Value sliceOf(BlockArgument argument, uint32_t microbatch);
  /// `value` added to `sum`, which may be null.
  Value addTo(Value sum, Value value, Location loc);
  bool isMine(uint32_t stage) const { return schedule.groupOf(stage) == group; }
  /// The rank of another group with which this one exchanges data.
  uint32_t rankIn(uint32_t other) const { return other * groupRanks + position; }
  bool ownsWeights() const {
    return llvm::any_of(stages.getWeights(), [&](const auto &weight) { return isMine(weight.stage); });
  }

  const PipelineStages &stages;
  const PipelineSchedule &schedule;
  const Transfers &transfers;
  ArrayRef<PipelineExchange> exchanges;
  const uint32_t group, groupRanks, position; ///< The rank's group, the ranks of each group, and its position there.
  func::FuncOp function;
  OpBuilder builder;
  Block *block = nullptr;
  DenseMap<Value, Value> ofStep, ofUpdate;
  std::vector<DenseMap<Value, Value>> ofMicrobatch;
  DenseMap<Operation *, Value> states;
  std::vector<SmallVector<Value>> sums; ///< Per weight and term.
  Value lossSum;
  std::string problem;
};

/// The name of an operator with the number of its microbatch. The operator's own location stays, as exports read it.
Location locationOf(Operation *op, uint32_t microbatch) {
  const std::string name = nodeName(op->getLoc());
  if (name.empty())
    return op->getLoc();
  return NameLoc::get(StringAttr::get(op->getContext(), name + "#" + std::to_string(microbatch)), op->getLoc());
}

StringRef nameOf(StateOp state) { return state.getName(); }

Value RankWriter::localState(StateOp state) {
  Value &local = states[state];
  if (!local) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(block);
    local = builder.clone(*state)->getResult(0);
  }
  return local;
}

Value RankWriter::sliceOf(BlockArgument argument, uint32_t microbatch) {
  const auto type = cast<RankedTensorType>(argument.getType());
  SmallVector<int64_t> starts(type.getRank()), steps(type.getRank(), 1);
  starts[0] = type.getDimSize(0) * microbatch;
  const Value whole = block->getArgument(argument.getArgNumber());
  const StringAttr name = inputName(function, argument.getArgNumber());
  const Location loc =
      NameLoc::get(builder.getStringAttr((name ? name.getValue() : StringRef("input")) + "#" + Twine(microbatch)));
  return SliceOp::create(builder, loc, type, whole, starts, steps);
}

void RankWriter::clone(Operation *op, Location loc, llvm::function_ref<Value(Value)> operandOf,
                       DenseMap<Value, Value> &to) {
  IRMapping mapping;
  for (Value operand : op->getOperands())
    mapping.map(operand, operandOf(operand));
  Operation *copy = builder.clone(*op, mapping);
  copy->setLoc(loc);
  copy->removeAttr(DataflowDialect::PositionAttrHelper::getNameStr());
  for (auto [result, local] : llvm::zip(op->getResults(), copy->getResults()))
    to[result] = local;
}

Value RankWriter::get(Value value, uint32_t microbatch) {
  if (auto state = value.getDefiningOp<StateOp>()) {
    if (stages.findModelState(state) && microbatch > 0)
      return get(stages.findModelState(state)->next, microbatch - 1);
    // A weight of another rank was received.
    if (const Value received = ofStep.lookup(value))
      return received;
    if (const std::optional<size_t> weight = stages.findWeight(state);
        weight && !isMine(stages.getWeights()[*weight].stage) && problem.empty())
      problem = "weight '" + nameOf(state).str() + "' is read by rank " + std::to_string(rankIn(group)) +
                ", which does not receive the weight, this is a bug of Sluice, please report it";
    return localState(state);
  }
  const ValueScope scope = stages.scopeOf(value);
  auto &known = scope == ValueScope::Step ? ofStep : ofMicrobatch[microbatch];
  if (Value local = known.lookup(value))
    return local;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const Value slice = sliceOf(argument, microbatch);
    return ofMicrobatch[microbatch][value] = slice;
  }
  Operation *op = value.getDefiningOp();
  if (scope == ValueScope::Microbatch) {
    if (problem.empty())
      problem = "operator '" + nodeName(op->getLoc()) + "' is read by rank " + std::to_string(rankIn(group)) +
                " before its result is received or computed, this is a bug of Sluice, please report it";
    return UnrealizedConversionCastOp::create(builder, op->getLoc(), value.getType(), ValueRange()).getResult(0);
  }
  clone(
      op, scope == ValueScope::Step ? op->getLoc() : locationOf(op, microbatch),
      [&](Value operand) { return get(operand, microbatch); }, known);
  return known.lookup(value);
}

Value RankWriter::getUpdated(Value value) {
  if (Value local = ofUpdate.lookup(value))
    return local;
  Operation *op = value.getDefiningOp();
  if (auto state = dyn_cast<StateOp>(op))
    return localState(state);
  clone(
      op, op->getLoc(), [&](Value operand) { return getUpdated(operand); }, ofUpdate);
  return ofUpdate.lookup(value);
}

/// A kernel that fuses several additions would keep all their summands in memory until the last one is computed.
Value RankWriter::addTo(Value sum, Value value, Location loc) {
  if (!sum)
    return value;
  TensorBuilder build(builder, loc);
  const Value total = build.add(sum, value);
  if (!total) {
    if (problem.empty())
      problem = build.message();
    return value;
  }
  total.getDefiningOp()->setAttr(DataflowDialect::MaterializedAttrHelper::getNameStr(), builder.getUnitAttr());
  return total;
}

void RankWriter::writeExchange(const PipelineExchange &exchange) {
  const PipelineTransfer &transfer = transfers.transfers[exchange.transfer];
  const Sent &sent = transfers.sent[exchange.transfer];
  const PipelineStages::Weight *weight = stages.getWeights().data() + sent.weight;
  const bool sends = transfer.from == group;
  Value like = sent.value;
  std::string name = "loss";
  switch (sent.kind) {
  case Sent::Kind::Value:
    name = nodeName(like.getLoc()) + "#" + std::to_string(exchange.microbatch);
    break;
  case Sent::Kind::Weight:
    like = ofStep.lookup(weight->state->getResult(0));
    like = like ? like : weight->state->getResult(0);
    name = nameOf(weight->state).str();
    break;
  case Sent::Kind::Term:
    like = weight->terms[sent.term];
    name = nameOf(weight->state).str() + ".gradient";
    break;
  case Sent::Kind::Loss:
    like = stages.getLoss();
    break;
  }
  auto locOf = [&](const Twine &text) { return NameLoc::get(builder.getStringAttr(name + text)); };
  if (sends) {
    Value value;
    switch (sent.kind) {
    case Sent::Kind::Value:
      value = get(sent.value, exchange.microbatch);
      break;
    case Sent::Kind::Weight:
      value = localState(weight->state);
      break;
    case Sent::Kind::Term:
      value = sums[sent.weight][sent.term];
      break;
    case Sent::Kind::Loss:
      value = lossSum;
      break;
    }
    SendOp::create(builder, locOf(".to" + Twine(transfer.to)), value, builder.getI64IntegerAttr(rankIn(transfer.to)));
    return;
  }
  const Value received = ReceiveOp::create(builder, locOf(".from" + Twine(transfer.from)), like.getType(),
                                           builder.getI64IntegerAttr(rankIn(transfer.from)));
  switch (sent.kind) {
  case Sent::Kind::Value:
    ofMicrobatch[exchange.microbatch][sent.value] = received;
    break;
  case Sent::Kind::Weight:
    ofStep[stages.getWeights()[sent.weight].state->getResult(0)] = received;
    break;
  case Sent::Kind::Term:
    sums[sent.weight][sent.term] = received;
    break;
  case Sent::Kind::Loss:
    lossSum = received;
    break;
  }
}

/// Adds a microbatch's gradient to the sum. It comes right behind the gradient: what the gradient follows from need not
/// stay until the task ends.
void RankWriter::addTerm(size_t weight, size_t term, uint32_t microbatch) {
  const PipelineStages::Weight &of = stages.getWeights()[weight];
  const Location loc = NameLoc::get(builder.getStringAttr(nameOf(of.state) + ".gradient.sum#" + Twine(microbatch)));
  const Value gradient = get(of.terms[term], microbatch);
  sums[weight][term] = addTo(sums[weight][term], gradient, loc);
}

void RankWriter::writeTask(const PipelineTask &task) {
  auto isOfTask = [&](Operation *op) {
    return stages.isMember(op) && stages.stageOf(op) == task.stage && stages.isForward(op) != task.isBackward;
  };
  // Terms of this stage by the operators of this task that make them; others come at the end.
  DenseMap<Operation *, SmallVector<std::pair<size_t, size_t>>> terms;
  for (size_t i = 0; task.isBackward && i < sums.size(); ++i)
    for (size_t term = 0; term < sums[i].size(); ++term)
      if (const PipelineStages::Weight &weight = stages.getWeights()[i]; weight.termStages[term] == task.stage) {
        Operation *maker = weight.terms[term].getDefiningOp();
        terms[maker && isOfTask(maker) ? maker : nullptr].emplace_back(i, term);
      }
  auto addTerms = [&](Operation *maker) {
    for (auto [weight, term] : terms.lookup(maker))
      addTerm(weight, term, task.microbatch);
  };
  for (Operation *op : stages.getMembers())
    if (isOfTask(op)) {
      clone(
          op, locationOf(op, task.microbatch), [&](Value operand) { return get(operand, task.microbatch); },
          ofMicrobatch[task.microbatch]);
      addTerms(op);
    }
  addTerms(nullptr);
  if (task.isBackward || stages.stageOf(stages.getLoss().getDefiningOp()) != task.stage)
    return;
  const Value loss = get(stages.getLoss(), task.microbatch);
  lossSum = addTo(lossSum, loss, NameLoc::get(builder.getStringAttr("loss.sum")));
}

/// Every rank counts the states that its operators read, and those from which their next values follow. Rank 0 counts
/// those too that no operator reads.
void RankWriter::countStates() {
  for (size_t before = 0, now = SIZE_MAX; before != now; now = states.size()) {
    before = states.size();
    for (const PipelineStages::ModelState &state : stages.getModelStates()) {
      if (state.scope == ValueScope::Microbatch || (group != 0 && !states.contains(state.state)))
        continue;
      localState(state.state);
      for (uint32_t microbatch = 0; microbatch < schedule.microbatches; ++microbatch)
        get(state.next, microbatch);
    }
  }
}

LogicalResult RankWriter::writeResults() {
  TensorBuilder build(builder, NameLoc::get(builder.getStringAttr("loss")));
  const double share = 1.0 / schedule.microbatches;
  SmallVector<Value> results{build.mul(lossSum, build.splat(typeOf(lossSum).getElementType(), share))};
  SmallVector<DictionaryAttr> attributes{function.getResultAttrDict(stages.getLossNumber())};
  ofUpdate[stages.getScale()->getResult(0)] = build.splat(build.mlir().getF64Type(), share);
  for (size_t i = 0; i < sums.size(); ++i) {
    const PipelineStages::Weight &weight = stages.getWeights()[i];
    if (!isMine(weight.stage))
      continue;
    Value total;
    for (Value term : sums[i])
      total = addTo(total, term, weight.state->getLoc());
    ofUpdate[weight.sum->getResult(0)] = total;
  }
  if (!build.message().empty())
    return function.emitError("the mean loss of a pipeline cannot be built, ")
           << build.message() << ", give the model a loss of a floating-point type";
  auto add = [&](StateOp state, Value next) {
    results.push_back(next);
    attributes.push_back(builder.getDictionaryAttr(
        builder.getNamedAttr(DataflowDialect::UpdatesAttrHelper::getNameStr(), state.getNameAttr())));
  };
  for (const PipelineStages::Update &update : stages.getUpdates())
    if (update.weight ? isMine(stages.getWeights()[*update.weight].stage) : ownsWeights())
      add(update.state, getUpdated(update.next));
  countStates();
  for (const PipelineStages::ModelState &state : stages.getModelStates())
    if (state.scope == ValueScope::Microbatch ? isMine(state.stage) : states.contains(state.state))
      add(state.state, get(state.next, schedule.microbatches - 1));
  // A rank declares a state even if it only computes the next value and never reads the state.
  for (const PipelineStages::ModelState &state : stages.getModelStates())
    if (state.scope == ValueScope::Microbatch && isMine(state.stage))
      localState(state.state);
  func::ReturnOp::create(builder, function.getLoc(), results);
  function.setType(builder.getFunctionType(block->getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(attributes);
  return success();
}

LogicalResult RankWriter::run() {
  Block &old = function.getBody().front();
  SmallVector<Type> types;
  for (BlockArgument argument : old.getArguments()) {
    const auto type = cast<RankedTensorType>(argument.getType());
    const StringAttr name = inputName(function, argument.getArgNumber());
    SmallVector<int64_t> shape(type.getShape());
    if (shape.empty() || llvm::MulOverflow(shape[0], int64_t(schedule.microbatches), shape[0]))
      return refuse(function, ErrorCode::InvalidInput)
             << "input '" << (name ? name.getValue() : "") << "' has "
             << (shape.empty() ? "no dimension" : "too large a dimension") << " along which a pipeline could take "
             << schedule.microbatches << " microbatches, give the model an input with a batch dimension";
    types.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  block = new Block();
  function.getBody().push_back(block);
  for (auto [type, argument] : llvm::zip(types, old.getArguments()))
    block->addArgument(type, argument.getLoc());
  builder.setInsertionPointToEnd(block);
  const std::vector<PipelineTask> &tasks = schedule.tasks[group];
  for (uint32_t slot = 0; slot <= tasks.size(); ++slot) {
    for (const PipelineExchange &exchange : exchanges) {
      const PipelineTransfer &transfer = transfers.transfers[exchange.transfer];
      if ((transfer.from == group && exchange.sendSlot == slot) || (transfer.to == group && exchange.takeSlot == slot))
        writeExchange(exchange);
    }
    if (slot < tasks.size())
      writeTask(tasks[slot]);
  }
  if (failed(writeResults()))
    return failure();
  if (!problem.empty())
    return function.emitError(problem);
  old.erase();
  DataflowDialect::RanksAttrHelper(function.getContext())
      .setAttr(function, builder.getI64IntegerAttr(schedule.groups * groupRanks));
  DataflowDialect::RankAttrHelper(function.getContext()).setAttr(function, builder.getI64IntegerAttr(rankIn(group)));
  return success();
}

struct MarkPositions : sluice::impl::MarkPositionsPassBase<MarkPositions> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    Builder builder(&getContext());
    DataflowDialect::PositionAttrHelper position(&getContext());
    int64_t number = 0;
    for (Operation &op : getOperation().getBody().front().without_terminator())
      if (!isa<StateOp, ConstantOp>(op))
        position.setAttr(&op, builder.getI64IntegerAttr(number++));
  }
};

struct Pipeline : sluice::impl::PipelinePassBase<Pipeline> {
  using PipelinePassBase::PipelinePassBase;

  void runOnOperation() override {
    if (!getOperation().isExternal() && failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(func::FuncOp function) {
    auto fail = [&](const Error &error) {
      emitError(function, error);
      return failure();
    };
    const Expected<PipelineKind> kind = parsePipelineKind(schedule.getValue());
    if (!kind)
      return fail(kind.error());
    if (groupRanks < 1 || ranks % groupRanks != 0)
      return function.emitError("") << ranks.getValue() << " ranks cannot be divided into groups of "
                                    << groupRanks.getValue()
                                    << ", options 'ranks' and 'group-ranks' of dataflow-pipeline, give a multiple";
    const uint32_t groups = ranks / groupRanks;
    const Expected<PipelineSchedule> made = makeSchedule(*kind, groups, stages == 0 ? groups : stages, microbatches);
    if (!made)
      return fail(made.error());
    if (ranks < 2 || rank >= ranks)
      return function.emitError("rank ") << rank.getValue() << " is out of range for " << ranks.getValue()
                                         << " ranks, options 'rank' and 'ranks' of dataflow-pipeline, give 2 or more "
                                            "ranks and a rank below their number";
    if (!(flopsPerSec > 0) || !(bytesPerSec > 0))
      return function.emitError("a rank computes ")
             << flopsPerSec.getValue() << " operations and moves " << bytesPerSec.getValue()
             << " bytes per second, options 'flops-per-sec' and 'bytes-per-sec' of dataflow-pipeline, give positive "
                "rates";
    PipelineStages found(function);
    if (failed(found.run(made->stages, {flopsPerSec, bytesPerSec, linkBytesPerSec, linkLatencyNs})))
      return failure();
    const Transfers transfers(found, *made);
    const Expected<std::vector<PipelineExchange>> exchanges = orderExchanges(*made, transfers.transfers);
    if (!exchanges)
      return fail(exchanges.error());
    return RankWriter(found, *made, transfers, *exchanges, rank, groupRanks).run();
  }
};
} // namespace
