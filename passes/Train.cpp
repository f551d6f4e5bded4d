//===- Train.cpp - From a model to a training step ------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"

#include "dialects/Dataflow/Elementwise/Algebra.h"
#include "dialects/Dataflow/IR/FunctionAttributes.h"
#include "dialects/Dataflow/IR/Indices.h"
#include "dialects/Dataflow/IR/Refuse.h"
#include "passes/Gradients.h"
#include "sluice/Support/Text.h"

using namespace mlir;
using namespace sluice;
using namespace sluice::dataflow;

namespace sluice {
#define GEN_PASS_DEF_TRAINPASS
#include "passes/Passes.h.inc"
} // namespace sluice

namespace {

/// The option's value where no label is left out.
constexpr int64_t kNoIgnoreIndex = INT64_MIN;

/// A state of the optimizer's own, and its next value.
struct Updates {
  func::FuncOp function;
  SmallVector<std::pair<StringAttr, Value>> next;

  void set(StringAttr name, Value value) { next.emplace_back(name, value); }
  /// A state that begins as zeros. A weight of the model may have its name already.
  StateOp create(OpBuilder &builder, Location loc, const Twine &name, RankedTensorType type) {
    Block &block = function.getBody().front();
    std::string unique = name.str();
    while (llvm::any_of(block.getOps<StateOp>(), [&](StateOp state) { return state.getName() == unique; }))
      unique += "_";
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    return StateOp::create(builder, loc, type, builder.getStringAttr(unique),
                           SplatElementsAttr::get(type, builder.getZeroAttr(type.getElementType())), UnitAttr());
  }
};

struct Train : sluice::impl::TrainPassBase<Train> {
  using TrainPassBase::TrainPassBase;

  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    if (failed(run(getOperation())))
      signalPassFailure();
  }

  LogicalResult run(func::FuncOp function);

private:
  FailureOr<Value> chosenOutput(func::FuncOp function);
  FailureOr<Value> buildLoss(func::FuncOp function, TensorBuilder &build, Value output);
  Value crossEntropy(TensorBuilder &build, Value logits, Value labels, int64_t classAxis);
  Value addArgument(func::FuncOp function, StringRef name, RankedTensorType type);
  /// The optimizer's rule for one parameter.
  void update(TensorBuilder &build, StateOp parameter, Value gradient);
  Value nextParameter(TensorBuilder &build, StateOp parameter, Value p, Value gradient);
  void setParameter(TensorBuilder &build, StateOp parameter, StateOp residual, Value next);
  /// `next` in a step that updates, `state` in one that only accumulates.
  Value whenApplied(TensorBuilder &build, Value next, Value state) {
    return isApplied ? build.select(isApplied, next, state) : next;
  }
  void countSteps(TensorBuilder &build);
  LogicalResult applyExchanged(func::FuncOp function, ArrayRef<std::pair<StateOp, StateOp>> exchanged);
  /// Whether gradients leave the step, and come back as the sum of all ranks'.
  bool isExchanged() const { return accumulate == 0; }

  Updates updates;
  /// How many updates there are with this one, in f32; null where nothing asks.
  Value numUpdates;
  /// Whether this step updates; null: always.
  Value isApplied;
};

FailureOr<Value> Train::chosenOutput(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  SmallVector<std::pair<StringRef, Value>> candidates;
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (!updatedState(function, i)) {
      auto name = outputName(function, i);
      candidates.emplace_back(name ? name.getValue() : "", value);
    }
  std::vector<std::string> known;
  for (auto [name, value] : candidates) {
    if (name == output || (output.empty() && candidates.size() == 1))
      return value;
    known.push_back(name.str());
  }
  if (output.empty())
    return refuse(function, ErrorCode::InvalidInput)
           << "the model has several outputs, and the loss needs one, option '--train', give of=NAME, where NAME is "
           << alternatives(known);
  return refuse(function, ErrorCode::InvalidInput)
         << "the model has no output '" << output << "' for the loss, option '--train of', give "
         << alternatives(known);
}

Value Train::addArgument(func::FuncOp function, StringRef name, RankedTensorType type) {
  std::string unique = name.str();
  auto isTaken = [&] {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto taken = inputName(function, i); taken && taken.getValue() == unique)
        return true;
    return false;
  };
  while (isTaken())
    unique += "_";
  unsigned index = function.getNumArguments();
  auto attributes = DictionaryAttr::get(
      &getContext(), NamedAttribute(StringAttr::get(&getContext(), DataflowDialect::NameAttrHelper::getNameStr()),
                                    StringAttr::get(&getContext(), unique)));
  (void)function.insertArgument(index, type, attributes, function.getLoc());
  return function.getArgument(index);
}

Value Train::crossEntropy(TensorBuilder &build, Value logits, Value labels, int64_t classAxis) {
  // Half precision would lose the sum over the classes.
  if (elementOf(logits).getIntOrFloatBitWidth() < 32)
    logits = build.cast(logits, build.mlir().getF32Type());
  auto softmax = logits.getDefiningOp<SoftmaxOp>();
  Value logProbability = softmax && softmax.getLog() && static_cast<int64_t>(softmax.getAxis()) == classAxis
                             ? logits
                             : build.softmax(logits, classAxis, /*log=*/true);
  Dims one(typeOf(logits).getShape());
  one[classAxis] = 1;
  Dims all;
  for (size_t i = 0; i < one.size(); ++i)
    all.push_back(static_cast<int64_t>(i));
  auto pick = [&](Value at) {
    return build.create<GatherElementsOp>({logProbability, build.reshape(at, one)}, build.integer("axis", classAxis));
  };
  if (ignoreIndex == kNoIgnoreIndex)
    return build.unary(UnaryKind::neg, build.reduce(ReduceKind::mean, pick(labels), all, /*keepDims=*/false));
  // A label to ignore reads class 0 and what it reads goes no further, even where it is infinite. The mean is over the
  // other labels; that of none is zero.
  Value isIgnored = build.compare(ComparePredicate::eq, labels, build.reshape(build.integers({ignoreIndex}), {}));
  Value picked = pick(build.select(isIgnored, build.splat(elementOf(labels), 0), labels));
  isIgnored = build.reshape(isIgnored, one);
  Value zero = number(build, picked, 0), unit = number(build, picked, 1);
  Value sum = build.reduce(ReduceKind::sum, build.select(isIgnored, zero, picked), all, /*keepDims=*/false);
  Value count = build.reduce(ReduceKind::sum, build.select(isIgnored, zero, unit), all, /*keepDims=*/false);
  return build.unary(UnaryKind::neg, build.div(sum, build.binary(BinaryKind::max, count, unit)));
}

FailureOr<Value> Train::buildLoss(func::FuncOp function, TensorBuilder &build, Value output) {
  RankedTensorType type = typeOf(output);
  if (!isa<FloatType>(type.getElementType()))
    return refuse(function, ErrorCode::InvalidInput)
           << "the output of the loss must have floating-point elements and has elements of type "
           << type.getElementType() << ", option '--train of', name an output of floating-point elements";
  if (loss == "output") {
    if (elementCount(type) != 1)
      return refuse(function, ErrorCode::InvalidInput)
             << "the output that is the loss must have one element and has " << elementCount(type).value()
             << ", option '--train loss', name an output of one element";
    return build.reshape(output, {});
  }
  if (loss == "mse") {
    Value target = addArgument(function, "target", type);
    // Half precision would lose squares, and their sum.
    Type wide =
        type.getElementType().getIntOrFloatBitWidth() < 32 ? Type(build.mlir().getF32Type()) : type.getElementType();
    const Value wideTarget = build.cast(target, wide);
    Value difference = build.sub(build.cast(output, wide), wideTarget);
    Dims all;
    for (int64_t i = 0; i < type.getRank(); ++i)
      all.push_back(i);
    return build.reduce(ReduceKind::mean, build.mul(difference, difference), all, /*keepDims=*/false);
  }
  if (loss != "softmax-cross-entropy")
    return refuse(function, ErrorCode::InvalidInput)
           << "'" << loss << "' is not a loss, use softmax-cross-entropy, mse or output";
  int64_t rank = type.getRank(), classAxis = axis;
  if (rank < 1)
    return refuse(function, ErrorCode::InvalidInput) << "softmax-cross-entropy needs an output with an axis of "
                                                        "classes, and the output is one number, use mse or output";
  if (classAxis < 0)
    classAxis = rank == 4 || rank == 5 ? 1 : rank - 1;
  if (classAxis >= rank)
    return refuse(function, ErrorCode::InvalidInput)
           << "class axis " << classAxis << " is out of range for an output of rank " << rank
           << ", option '--train axis', give 0 to " << rank - 1;
  // A classifier that ends in a softmax: its input are the logits.
  if (auto softmax = output.getDefiningOp<SoftmaxOp>();
      softmax && !softmax.getLog() && static_cast<int64_t>(softmax.getAxis()) == classAxis)
    output = softmax.getInput();
  Dims shape(type.getShape());
  shape.erase(shape.begin() + classAxis);
  Value labels = addArgument(function, "labels", RankedTensorType::get(shape, build.mlir().getI64Type()));
  limitIndices(labels, {0, type.getDimSize(classAxis) - 1,
                        ignoreIndex == kNoIgnoreIndex ? std::nullopt : std::optional(ignoreIndex.getValue())});
  return crossEntropy(build, output, labels, classAxis);
}

void Train::countSteps(TensorBuilder &build) {
  bool isAdam = optimizer == "adam" || optimizer == "adamw";
  if (!isAdam && accumulate <= 1)
    return;
  auto type = RankedTensorType::get({}, build.mlir().getI64Type());
  StateOp state = updates.create(build.mlir(), build.loc(), "optimizer.step", type);
  Value steps = build.add(state, build.splat(type.getElementType(), 1));
  updates.set(state.getNameAttr(), isExchanged() ? whenApplied(build, steps, state) : steps);
  if (accumulate > 1) {
    Value every = build.splat(type.getElementType(), static_cast<double>(accumulate.getValue()));
    const Value zero = build.splat(type.getElementType(), 0);
    isApplied = build.compare(ComparePredicate::eq, build.binary(BinaryKind::mod, steps, every), zero);
    steps = build.div(steps, every);
  }
  if (isAdam)
    numUpdates = build.cast(steps, build.mlir().getF32Type());
}

/// What an optimizer computes in and keeps its states in: half precision loses squares of small gradients.
static RankedTensorType optimizerType(StateOp parameter) {
  RankedTensorType type = parameter.getType();
  if (type.getElementType().getIntOrFloatBitWidth() >= 32)
    return type;
  return RankedTensorType::get(type.getShape(), Float32Type::get(type.getContext()));
}

/// `p` and `g` are the parameter and its gradient in the optimizer's type, as is the result.
Value Train::nextParameter(TensorBuilder &build, StateOp parameter, Value p, Value g) {
  RankedTensorType type = optimizerType(parameter);
  auto times = [&](Value x, double factor) { return build.mul(x, number(build, x, factor)); };
  auto state = [&](StringRef suffix) {
    return updates.create(build.mlir(), parameter.getLoc(), parameter.getName() + "." + suffix, type);
  };
  if (weightDecay != 0 && optimizer != "adamw")
    g = build.add(g, times(p, weightDecay));
  if (optimizer == "sgd")
    return build.sub(p, times(g, learningRate));
  if (optimizer == "momentum") {
    StateOp velocity = state("momentum");
    Value next = build.add(times(velocity, momentum), g);
    updates.set(velocity.getNameAttr(), whenApplied(build, next, velocity));
    Value step = nesterov ? build.add(g, times(next, momentum)) : next;
    return build.sub(p, times(step, learningRate));
  }
  // Kingma & Ba, ICLR'15, algorithm 1; adamw: Loshchilov & Hutter, ICLR'19.
  StateOp mean = state("mean"), square = state("square");
  const Value addedToMean = times(g, 1 - beta1);
  Value nextMean = build.add(times(mean, beta1), addedToMean);
  const Value addedToSquare = times(build.mul(g, g), 1 - beta2);
  Value nextSquare = build.add(times(square, beta2), addedToSquare);
  updates.set(mean.getNameAttr(), whenApplied(build, nextMean, mean));
  updates.set(square.getNameAttr(), whenApplied(build, nextSquare, square));
  auto correction = [&](double beta) {
    Value power = build.binary(BinaryKind::pow, number(build, numUpdates, beta), numUpdates);
    return build.cast(build.sub(number(build, numUpdates, 1), power), type.getElementType());
  };
  Value deviation = build.unary(UnaryKind::sqrt, build.div(nextSquare, correction(beta2)));
  const Value divisor = build.add(deviation, number(build, p, epsilon));
  Value step = build.div(build.div(nextMean, correction(beta1)), divisor);
  if (weightDecay != 0 && optimizer == "adamw")
    step = build.add(step, times(p, weightDecay));
  return build.sub(p, times(step, learningRate));
}

/// The parameter's next value, rounded to its type. `residual` is what rounding leaves, a multiple of an f32's last
/// place and no larger than half of a last place of the parameter: both differences are exact.
void Train::setParameter(TensorBuilder &build, StateOp parameter, StateOp residual, Value next) {
  if (!residual) {
    updates.set(parameter.getNameAttr(), whenApplied(build, next, parameter));
    return;
  }
  Value rounded = build.cast(next, parameter.getType().getElementType());
  Value rest = build.sub(next, build.cast(rounded, elementOf(next)));
  // Infinity leaves nothing to be added to it.
  const Value zero = number(build, rest, 0);
  Value isFinite = build.compare(ComparePredicate::eq, build.sub(rest, rest), zero);
  rest = build.select(isFinite, rest, number(build, rest, 0));
  updates.set(parameter.getNameAttr(), whenApplied(build, rounded, parameter));
  updates.set(residual.getNameAttr(), whenApplied(build, rest, residual));
}

void Train::update(TensorBuilder &build, StateOp parameter, Value gradient) {
  RankedTensorType type = optimizerType(parameter);
  Value p = parameter;
  StateOp residual;
  if (type != parameter.getType()) {
    residual = updates.create(build.mlir(), parameter.getLoc(), parameter.getName() + ".residual", type);
    p = build.add(build.cast(p, type.getElementType()), residual);
    gradient = build.cast(gradient, type.getElementType());
  }
  if (accumulate > 1) {
    StateOp sum = updates.create(build.mlir(), parameter.getLoc(), parameter.getName() + ".gradient", type);
    Value total = build.add(sum, gradient);
    gradient = build.mul(total, number(build, total, 1.0 / static_cast<double>(accumulate)));
    setParameter(build, parameter, residual, nextParameter(build, parameter, p, gradient));
    updates.set(sum.getNameAttr(), build.select(isApplied, number(build, total, 0), total));
    return;
  }
  setParameter(build, parameter, residual, nextParameter(build, parameter, p, gradient));
}

/// The step begins with the update by the mean of the gradients in `exchanged`, each the state beside its parameter,
/// and computes its own gradients at the updated parameters. The state optimizer.scale holds one over the number of
/// gradients that were added up, or 0 where there is nothing to apply.
LogicalResult Train::applyExchanged(func::FuncOp function, ArrayRef<std::pair<StateOp, StateOp>> exchanged) {
  Block &block = function.getBody().front();
  OpBuilder builder(&block, block.begin());
  const Location loc = NameLoc::get(builder.getStringAttr("optimizer"));
  StateOp scale = updates.create(builder, loc, "optimizer.scale", RankedTensorType::get({}, builder.getF64Type()));
  SmallVector<StateOp> states(block.getOps<StateOp>());
  for (StateOp state : llvm::reverse(states))
    state->moveBefore(&block, block.begin());
  builder.setInsertionPointAfter(states.back());
  TensorBuilder build(builder, loc);
  isApplied = build.compare(ComparePredicate::gt, scale, number(build, scale, 0));
  countSteps(build);
  std::string problem = build.message();
  for (auto [parameter, gradient] : exchanged) {
    SmallVector<OpOperand *> readers;
    for (OpOperand &use : parameter.getResult().getUses())
      readers.push_back(&use);
    TensorBuilder rule(builder, NameLoc::get(builder.getStringAttr(parameter.getName() + ".update")));
    update(rule, parameter, rule.mul(gradient, rule.cast(scale, elementOf(gradient))));
    const auto *next =
        llvm::find_if(updates.next, [name = parameter.getNameAttr()](const auto &each) { return each.first == name; });
    const Value updated = next->second;
    for (OpOperand *reader : readers)
      reader->set(updated);
    for (auto &[name, value] : updates.next)
      if (value == parameter.getResult())
        value = updated;
    if (problem.empty())
      problem = rule.message();
  }
  if (!problem.empty())
    return function.emitError("an update cannot be built: ") << problem;
  return success();
}

LogicalResult Train::run(func::FuncOp function) {
  static constexpr StringRef kOptimizers[] = {"sgd", "momentum", "adam", "adamw"};
  if (!llvm::is_contained(kOptimizers, optimizer))
    return refuse(function, ErrorCode::InvalidInput)
           << "'" << optimizer << "' is not an optimizer, use sgd, momentum, adam or adamw";
  if (accumulate < 0 || accumulate > INT32_MAX)
    return refuse(function, ErrorCode::InvalidInput)
           << "accumulate=" << accumulate.getValue()
           << " is out of range, option 'accumulate' of dataflow-train, give 0 to " << INT32_MAX;
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  updates = {function, {}};
  isApplied = numUpdates = {};
  SmallVector<Value> parameters;
  for (StateOp state : block.getOps<StateOp>())
    if (state.getTrainable())
      parameters.push_back(state);
  if (parameters.empty())
    return refuse(function, ErrorCode::InvalidInput)
           << "the model has no trainable parameter, give a model with initializers of floats, or name other "
              "parameters by --trainable";
  FailureOr<Value> output = chosenOutput(function);
  if (failed(output))
    return failure();
  OpBuilder builder(terminator);
  TensorBuilder build(builder, NameLoc::get(builder.getStringAttr("loss")));
  FailureOr<Value> lossValue = buildLoss(function, build, *output);
  if (failed(lossValue))
    return failure();
  if (!*lossValue)
    return function.emitError("the loss cannot be built: ") << build.message();
  // States that the model itself updates: running statistics.
  for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
    if (auto name = updatedState(function, i))
      updates.set(name, value);

  TensorBuilder counter(builder, NameLoc::get(builder.getStringAttr("optimizer")));
  if (!isExchanged())
    countSteps(counter);
  size_t numUpdated = 0;
  std::string problem;
  SmallVector<std::pair<StateOp, StateOp>> exchanged;
  auto done = [&](size_t i, Value gradient) {
    auto parameter = parameters[i].getDefiningOp<StateOp>();
    TensorBuilder rule(builder, NameLoc::get(builder.getStringAttr(parameter.getName() + ".update")));
    ++numUpdated;
    if (isExchanged()) {
      RankedTensorType type = optimizerType(parameter);
      StateOp state = updates.create(builder, parameter.getLoc(), parameter.getName() + ".gradient", type);
      exchanged.emplace_back(parameter, state);
      updates.set(state.getNameAttr(), rule.cast(gradient, type.getElementType()));
    } else {
      update(rule, parameter, gradient);
    }
    if (problem.empty())
      problem = rule.message();
  };
  if (failed(buildGradients(builder, *lossValue, number(build, *lossValue, 1), parameters, done)))
    return failure();
  if (!problem.empty() || !counter.message().empty())
    return function.emitError("an update cannot be built: ") << problem << counter.message();
  if (numUpdated == 0)
    return refuse(function, ErrorCode::InvalidInput)
           << "the loss depends on no trainable parameter, take the loss of another output, or train other parameters "
              "by --trainable";
  if (isExchanged() && failed(applyExchanged(function, exchanged)))
    return failure();

  SmallVector<Value> results{*lossValue};
  SmallVector<Type> types{lossValue->getType()};
  SmallVector<DictionaryAttr> attributes{builder.getDictionaryAttr(
      builder.getNamedAttr(DataflowDialect::NameAttrHelper::getNameStr(), builder.getStringAttr("loss")))};
  for (auto [name, value] : updates.next) {
    results.push_back(value);
    types.push_back(value.getType());
    attributes.push_back(
        builder.getDictionaryAttr(builder.getNamedAttr(DataflowDialect::UpdatesAttrHelper::getNameStr(), name)));
  }
  terminator->setOperands(results);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
  return success();
}
} // namespace
