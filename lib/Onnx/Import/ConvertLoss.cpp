//===- ConvertLoss.cpp - Losses and optimizers ----------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// -weight[target] * logProbability[target], reduced as the node says: logProbability [N, C, d...], target [N, d...].
Value negativeLogLikelihood(NodeContext &node, Value logProbability, Value target, Value weight) {
  if (!logProbability || !target)
    return {};
  Type type = elementTypeOf(logProbability), index = elementTypeOf(target);
  Dims column(shapeOf(target));
  if (rankOf(logProbability) < 2 || rankOf(target) + 1 != rankOf(logProbability)) {
    (void)node.invalid("its target must have the shape of its input without the class dimension");
    return {};
  }
  column.insert(column.begin() + 1, 1);
  // Ignored positions read class 0, and weigh nothing.
  Value ignored;
  std::optional<int64_t> marked;
  if (node.find("ignore_index"))
    marked = node.integerOr("ignore_index", 0);
  if (failed(node.limit(target, AllowedIndices{0, shapeOf(logProbability)[1] - 1, marked})))
    return {};
  if (node.find("ignore_index")) {
    Value marker = node.cast(node.reshape(node.integers({node.integerOr("ignore_index", 0)}), {}), index);
    ignored = node.compare(ComparePredicate::eq, target, marker);
    target = node.select(ignored, node.splat(index, 0), target);
  }
  if (!target)
    return {};
  Value picked = node.create<GatherElementsOp>({logProbability, node.reshape(target, column)}, node.integer("axis", 1));
  Value loss = node.unary(UnaryKind::neg, node.reshape(picked, shapeOf(target)));
  Value factor;
  if (weight && shapeOf(weight) != ArrayRef<int64_t>(shapeOf(logProbability)[1])) {
    (void)node.invalid("its weight must have one element for each of the " + Twine(shapeOf(logProbability)[1]) +
                       " classes");
    return {};
  }
  if (weight)
    factor = node.create<GatherOp>({weight, target}, node.integer("axis", 0));
  if (ignored) {
    const Value counted = factor ? factor : node.splat(type, 1);
    factor = node.select(ignored, node.splat(type, 0), counted);
  }
  if (factor)
    loss = node.mul(loss, factor);
  // Infinity by zero is no number.
  if (ignored)
    loss = node.select(ignored, node.splat(type, 0), loss);
  std::string reduction = node.stringOr("reduction", "mean");
  Dims all;
  for (int64_t axis = 0; axis < rankOf(target); ++axis)
    all.push_back(axis);
  if (reduction == "none")
    return loss;
  if (reduction == "sum")
    return node.reduce(ReduceKind::sum, loss, all, false);
  if (reduction != "mean") {
    (void)node.invalid("its reduction is '" + reduction + "', ONNX defines 'none', 'mean' and 'sum'");
    return {};
  }
  if (!factor)
    return node.reduce(ReduceKind::mean, loss, all, false);
  const Value totalWeight = node.reduce(ReduceKind::sum, factor, all, false);
  return node.div(node.reduce(ReduceKind::sum, loss, all, false), totalWeight);
}

LogicalResult negativeLogLikelihoodLoss(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return node.result(negativeLogLikelihood(node, node.input(0), node.input(1), node.input(2)));
}

LogicalResult softmaxCrossEntropyLoss(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  if (rankOf(node.input(0)) < 2)
    return node.invalid("its scores have fewer than two dimensions");
  Value logProbability = node.softmax(node.input(0), 1, /*log=*/true);
  return node.results({negativeLogLikelihood(node, logProbability, node.input(1), node.input(2)), logProbability});
}

/// An optimizer's operands: rate, step, then for each tensor its value, its gradient and its `states`, grouped by what
/// they are.
struct Step {
  Value rate, count, gradient, value;
  SmallVector<Value> states;
};
LogicalResult optimize(NodeContext &node, size_t states, llvm::function_ref<SmallVector<Value>(const Step &)> update) {
  size_t kinds = 2 + states;
  if (node.inputCount() < 2 + kinds || (node.inputCount() - 2) % kinds != 0 || failed(node.require(node.inputCount())))
    return node.invalid("its operands must be a rate, a step and " + Twine(kinds) + " operands for each tensor");
  size_t tensors = (node.inputCount() - 2) / kinds;
  SmallVector<Value> results(tensors * (1 + states));
  for (size_t i = 0; i < tensors; ++i) {
    auto operand = [&](size_t kind) { return node.input(2 + kind * tensors + i); };
    Step step{node.input(0), node.input(1), operand(1), operand(0), {}};
    Type type = elementTypeOf(step.value);
    step.rate = node.cast(node.reshape(step.rate, {}), type);
    step.count = node.cast(node.reshape(step.count, {}), type);
    for (size_t s = 0; s < states; ++s)
      step.states.push_back(operand(2 + s));
    // Weight decay as part of the gradient.
    if (double decay = node.numberOr("norm_coefficient", 0); decay != 0)
      step.gradient = node.add(step.gradient, node.mul(step.value, node.splat(type, decay)));
    for (auto [kind, value] : llvm::enumerate(update(step)))
      results[kind * tensors + i] = value;
  }
  return node.results(results);
}

LogicalResult adagrad(NodeContext &node) {
  return optimize(node, 1, [&](const Step &step) -> SmallVector<Value> {
    Type type = elementTypeOf(step.value);
    const Value decay = node.mul(step.count, node.splat(type, node.numberOr("decay_factor", 0)));
    Value rate = node.div(step.rate, node.add(node.splat(type, 1), decay));
    Value squares = node.add(step.states[0], node.mul(step.gradient, step.gradient));
    const Value epsilon = node.splat(type, node.numberOr("epsilon", 1e-6));
    Value root = node.add(node.unary(UnaryKind::sqrt, squares), epsilon);
    return {node.sub(step.value, node.div(node.mul(rate, step.gradient), root)), squares};
  });
}

LogicalResult adam(NodeContext &node) {
  double alpha = node.numberOr("alpha", 0.9), beta = node.numberOr("beta", 0.999);
  return optimize(node, 2, [&](const Step &step) -> SmallVector<Value> {
    Type type = elementTypeOf(step.value);
    auto c = [&](double value) { return node.splat(type, value); };
    auto average = [&](double factor, Value old, Value next) {
      const Value added = node.mul(c(1 - factor), next);
      return node.add(node.mul(c(factor), old), added);
    };
    Value mean = average(alpha, step.states[0], step.gradient);
    Value square = average(beta, step.states[1], node.mul(step.gradient, step.gradient));
    // The averages begin at 0: the rate makes up for it, but in step 0.
    auto bias = [&](double factor) {
      const Value power = node.binary(BinaryKind::pow, c(factor), step.count);
      return node.sub(c(1), power);
    };
    const Value meanBias = bias(alpha);
    Value corrected = node.div(node.mul(step.rate, node.unary(UnaryKind::sqrt, bias(beta))), meanBias);
    Value rate = node.select(node.compare(ComparePredicate::gt, step.count, c(0)), corrected, step.rate);
    const Value epsilon = c(node.numberOr("epsilon", 1e-6));
    Value root = node.add(node.unary(UnaryKind::sqrt, square), epsilon);
    Value value = node.sub(step.value, node.div(node.mul(rate, mean), root));
    if (double decay = node.numberOr("norm_coefficient_post", 0); decay != 0)
      value = node.mul(value, c(1 - decay));
    return {value, mean, square};
  });
}

LogicalResult momentum(NodeContext &node) {
  std::string mode = node.stringOr("mode", "standard");
  if (mode != "standard" && mode != "nesterov")
    return node.invalid("its mode is '" + mode + "', not 'standard' or 'nesterov'");
  double alpha = node.numberOr("alpha", 0), beta = node.numberOr("beta", 0);
  return optimize(node, 1, [&](const Step &step) -> SmallVector<Value> {
    Type type = elementTypeOf(step.value);
    auto c = [&](double value) { return node.splat(type, value); };
    // The first step takes the whole gradient.
    const Value whole = c(1);
    const Value damped = c(beta);
    Value share = node.select(node.compare(ComparePredicate::gt, step.count, c(0)), damped, whole);
    const Value added = node.mul(share, step.gradient);
    Value velocity = node.add(node.mul(c(alpha), step.states[0]), added);
    Value direction = mode == "standard" ? velocity : node.add(step.gradient, node.mul(c(alpha), velocity));
    return {node.sub(step.value, node.mul(step.rate, direction)), velocity};
  });
}

constexpr OperatorEntry kOperators[] = {
    {"", "NegativeLogLikelihoodLoss", 12, negativeLogLikelihoodLoss},
    {"", "SoftmaxCrossEntropyLoss", 12, softmaxCrossEntropyLoss},
    {"ai.onnx.preview.training", "Adagrad", 1, adagrad},
    {"ai.onnx.preview.training", "Adam", 1, adam},
    {"ai.onnx.preview.training", "Momentum", 1, momentum},
};

} // namespace

ArrayRef<OperatorEntry> lossOperators() { return kOperators; }

} // namespace sluice::onnximport
