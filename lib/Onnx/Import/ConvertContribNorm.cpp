//===- ConvertContribNorm.cpp - ONNX Runtime's normalisations, activations ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operators of the domain com.microsoft that its tools write for language models, as its documentation
// (ContribOperators.md) and its CPU kernels define them.
//
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// The sum of the first two operands, and of a bias along the last dimension.
Value skipSum(NodeContext &node, size_t bias) {
  Value x = node.input(0), skip = node.input(1);
  if (rankOf(x) < 2 || rankOf(skip) > rankOf(x)) {
    (void)node.invalid("its input must have 2 or 3 dimensions, and its skip at most as many");
    return {};
  }
  Value sum = node.add(x, skip);
  if (sum && shapeOf(sum) != shapeOf(x)) {
    (void)node.invalid("its second operand must broadcast to the shape of the first");
    return {};
  }
  return node.has(bias) ? node.add(sum, node.input(bias)) : sum;
}

/// The result, nothing for the statistics, which ONNX Runtime computes for training alone, and the sum.
LogicalResult skipResults(NodeContext &node, Value y, Value sum) {
  for (int i : {1, 2})
    if (node.wantsOutput(i))
      return node.unsupported("its output " + Twine(i) + " is not supported");
  return node.wantsOutput(3) ? node.results({y, sum, sum, sum}) : node.result(y);
}

LogicalResult skipLayerNormalization(NodeContext &node) {
  if (failed(node.require(3)) || failed(node.knows({"epsilon"}, 4)))
    return failure();
  Value sum = skipSum(node, 4);
  if (!sum)
    return node.result(sum);
  SmallVector<Value> operands{sum, node.input(2)};
  if (node.has(3))
    operands.push_back(node.input(3));
  Value y = node.create<LayerNormOp>(
      operands, {node.integer("axis", rankOf(sum) - 1), node.number("epsilon", node.numberOr("epsilon", 1e-12))});
  return skipResults(node, y, sum);
}

LogicalResult skipSimplifiedLayerNormalization(NodeContext &node) {
  if (failed(node.require(3)) || failed(node.knows({"epsilon"}, 4)))
    return failure();
  Value sum = skipSum(node, 3);
  if (!sum)
    return node.result(sum);
  Type type = elementTypeOf(sum), wide = type.isF64() ? type : Float32Type::get(node.context());
  Value x = node.cast(sum, wide);
  Value square = node.reduce(ReduceKind::mean, node.mul(x, x), {rankOf(sum) - 1}, true);
  Value root = node.unary(UnaryKind::sqrt, node.add(square, node.splat(wide, node.numberOr("epsilon", 1e-12))));
  const Value scale = node.cast(node.input(2), wide);
  return skipResults(node, node.cast(node.mul(node.div(x, root), scale), type), sum);
}

/// Embeddings of words, positions and segments, added and normalised. The second result is the number of ones in each
/// row of the mask.
LogicalResult embedLayerNormalization(NodeContext &node) {
  if (failed(node.require(1)) || failed(node.knows({"epsilon", "mask_index_type"}, 3)))
    return failure();
  for (size_t i : {2, 3, 5, 6})
    if (!node.has(i))
      return node.invalid("it has no input " + Twine(i));
  Value words = node.input(0), positions = node.input(8);
  if (rankOf(words) != 2 || rankOf(node.input(2)) != 2 || rankOf(node.input(3)) != 2)
    return node.invalid("its ids and its embeddings must have 2 dimensions");
  const int64_t batch = shapeOf(words)[0], length = shapeOf(words)[1];
  auto rowsOf = [&](Value table, Value ids) -> Value {
    if (failed(node.limit(ids, AllowedIndices{0, shapeOf(table)[0] - 1, std::nullopt})))
      return {};
    return node.create<GatherOp>({table, ids}, node.integer("axis", 0));
  };
  if (!positions) {
    if (shapeOf(node.input(3))[0] < length)
      return node.invalid("its position embeddings have " + Twine(shapeOf(node.input(3))[0]) +
                          " rows, and must have at least one for each of the " + Twine(length) +
                          " words of its sequence");
    positions = node.iota(node.mlir().getI64Type(), length, 1, 2);
  }
  Value embedded = rowsOf(node.input(2), words);
  const Value placed = rowsOf(node.input(3), positions);
  embedded = node.add(embedded, placed);
  if (node.has(1) != node.has(4))
    return node.invalid("only one of its segment ids and its segment embeddings is given");
  if (node.has(1)) {
    const Value segments = rowsOf(node.input(4), node.input(1));
    embedded = node.add(embedded, segments);
  }
  Value y =
      node.create<LayerNormOp>({embedded, node.input(5), node.input(6)},
                               {node.integer("axis", 2), node.number("epsilon", node.numberOr("epsilon", 1e-12))});
  Type index = node.mlir().getI32Type();
  Value counts = node.splat(index, 0, {batch});
  if (Value mask = node.input(7)) {
    Value isWord = node.compare(ComparePredicate::eq, mask, node.splat(elementTypeOf(mask), 1));
    counts = node.reduce(ReduceKind::sum, node.cast(isWord, index), {1}, false);
  }
  return node.results({y, counts, embedded});
}

/// x + bias, where there is one.
Value biased(NodeContext &node) { return node.has(1) ? node.add(node.input(0), node.input(1)) : node.input(0); }

LogicalResult fastGelu(NodeContext &node) {
  if (failed(node.require(1)) || failed(node.knows({}, 1)))
    return failure();
  return node.result(node.unary(UnaryKind::gelu_tanh, biased(node)));
}

LogicalResult biasGelu(NodeContext &node) {
  if (failed(node.require(2)) || failed(node.knows({}, 1)))
    return failure();
  return node.result(node.unary(UnaryKind::gelu, biased(node)));
}

LogicalResult quickGelu(NodeContext &node) {
  if (failed(node.require(1)) || failed(node.knows({"alpha"}, 1)))
    return failure();
  return node.result(node.unary(UnaryKind::swish, node.input(0), node.numberOr("alpha", 1.702)));
}

/// The first half of the last dimension times the function of the second.
LogicalResult biasSplitGelu(NodeContext &node) {
  if (failed(node.require(2)) || failed(node.knows({}, 1)))
    return failure();
  Value x = biased(node);
  if (!x || rankOf(x) != 3 || shapeOf(x)[2] % 2 != 0)
    return node.invalid("its input must have 3 dimensions, the last of even extent");
  const int64_t half = shapeOf(x)[2] / 2;
  const Value gate = node.unary(UnaryKind::gelu, node.sliceAxis(x, 2, half, half));
  return node.result(node.mul(node.sliceAxis(x, 2, 0, half), gate));
}

constexpr OperatorEntry kOperators[] = {
    {"com.microsoft", "BiasGelu", 1, biasGelu},
    {"com.microsoft", "BiasSplitGelu", 1, biasSplitGelu},
    {"com.microsoft", "EmbedLayerNormalization", 1, embedLayerNormalization},
    {"com.microsoft", "FastGelu", 1, fastGelu},
    {"com.microsoft", "QuickGelu", 1, quickGelu},
    {"com.microsoft", "SkipLayerNormalization", 1, skipLayerNormalization},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, skipSimplifiedLayerNormalization},
};

} // namespace

ArrayRef<OperatorEntry> contribNormOperators() { return kOperators; }

} // namespace sluice::onnximport
