//===- ConvertNorm.cpp - Normalisations and softmax -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"
#include "TrainingStates.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Softmax and its kin: from opset 13 along an axis; before, on the matrix that flattening at the axis makes.
LogicalResult alongRows(NodeContext &node, llvm::function_ref<Value(Value, int64_t)> function) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  bool flattens = node.opset < 13;
  int64_t rank = rankOf(x);
  if (rank == 0)
    return node.invalid("its input is a scalar");
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", flattens ? std::min<int64_t>(1, rank - 1) : -1), rank);
  if (failed(axis))
    return failure();
  if (!flattens || *axis == rank - 1)
    return node.result(function(x, *axis));
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < rank; ++i)
    (i < *axis ? rows : columns) *= shapeOf(x)[i];
  return node.result(node.reshape(function(node.reshape(x, {rows, columns}), 1), shapeOf(x)));
}

LogicalResult softmax(NodeContext &node) {
  return alongRows(node, [&](Value x, int64_t axis) { return node.softmax(x, axis, false); });
}
LogicalResult logSoftmax(NodeContext &node) {
  return alongRows(node, [&](Value x, int64_t axis) { return node.softmax(x, axis, true); });
}
LogicalResult hardmax(NodeContext &node) {
  return alongRows(node, [&](Value x, int64_t axis) -> Value {
    if (!x)
      return x;
    Type type = elementTypeOf(x);
    Value indices = node.create<ArgReduceOp>({x}, {node.integer("axis", axis), node.flag("keep_dims", true)});
    Value positions = node.iota(node.mlir().getI64Type(), shapeOf(x)[axis], axis, rankOf(x));
    return node.cast(node.compare(ComparePredicate::eq, indices, positions), type);
  });
}

/// By the batch's statistics; running ones that are initializers follow them.
LogicalResult trainBatchNormalization(NodeContext &node) {
  if (node.opset < 7 || (node.opset < 9 && node.integerOr("spatial", 1) == 0))
    return node.unsupported(
        "this version of the operator cannot be trained, only versions of opset 7 or later without spatial = 0 can");
  Value x = node.input(0);
  Type type = elementTypeOf(x);
  SmallVector<Value> results =
      node.createAll<BatchNormTrainOp>({x, node.cast(node.input(1), type), node.cast(node.input(2), type)},
                                       node.number("epsilon", node.numberOr("epsilon", 1e-5)));
  if (results.empty())
    return node.result({});
  double momentum = node.numberOr("momentum", 0.9);
  for (size_t i = 0; i < 2; ++i) {
    auto state = node.input(3 + i).getDefiningOp<StateOp>();
    if (!state)
      continue;
    Type own = elementTypeOf(state);
    Value kept = node.mul(node.training->current(state), node.splat(own, momentum));
    const Value share = node.splat(own, 1 - momentum);
    Value added = node.mul(node.cast(results[1 + i], own), share);
    Value next = node.add(kept, added);
    if (!next)
      return node.result(next);
    node.training->update(state, next);
  }
  return node.result(results[0]);
}

/// (x - mean) and 1 / sqrt(variance + epsilon) over `axes`.
struct Standardised {
  Value mean, variance, centered, inverseDeviation;
};
Standardised standardise(NodeContext &node, Value x, ArrayRef<int64_t> axes, double epsilon) {
  Standardised result;
  result.mean = node.reduce(ReduceKind::mean, x, axes, true);
  result.centered = node.sub(x, result.mean);
  result.variance = node.reduce(ReduceKind::mean, node.mul(result.centered, result.centered), axes, true);
  Value deviation = node.unary(UnaryKind::sqrt, node.add(result.variance, node.splat(elementTypeOf(x), epsilon)));
  result.inverseDeviation = node.unary(UnaryKind::reciprocal, deviation);
  return result;
}

/// In training mode: by the batch's own statistics, which move the running ones.
LogicalResult batchStatistics(NodeContext &node) {
  Value x = node.input(0);
  if (rankOf(x) < 2)
    return node.invalid("its input must have at least 2 dimensions");
  Type type = elementTypeOf(x);
  Dims axes, channel(rankOf(x), 1);
  for (int64_t d = 0; d < rankOf(x); ++d)
    if (d != 1)
      axes.push_back(d);
  channel[1] = shapeOf(x)[1];
  Standardised batch = standardise(node, x, axes, node.numberOr("epsilon", 1e-5));
  auto spread = [&](size_t index) { return node.cast(node.reshape(node.input(index), channel), type); };
  const Value bias = spread(2);
  const Value scale = spread(1);
  Value y = node.add(node.mul(node.mul(batch.centered, batch.inverseDeviation), scale), bias);
  double momentum = node.numberOr("momentum", 0.9);
  auto moved = [&](size_t index, Value now) {
    Type own = elementTypeOf(node.input(index));
    const Value share = node.splat(own, 1 - momentum);
    const Value added = node.mul(node.cast(node.reshape(now, {channel[1]}), own), share);
    return node.add(node.mul(node.input(index), node.splat(own, momentum)), added);
  };
  return node.results({y, moved(3, batch.mean), moved(4, batch.variance)});
}

LogicalResult batchNormalization(NodeContext &node) {
  if (failed(node.require(5)))
    return failure();
  if (node.training)
    return trainBatchNormalization(node);
  if (node.opset >= 14 && node.integerOr("training_mode", 0) != 0)
    return batchStatistics(node);
  if (node.opset < 7 && node.integerOr("is_test", 0) == 0)
    return node.unsupported("it is in training mode, because its attribute 'is_test' is not 1");
  if (node.opset < 9 && node.integerOr("spatial", 1) == 0)
    return node.unsupported("its attribute 'spatial' is 0, only 1 is supported");
  for (int i = 1; i < 5; ++i)
    if (node.wantsOutput(i))
      return node.unsupported("its output " + Twine(i) +
                              " has statistics of training, which are supported from opset " + "14 on");
  // Parameters may be wider than half-precision data.
  Type type = elementTypeOf(node.input(0));
  SmallVector<Value> operands{node.input(0)};
  for (size_t i = 1; i < 5; ++i)
    operands.push_back(node.cast(node.input(i), type));
  return node.result(node.create<BatchNormOp>(operands, node.number("epsilon", node.numberOr("epsilon", 1e-5))));
}

LogicalResult instanceNormalization(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  return node.result(node.instanceNorm(node.input(0), node.input(1), node.input(2), node.numberOr("epsilon", 1e-5)));
}

LogicalResult layerNormalization(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -1), rankOf(x));
  if (failed(axis))
    return failure();
  double epsilon = node.numberOr("epsilon", 1e-5);
  SmallVector<Value> operands{x, node.input(1)};
  if (node.has(2))
    operands.push_back(node.input(2));
  Value y = node.create<LayerNormOp>(operands, {node.integer("axis", *axis), node.number("epsilon", epsilon)});
  if (!y || (!node.wantsOutput(1) && !node.wantsOutput(2)))
    return node.result(y);
  // The statistics are in the type the node computes in: float, unless it says otherwise.
  Type type = elementTypeFromOnnx(node.context(), node.integerOr("stash_type", 1));
  if (!type || !isa<FloatType>(type))
    return node.invalid("its stash_type must be a floating-point type");
  Standardised statistics = standardise(node, node.cast(x, type), trailingAxes(*axis, rankOf(x)), epsilon);
  return node.results({y, statistics.mean, statistics.inverseDeviation});
}

/// Statistics are taken in float; the scale in the data's own type.
LogicalResult rmsNormalization(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -1), rankOf(x));
  if (failed(axis))
    return failure();
  Type type = elementTypeFromOnnx(node.context(), node.integerOr("stash_type", 1));
  if (!type || !isa<FloatType>(type))
    return node.invalid("its stash_type must be a floating-point type");
  Value wide = node.cast(x, type);
  Value square = node.reduce(ReduceKind::mean, node.mul(wide, wide), trailingAxes(*axis, rankOf(x)), true);
  Value root = node.unary(UnaryKind::sqrt, node.add(square, node.splat(type, node.numberOr("epsilon", 1e-5))));
  Value normal = node.cast(node.div(wide, root), elementTypeOf(x));
  SmallVector<Value> outputs{node.mul(normal, node.input(1))};
  // ONNX Runtime's operator of the same function has another result.
  if (node.wantsOutput(1))
    outputs.push_back(node.unary(UnaryKind::reciprocal, root));
  return node.results(outputs);
}

LogicalResult groupNormalization(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Value x = node.input(0);
  int64_t groups = node.integerOr("num_groups", 0);
  if (rankOf(x) < 3 || groups < 1 || shapeOf(x)[1] % groups != 0)
    return node.invalid(
        "its input must have at least 3 dimensions, and the number of channels must be a multiple of its num_groups, " +
        Twine(groups));
  Type type = elementTypeOf(x);
  Dims dims(shapeOf(x)), perChannel(rankOf(x), 1);
  int64_t channels = dims[1], spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i)
    spatial *= dims[i];
  Value grouped = node.reshape(x, {dims[0], groups, channels / groups * spatial});
  const Value noBias = node.splat(type, 0, {groups});
  const Value noScale = node.splat(type, 1, {groups});
  Value normal = node.reshape(node.instanceNorm(grouped, noScale, noBias, node.numberOr("epsilon", 1e-5)), dims);
  // Scale and bias are per group before opset 21, per channel since.
  auto spread = [&](Value parameter) -> Value {
    if (node.opset < 21)
      parameter =
          node.reshape(node.expand(node.reshape(parameter, {groups, 1}), {groups, channels / groups}), {channels});
    perChannel[1] = channels;
    return node.reshape(parameter, perChannel);
  };
  const Value bias = spread(node.input(2));
  return node.result(node.add(node.mul(normal, spread(node.input(1))), bias));
}

LogicalResult meanVarianceNormalization(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  FailureOr<Dims> axes = node.axes(node.integersAt("axes").value_or(Dims{0, 2, 3}), rankOf(x));
  if (failed(axes))
    return failure();
  // The operator's definition adds 1e-9 to the deviation, not to the variance.
  Value centered = node.sub(x, node.reduce(ReduceKind::mean, x, *axes, true));
  Value variance = node.reduce(ReduceKind::mean, node.mul(centered, centered), *axes, true);
  if (!variance)
    return failure();
  // The root's derivative at 0 is infinite, and its product with the rest, which is 0, would be no number: elements
  // that are all the same take the root of 1, and then 0 for it.
  Type type = elementTypeOf(x);
  Value isZero = node.compare(ComparePredicate::eq, variance, node.splat(type, 0));
  Value root = node.unary(UnaryKind::sqrt, node.select(isZero, node.splat(type, 1), variance));
  Value deviation = node.select(isZero, node.splat(type, 0), root);
  return node.result(node.div(centered, node.add(deviation, node.splat(elementTypeOf(x), 1e-9))));
}

LogicalResult lpNormalization(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -1), rankOf(x));
  if (failed(axis))
    return failure();
  int64_t p = node.integerOr("p", 2);
  if (p != 1 && p != 2)
    return node.invalid("its p is " + Twine(p) + ", not 1 or 2");
  // A vector of zeros has no direction, and stays.
  Value norm = node.reduce(p == 1 ? ReduceKind::l1 : ReduceKind::l2, x, {*axis}, true);
  Value zero = node.splat(elementTypeOf(x), 0);
  Value isZero = node.compare(ComparePredicate::eq, norm, zero);
  return node.result(node.select(isZero, zero, node.div(x, norm)));
}

LogicalResult lrn(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  int64_t size = node.integerOr("size", 0);
  if (size < 1)
    return node.invalid("its size is " + Twine(size) + " and must be at least 1");
  return node.result(node.create<LrnOp>({node.input(0)},
                                        {node.integer("size", size), node.number("alpha", node.numberOr("alpha", 1e-4)),
                                         node.number("beta", node.numberOr("beta", 0.75)),
                                         node.number("bias", node.numberOr("bias", 1))}));
}

constexpr OperatorEntry kOperators[] = {
    {"", "Softmax", 1, softmax},
    {"", "LogSoftmax", 1, logSoftmax},
    {"", "Hardmax", 1, hardmax},
    {"", "BatchNormalization", 1, batchNormalization},
    {"", "InstanceNormalization", 1, instanceNormalization},
    // ONNX Runtime had both before the standard had the first.
    {"", "LayerNormalization", 1, layerNormalization},
    {"", "SimplifiedLayerNormalization", 1, rmsNormalization},
    {"", "RMSNormalization", 23, rmsNormalization},
    {"", "GroupNormalization", 18, groupNormalization},
    {"", "MeanVarianceNormalization", 9, meanVarianceNormalization},
    {"", "LpNormalization", 1, lpNormalization},
    {"", "LRN", 1, lrn},
};

} // namespace

ArrayRef<OperatorEntry> normOperators() { return kOperators; }

} // namespace sluice::onnximport
