//===- ConvertContribExperts.cpp - ONNX Runtime's mixtures of experts ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// All experts compute all tokens, and those that a token did not choose have the weight 0.
//
//===----------------------------------------------------------------------===//
#include "Quantize.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Weights [experts, outputs, inputs] and biases [experts, outputs], null where there are none.
struct Layer {
  Value weight, bias;
};

/// [experts, tokens, inputs], or [1, tokens, inputs], to [experts, tokens, outputs].
Value apply(NodeContext &node, Value x, Layer layer) {
  Value y = node.matmul(x, layer.weight, false, /*transposeRhs=*/true);
  if (!layer.bias || !y)
    return y;
  return node.add(y, node.reshape(layer.bias, {shapeOf(layer.bias)[0], 1, shapeOf(layer.bias).back()}));
}

/// [tokens, experts]: the weights of the `k` experts that each token chooses, 0 elsewhere.
Value routes(NodeContext &node, Value logits, Value mixing, int64_t k, bool normalizes) {
  const Type type = elementTypeOf(logits), wide = Float32Type::get(node.context()), index = node.mlir().getI64Type();
  const int64_t tokens = shapeOf(logits)[0], experts = shapeOf(logits)[1];
  SmallVector<Value> best =
      node.createAll<TopkOp>({logits}, {node.integer("k", k), node.integer("axis", 1), node.flag("largest", true)});
  if (best.size() != 2)
    return {};
  Value share;
  if (mixing) {
    share = node.cast(node.create<GatherElementsOp>({mixing, best[1]}, node.integer("axis", 1)), wide);
    if (normalizes)
      share = node.div(share, node.reduce(ReduceKind::sum, share, {1}, true));
  } else if (normalizes) {
    share = node.softmax(node.cast(best[0], wide), 1, false);
  } else {
    const Value all = node.softmax(node.cast(logits, wide), 1, false);
    share = node.create<GatherElementsOp>({all, best[1]}, node.integer("axis", 1));
  }
  const Value chosen = node.cast(node.reshape(best[1], {tokens, k, 1}), index);
  const Value isChosen = node.compare(ComparePredicate::eq, chosen, node.iota(index, experts, 2, 3));
  const Value none = node.splat(wide, 0);
  const Value spread = node.select(isChosen, node.reshape(share, {tokens, k, 1}), none);
  return node.cast(node.reduce(ReduceKind::sum, spread, {1}, false), type);
}

/// gate * sigmoid(alpha * gate) * (up + beta), both clamped first.
Value swiGlu(NodeContext &node, Value gate, Value up) {
  if (!gate || !up)
    return {};
  const Type type = elementTypeOf(gate);
  if (node.find("swiglu_limit")) {
    const double limit = node.numberOr("swiglu_limit", 0);
    const Value most = node.splat(type, limit), least = node.splat(type, -limit);
    gate = node.binary(BinaryKind::min, gate, most);
    up = node.binary(BinaryKind::max, node.binary(BinaryKind::min, up, most), least);
  }
  const Value shifted = node.add(up, node.splat(type, node.numberOr("activation_beta", 0)));
  return node.mul(node.unary(UnaryKind::swish, gate, node.numberOr("activation_alpha", 1)), shifted);
}

/// What stands between the layers.
FailureOr<Value> activated(NodeContext &node, Value x, Value tokens, Layer third) {
  const std::string kind = node.stringOr("activation_type", "relu");
  if (kind != "swiglu" && third.weight)
    return node.unsupported("it has a third layer and its activation_type is '" + kind + "'");
  if (kind == "relu")
    return node.unary(UnaryKind::relu, x);
  if (kind == "gelu")
    return node.unary(UnaryKind::gelu_tanh, x);
  if (kind == "silu")
    return node.unary(UnaryKind::swish, x, 1);
  if (kind == "identity")
    return x;
  if (kind != "swiglu")
    return node.unsupported("its activation_type is '" + kind + "'");
  const int64_t fusion = node.integerOr("swiglu_fusion", 0);
  if (fusion == 0) {
    if (!third.weight)
      return node.invalid("its swiglu_fusion is 0, and it has no third layer");
    return swiGlu(node, x, apply(node, tokens, third));
  }
  if (third.weight || (fusion != 1 && fusion != 2) || shapeOf(x)[2] % 2 != 0)
    return node.invalid("its swiglu_fusion does not fit its layers");
  Dims half(shapeOf(x)), starts(3, 0), steps(3, 1);
  half[2] /= 2;
  if (fusion == 1)
    steps[2] = 2;
  const Value gate = node.slice(x, starts, steps, half);
  starts[2] = fusion == 1 ? 1 : half[2];
  return swiGlu(node, gate, node.slice(x, starts, steps, half));
}

/// The experts' layers and what the router says of them.
LogicalResult mixture(NodeContext &node, Layer first, Layer second, Layer third, Value mixing, bool normalizes) {
  for (StringRef name : {"use_sparse_mixer", "swiglu_limit_after_activation"})
    if (node.integerOr(name, 0) != 0)
      return node.unsupported("its attribute '" + name + "' is not 0");
  Value x = node.input(0), logits = node.input(1);
  if (!first.weight || !second.weight)
    return node.result({});
  if ((rankOf(x) != 2 && rankOf(x) != 3) || rankOf(logits) != 2 || rankOf(first.weight) != 3 ||
      rankOf(second.weight) != 3)
    return node.invalid("its operands do not have the dimensions that they should");
  const int64_t hidden = shapeOf(x).back(), tokens = shapeOf(logits)[0], experts = shapeOf(logits)[1];
  const int64_t k = node.integerOr("k", 1);
  if (k < 1 || k > experts || hidden < 1 || elementCount(x.getType()) != Count(tokens) * hidden)
    return node.invalid("its router does not fit its input, or its k is out of range");
  const Value flat = node.reshape(x, {1, tokens, hidden});
  Value inner = apply(node, flat, first);
  if (!inner)
    return node.result({});
  FailureOr<Value> between = activated(node, inner, flat, third);
  if (failed(between))
    return failure();
  Value y = *between ? apply(node, *between, second) : Value();
  Value weights = routes(node, logits, mixing, k, normalizes);
  if (!y || !weights)
    return node.result({});
  weights = node.reshape(node.transpose(weights, {1, 0}), {experts, tokens, 1});
  return node.result(node.reshape(node.reduce(ReduceKind::sum, node.mul(y, weights), {0}, false), shapeOf(x)));
}

LogicalResult mixtureOfExperts(NodeContext &node) {
  if (failed(node.require(3)) ||
      failed(node.knows({"activation_alpha", "activation_beta", "activation_type", "k", "normalize_routing_weights",
                         "swiglu_fusion", "swiglu_limit", "swiglu_limit_after_activation", "use_sparse_mixer"},
                        1)))
    return failure();
  if (!node.has(4))
    return node.invalid("it has no input 4");
  return mixture(node, {node.input(2), node.input(3)}, {node.input(4), node.input(5)}, {node.input(6), node.input(7)},
                 {}, node.integerOr("normalize_routing_weights", 0) != 0);
}

/// Weights [experts, outputs, inputs] of bytes that hold numbers of `bits`; scales and zero points are one for each
/// output, or for each block of its inputs.
FailureOr<Value> dequantizedExperts(NodeContext &node, Value bytes, Value scales, Value zeros, int64_t bits) {
  if (!bytes || !scales)
    return node.invalid("its weights have no scales");
  if (bits != 2 && bits != 4 && bits != 8)
    return node.unsupported("its weights have " + Twine(bits) + " bits, 2, 4 and 8 are supported");
  if (!elementTypeOf(bytes).isUnsignedInteger(8) || rankOf(bytes) != 3)
    return node.unsupported("its weights are not bytes of three dimensions");
  const int64_t block = node.integerOr("block_size", 0);
  const Type wide = Float32Type::get(node.context());
  Value numbers = unpackBits(node, bytes, bits);
  if (!numbers)
    return failure();
  Dims shape(shapeOf(numbers));
  if (shape[2] < 1 || block < 0 || (block > 0 && shape[2] % block != 0))
    return node.invalid("its block_size does not divide its weights");
  const int64_t blocks = block > 0 ? shape[2] / block : 1;
  if (elementCount(scales.getType()) != Count(shape[0]) * shape[1] * blocks)
    return node.invalid("its scales do not fit its weights");
  Value zero = node.splat(wide, static_cast<double>(int64_t(1) << (bits - 1)));
  if (zeros) {
    const bool isBlocked = rankOf(zeros) == 3;
    const int64_t row = isBlocked ? blocks : shape[1];
    zeros = unpackBits(node, zeros, bits);
    if (!zeros || shapeOf(zeros).back() < row)
      return node.invalid("its zero points do not fit its weights");
    zeros = node.sliceAxis(zeros, rankOf(zeros) - 1, 0, row);
    zero = node.cast(node.reshape(zeros, {shape[0], shape[1], blocks, 1}), wide);
  }
  Value split = node.cast(node.reshape(numbers, {shape[0], shape[1], blocks, shape[2] / blocks}), wide);
  const Value scale = node.cast(node.reshape(scales, {shape[0], shape[1], blocks, 1}), wide);
  Value all = node.reshape(node.mul(node.sub(split, zero), scale), shape);
  return node.cast(all, elementTypeOf(node.input(0)));
}

LogicalResult quantizedMixtureOfExperts(NodeContext &node) {
  if (failed(node.require(3)) ||
      failed(node.knows({"accuracy_level", "activation_alpha", "activation_beta", "activation_type", "block_size",
                         "expert_weight_bits", "fc1_expert_weight_bits", "fc2_expert_weight_bits",
                         "fc3_expert_weight_bits", "k", "normalize_routing_weights", "quant_type", "swiglu_fusion",
                         "swiglu_limit", "swiglu_limit_after_activation", "use_sparse_mixer", "weights_prepacked"},
                        1)))
    return failure();
  if (node.stringOr("quant_type", "int") != "int")
    return node.unsupported("its attribute 'quant_type' is '" + node.stringOr("quant_type", "") + "'");
  if (node.integerOr("weights_prepacked", -1) > 0)
    return node.unsupported("its attribute 'weights_prepacked' is " + Twine(node.integerOr("weights_prepacked", -1)));
  for (size_t i = 15; i < node.inputCount(); ++i)
    if (node.has(i))
      return node.unsupported("its input " + Twine(i) + " is not supported");
  const int64_t bits = node.integerOr("expert_weight_bits", 4);
  Layer layers[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!node.has(2 + 3 * i))
      continue;
    FailureOr<Value> weight =
        dequantizedExperts(node, node.input(2 + 3 * i), node.input(3 + 3 * i), node.input(11 + i),
                           node.integerOr("fc" + std::to_string(i + 1) + "_expert_weight_bits", bits));
    if (failed(weight))
      return failure();
    layers[i] = {*weight, node.input(4 + 3 * i)};
  }
  if (!node.has(5))
    return node.invalid("it has no input 5");
  // Where the router's own scores are the weights, the kernel for CPUs normalizes them whatever the attribute says.
  const bool normalizes = !node.has(14) || node.integerOr("normalize_routing_weights", 0) != 0;
  return mixture(node, layers[0], layers[1], layers[2], node.input(14), normalizes);
}

constexpr OperatorEntry kOperators[] = {
    {"com.microsoft", "MoE", 1, mixtureOfExperts},
    {"com.microsoft", "QMoE", 1, quantizedMixtureOfExperts},
};

} // namespace

ArrayRef<OperatorEntry> contribExpertOperators() { return kOperators; }

} // namespace sluice::onnximport
