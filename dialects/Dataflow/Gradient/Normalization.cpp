//===- Normalization.cpp - Gradients of softmax and the normalisations ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Gradient/Models.h"

using namespace mlir;
using namespace sluice::dataflow;

static LogicalResult differentiateSoftmax(SoftmaxOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                          Gradients operands) {
  Value g = results[0], y = op.getResult();
  int64_t axis = op.getAxis();
  auto sum = [&](Value x) { return build.reduce(ReduceKind::sum, x, {axis}, /*keepDims=*/true); };
  if (op.getLog()) {
    const Value total = sum(g);
    operands[0] = build.sub(g, build.mul(build.unary(UnaryKind::exp, y), total));
  } else {
    operands[0] = build.mul(y, build.sub(g, sum(build.mul(g, y))));
  }
  return success();
}

namespace {
/// Statistics of x over some axes, kept as extents of 1.
struct Statistics {
  Value mean, inverseDeviation;
};
} // namespace

static Value inverseDeviation(TensorBuilder &build, Value variance, double epsilon) {
  Value deviation = build.unary(UnaryKind::sqrt, build.add(variance, number(build, variance, epsilon)));
  return build.unary(UnaryKind::reciprocal, deviation);
}

static Statistics statistics(TensorBuilder &build, Value x, ArrayRef<int64_t> axes, double epsilon) {
  Value mean = build.reduce(ReduceKind::mean, x, axes, /*keepDims=*/true);
  Value centered = build.sub(x, mean);
  Value variance = build.reduce(ReduceKind::mean, build.mul(centered, centered), axes, /*keepDims=*/true);
  return {mean, inverseDeviation(build, variance, epsilon)};
}

/// The gradient by x of n = (x - mean(x)) * inverseDeviation(x), where h is the
/// one by n: inverseDeviation * (h - mean(h) - n * mean(h * n)).
static Value normalizedGradient(TensorBuilder &build, Value h, Value normalized, Value inverse,
                                ArrayRef<int64_t> axes) {
  auto mean = [&](Value x) { return build.reduce(ReduceKind::mean, x, axes, /*keepDims=*/true); };
  Value along = build.mul(normalized, mean(build.mul(h, normalized)));
  return build.mul(inverse, build.sub(build.sub(h, mean(h)), along));
}

static LogicalResult differentiateLayerNorm(LayerNormOp op, TensorBuilder &build, ArrayRef<Value> results,
                                            ArrayRef<bool> wanted, Gradients operands) {
  Value x = op.getInput(), g = results[0];
  Dims axes = trailingAxes(op.getAxis(), typeOf(x).getRank());
  if (wanted.size() > 2 && wanted[2])
    operands[2] = sumTo(build, g, shapeOf(op.getBias()));
  if (!wanted[0] && !wanted[1])
    return success();
  auto [mean, inverse] = statistics(build, x, axes, op.getEpsilon().convertToDouble());
  Value normalized = build.mul(build.sub(x, mean), inverse);
  if (wanted[0])
    operands[0] = normalizedGradient(build, build.mul(g, op.getScale()), normalized, inverse, axes);
  if (wanted[1])
    operands[1] = sumTo(build, build.mul(g, normalized), shapeOf(op.getScale()));
  return success();
}

/// [C] against [N, C, spatial...].
static Value perChannel(TensorBuilder &build, Value vector, Value x) {
  Dims dims(typeOf(x).getRank(), 1);
  dims[1] = shapeOf(vector)[0];
  return build.reshape(vector, dims);
}

/// All dimensions but the channels', and the sum over them as [C].
static Dims batchAxes(Value x) {
  Dims axes = trailingAxes(1, typeOf(x).getRank());
  axes[0] = 0;
  return axes;
}
static Value channelSum(TensorBuilder &build, Value x) {
  return build.reduce(ReduceKind::sum, x, batchAxes(x), /*keepDims=*/false);
}

static LogicalResult differentiateInstanceNorm(InstanceNormOp op, TensorBuilder &build, ArrayRef<Value> results,
                                               ArrayRef<bool> wanted, Gradients operands) {
  Value x = op.getInput(), g = results[0];
  Dims axes = trailingAxes(2, typeOf(x).getRank());
  if (wanted[2])
    operands[2] = channelSum(build, g);
  if (!wanted[0] && !wanted[1])
    return success();
  auto [mean, inverse] = statistics(build, x, axes, op.getEpsilon().convertToDouble());
  Value normalized = build.mul(build.sub(x, mean), inverse);
  if (wanted[0])
    operands[0] =
        normalizedGradient(build, build.mul(g, perChannel(build, op.getScale(), x)), normalized, inverse, axes);
  if (wanted[1])
    operands[1] = channelSum(build, build.mul(g, normalized));
  return success();
}

/// The statistics are operands here: y is linear in x.
static LogicalResult differentiateBatchNorm(BatchNormOp op, TensorBuilder &build, ArrayRef<Value> results,
                                            ArrayRef<bool> wanted, Gradients operands) {
  Value x = op.getInput(), g = results[0], scale = op.getScale();
  Value inverse = inverseDeviation(build, op.getVariance(), op.getEpsilon().convertToDouble());
  Value factor = build.mul(scale, inverse);
  if (wanted[0])
    operands[0] = build.mul(g, perChannel(build, factor, x));
  if (wanted[2])
    operands[2] = channelSum(build, g);
  if (wanted[3])
    operands[3] = build.unary(UnaryKind::neg, build.mul(factor, channelSum(build, g)));
  if (!wanted[1] && !wanted[4])
    return success();
  Value along = channelSum(build, build.mul(g, build.sub(x, perChannel(build, op.getMean(), x))));
  if (wanted[1])
    operands[1] = build.mul(along, inverse);
  if (wanted[4]) {
    Value cube = build.mul(build.mul(inverse, inverse), factor);
    const Value half = number(build, x, -0.5);
    operands[4] = build.mul(build.mul(along, cube), half);
  }
  return success();
}

static LogicalResult differentiateBatchNormTrain(BatchNormTrainOp op, TensorBuilder &build, ArrayRef<Value> results,
                                                 ArrayRef<bool> wanted, Gradients operands) {
  Value x = op.getInput();
  Dims axes = batchAxes(x);
  double count = static_cast<double>(elementCount(x.getType())) / static_cast<double>(shapeOf(x)[1]);
  Value centered = build.sub(x, perChannel(build, op.getMean(), x));
  Value total;
  auto accumulate = [&](Value part) { total = total ? build.add(total, part) : part; };
  if (Value g = results[0]) {
    Value inverse = perChannel(build, inverseDeviation(build, op.getVariance(), op.getEpsilon().convertToDouble()), x);
    Value normalized = build.mul(centered, inverse);
    if (wanted[0])
      accumulate(
          normalizedGradient(build, build.mul(g, perChannel(build, op.getScale(), x)), normalized, inverse, axes));
    if (wanted[1])
      operands[1] = channelSum(build, build.mul(g, normalized));
    if (wanted[2])
      operands[2] = channelSum(build, g);
  }
  if (!wanted[0])
    return success();
  auto spread = [&](Value byStatistic, double factor) {
    const Value share = number(build, x, factor / count);
    return build.mul(perChannel(build, byStatistic, x), share);
  };
  if (results[1])
    accumulate(build.expand(spread(results[1], 1), shapeOf(x)));
  if (results[2])
    accumulate(build.mul(spread(results[2], 2), centered));
  operands[0] = total;
  return success();
}

static LogicalResult differentiateLrn(LrnOp op, TensorBuilder &build, ArrayRef<Value> results, ArrayRef<bool>,
                                      Gradients operands) {
  // y = x * s^-beta, s = bias + alpha / size * (sum of x^2 over a window of channels); so
  // dx = g * s^-beta - 2 alpha beta / size * x * (sum over the mirrored window of g * x * s^(-beta - 1)).
  Value x = op.getInput(), g = results[0];
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t axis = op.getChannelAxis(), size = op.getSize();
  double alpha = op.getAlpha().convertToDouble(), beta = op.getBeta().convertToDouble();
  auto windowMean = [&](Value value, int64_t low) {
    // Pooling over the channels as a spatial dimension; what is past the ends counts as zeros.
    Dims image{product(shape.take_front(axis)), 1, shape[axis], product(shape.drop_front(axis + 1))};
    Value mean = build.create<PoolOp>({build.reshape(value, image)},
                                      {build.attribute("kind", PoolKindAttr::get(build.context(), PoolKind::average)),
                                       build.list("kernel", {size, 1}), build.list("strides", {1, 1}),
                                       build.list("pads_low", {low, 0}), build.list("pads_high", {size - 1 - low, 0}),
                                       build.list("dilations", {1, 1}), build.flag("count_include_pad", true)},
                                      {build.type(elementOf(value), image)});
    return build.reshape(mean, shape);
  };
  int64_t low = (size - 1) / 2;
  auto times = [&](Value value, double factor) { return build.mul(value, number(build, x, factor)); };
  const Value bias = number(build, x, op.getBias().convertToDouble());
  Value s = build.add(times(windowMean(build.mul(x, x), low), alpha), bias);
  Value power = build.binary(BinaryKind::pow, s, number(build, x, -beta));
  Value direct = build.mul(g, power);
  Value through = windowMean(build.div(build.mul(direct, x), s), size - 1 - low);
  operands[0] = build.sub(direct, times(build.mul(x, through), 2 * alpha * beta));
  return success();
}

void sluice::dataflow::attachNormalizationGradients(MLIRContext *context) {
  attach<GradientModel<differentiateSoftmax>, GradientModel<differentiateLayerNorm>,
         GradientModel<differentiateInstanceNorm>, GradientModel<differentiateBatchNorm>,
         GradientModel<differentiateBatchNormTrain>, GradientModel<differentiateLrn>>(context);
}
