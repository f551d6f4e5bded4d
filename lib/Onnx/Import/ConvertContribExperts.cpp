//===- ConvertContribExperts.cpp - ONNX Runtime's mixtures of experts ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An expert computes all tokens, and those that did not choose it have the weight 0. A large expert is a program of its
// own, which does not run if no token chose it. Small experts compute in one batch.
//
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "Loops.h"
#include "Quantize.h"
#include "Ranks.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Weights in blocks. The tensors of all experts have the dimensions of the model. The tensors of one expert have those
/// of block_matmul: bytes [outputs, blocks, bytes of a block], scales [outputs, blocks], zero points [outputs, bytes].
struct PackedExperts {
  Value bytes, scales, zeros; ///< `zeros` is null where there are none.
  int64_t bits = 0, block = 0;
};

/// Weights [experts, outputs, inputs] and biases [experts, outputs], null where there are none. `packed`: the same
/// weights; its bytes are null if block_matmul does not read them.
struct Layer {
  Value weight, bias;
  PackedExperts packed = {};
};

/// One of several experts, with a dimension of extent 1 for experts.
Value expertOf(NodeContext &node, Value all, int64_t expert) {
  return all ? node.sliceAxis(all, 0, expert, 1) : Value();
}

/// Slices first: a constant is evaluated for each expert, and a slice reads only its own part of it.
PackedExperts expertOf(NodeContext &node, const PackedExperts &all, int64_t expert) {
  const int64_t outputs = shapeOf(all.bytes)[1], blocks = shapeOf(all.bytes)[2] * (8 / all.bits) / all.block;
  auto partOf = [&](Value value, ArrayRef<int64_t> shape) {
    return node.reshape(expertOf(node, value, expert), shape);
  };
  PackedExperts one = all;
  one.bytes = partOf(all.bytes, {outputs, blocks, all.block * all.bits / 8});
  one.scales = partOf(all.scales, {outputs, blocks});
  if (all.zeros)
    one.zeros = partOf(all.zeros, shapeOf(all.zeros).drop_front());
  return one;
}

Layer expertOf(NodeContext &node, const Layer &layer, int64_t expert) {
  if (!layer.weight)
    return {};
  Layer one{{}, expertOf(node, layer.bias, expert)};
  if (layer.packed.bytes)
    one.packed = expertOf(node, layer.packed, expert);
  else
    one.weight = expertOf(node, layer.weight, expert);
  return one;
}

bool hasWeights(const Layer &layer) { return layer.weight || layer.packed.bytes; }

/// [experts, tokens, inputs], or [1, tokens, inputs], to [experts, tokens, outputs]. Packed weights are those of one
/// expert.
Value apply(NodeContext &node, Value x, const Layer &layer) {
  Value y;
  if (layer.weight) {
    y = node.matmul(x, layer.weight, false, /*transposeRhs=*/true);
  } else {
    SmallVector<Value> operands{x, layer.packed.bytes, layer.packed.scales};
    if (layer.packed.zeros)
      operands.push_back(layer.packed.zeros);
    y = node.create<BlockMatmulOp>(
        operands, {node.integer("bits", layer.packed.bits), node.integer("block", layer.packed.block)});
  }
  if (!layer.bias || !y)
    return y;
  return node.add(y, node.reshape(layer.bias, {shapeOf(layer.bias)[0], 1, shapeOf(layer.bias).back()}));
}

/// `weights` [tokens, experts]: those of the `k` experts that each token chooses, 0 elsewhere. `isChosen` [tokens, k,
/// experts]: whether the i-th choice of a token is the expert.
struct Routes {
  Value weights, isChosen;
};

Routes routes(NodeContext &node, Value logits, Value mixing, int64_t k, bool normalizes) {
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
  return {node.cast(node.reduce(ReduceKind::sum, spread, {1}, false), type), isChosen};
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
FailureOr<Value> activated(NodeContext &node, Value x, Value tokens, const Layer &third) {
  const std::string kind = node.stringOr("activation_type", "relu");
  if (kind != "swiglu" && hasWeights(third))
    return node.unsupported("it has a third layer, which is supported only with the activation_type 'swiglu', and its "
                            "activation_type is '" +
                            kind + "'");
  if (kind == "relu")
    return node.unary(UnaryKind::relu, x);
  if (kind == "gelu")
    return node.unary(UnaryKind::gelu_tanh, x);
  if (kind == "silu")
    return node.unary(UnaryKind::swish, x, 1);
  if (kind == "identity")
    return x;
  if (kind != "swiglu")
    return node.unsupported("its activation_type '" + kind + "' is not supported");
  const int64_t fusion = node.integerOr("swiglu_fusion", 0);
  if (fusion == 0) {
    if (!hasWeights(third))
      return node.invalid("its swiglu_fusion is 0, which needs a third layer, and it has none");
    return swiGlu(node, x, apply(node, tokens, third));
  }
  if (hasWeights(third) || (fusion != 1 && fusion != 2) || shapeOf(x)[2] % 2 != 0)
    return node.invalid("its swiglu_fusion must be 1 or 2, without a third layer and with an even number of outputs of "
                        "the first layer");
  Dims half(shapeOf(x)), starts(3, 0), steps(3, 1);
  half[2] /= 2;
  if (fusion == 1)
    steps[2] = 2;
  const Value gate = node.slice(x, starts, steps, half);
  starts[2] = fusion == 1 ? 1 : half[2];
  return swiGlu(node, gate, node.slice(x, starts, steps, half));
}

/// What the experts of the layers compute of the tokens; null if an operator does not fit, which is reported.
FailureOr<Value> computed(NodeContext &node, Value flat, const Layer (&layers)[3]) {
  Value inner = apply(node, flat, layers[0]);
  if (!inner)
    return Value();
  FailureOr<Value> between = activated(node, inner, flat, layers[2]);
  if (failed(between))
    return failure();
  return *between ? apply(node, *between, layers[1]) : Value();
}

/// Whether each expert is a program of its own, which takes some tens of microseconds. Grids run no such programs, and
/// they have no gradient.
bool runsApart(NodeContext &node, Value flat, const Layer (&layers)[3]) {
  constexpr int64_t kLeastWork = 1 << 18;
  Count work;
  bool isConstant = true;
  for (const Layer &layer : layers)
    if (layer.weight) {
      work += Count(2) * shapeOf(flat)[1] * shapeOf(layer.weight)[1] * shapeOf(layer.weight)[2];
      isConstant &= isConstantExpression(layer.weight) && (!layer.bias || isConstantExpression(layer.bias));
    }
  // Of a range, the decision at the upper bounds holds.
  const bool isLarge = node.decide(!(work < kLeastWork));
  return isLarge && isConstant && !node.unrollsLoops && !node.hasGrids && node.dequantized &&
         !(node.extents && node.extents->isBounded(flat)) && !(node.ranks && node.ranks->vary(flat));
}

/// Adds to `total` what an expert computes, if a token chose it.
FailureOr<Value> addExpert(NodeContext &node, Value total, Value isChosen, Value flat, Value weights,
                           const Layer (&layers)[3], int64_t choices) {
  OpBuilder &builder = node.mlir();
  Region then, otherwise;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&then);
    FailureOr<Value> y = computed(node, flat, layers);
    if (failed(y))
      return failure();
    Value sum = *y ? node.add(total, node.cast(node.mul(*y, weights), elementTypeOf(total))) : Value();
    if (!sum)
      return Value();
    YieldOp::create(builder, node.loc(), sum);
    builder.createBlock(&otherwise);
    YieldOp::create(builder, node.loc(), total);
  }
  SmallVector<Value> captured = isolate(builder, {&then, &otherwise});
  auto chosen = IfOp::create(builder, node.loc(), TypeRange{total.getType()}, isChosen, captured, DenseI64ArrayAttr());
  chosen.getThen().takeBody(then);
  chosen.getOtherwise().takeBody(otherwise);
  DataflowDialect::ChoicesAttrHelper(node.context()).setAttr(chosen, builder.getI64IntegerAttr(choices));
  return chosen.getResult(0);
}

/// [1, tokens, hidden]: the sum over the experts that tokens chose, one after the other. `weights`: [experts, tokens,
/// 1].
FailureOr<Value> sumOfChosen(NodeContext &node, Value flat, Value weights, Value isChosen, const Layer (&layers)[3]) {
  const Type integer = IntegerType::get(node.context(), 32);
  const int64_t choices = shapeOf(isChosen)[1], experts = shapeOf(isChosen)[2];
  const Value uses = node.reduce(ReduceKind::max, node.cast(isChosen, integer), {0, 1}, false);
  const Value isUsed = node.compare(ComparePredicate::ne, uses, node.splat(integer, 0, {experts}));
  // Rounded once, as the sum over a batch of experts is.
  Value total = node.splat(Float32Type::get(node.context()), 0, shapeOf(flat));
  for (int64_t expert = 0; expert < experts && total; ++expert) {
    const Layer own[3] = {expertOf(node, layers[0], expert), expertOf(node, layers[1], expert),
                          expertOf(node, layers[2], expert)};
    const Value condition = node.reshape(node.sliceAxis(isUsed, 0, expert, 1), {});
    FailureOr<Value> sum = addExpert(node, total, condition, flat, node.sliceAxis(weights, 0, expert, 1), own, choices);
    if (failed(sum))
      return failure();
    total = *sum;
  }
  return total ? node.cast(total, elementTypeOf(flat)) : Value();
}

/// The experts' layers and what the router says of them.
LogicalResult mixture(NodeContext &node, const Layer (&layers)[3], Value mixing, bool normalizes) {
  for (StringRef name : {"use_sparse_mixer", "swiglu_limit_after_activation"})
    if (node.integerOr(name, 0) != 0)
      return node.unsupported("its attribute '" + name + "' is " + Twine(node.integerOr(name, 0)) +
                              ", only 0 is supported");
  Value x = node.input(0), logits = node.input(1);
  const Value first = layers[0].weight, second = layers[1].weight;
  if (!first || !second)
    return node.result({});
  if ((rankOf(x) != 2 && rankOf(x) != 3) || rankOf(logits) != 2 || rankOf(first) != 3 || rankOf(second) != 3)
    return node.invalid("its input must have 2 or 3 dimensions, its router 2 and its weights 3");
  const int64_t hidden = shapeOf(x).back(), tokens = shapeOf(logits)[0], experts = shapeOf(logits)[1];
  const int64_t k = node.integerOr("k", 1);
  if (k < 1 || k > experts || hidden < 1 || elementCount(x.getType()) != Count(tokens) * hidden)
    return node.invalid("its router must have a row for each token of its input, and its k, " + Twine(k) +
                        ", must be from 1 to " + Twine(experts) + ", the number of its experts");
  for (const Layer &layer : layers)
    for (auto [part, rank] : {std::pair(layer.weight, 3), {layer.bias, 2}})
      if (part && (rankOf(part) != rank || shapeOf(part)[0] != experts))
        return node.invalid(
            "its weights must have 3 dimensions and its biases 2, and the extent of the first one must be " +
            Twine(experts) + ", the number of experts of the router");
  const Value flat = node.reshape(x, {1, tokens, hidden});
  const auto [shares, isChosen] = routes(node, logits, mixing, k, normalizes);
  if (!shares)
    return node.result({});
  const Value weights = node.reshape(node.transpose(shares, {1, 0}), {experts, tokens, 1});
  if (runsApart(node, flat, layers)) {
    FailureOr<Value> sum = sumOfChosen(node, flat, weights, isChosen, layers);
    return failed(sum) ? failure() : node.result(*sum ? node.reshape(*sum, shapeOf(x)) : Value());
  }
  FailureOr<Value> y = computed(node, flat, layers);
  if (failed(y))
    return failure();
  if (!*y)
    return node.result({});
  return node.result(node.reshape(node.reduce(ReduceKind::sum, node.mul(*y, weights), {0}, false), shapeOf(x)));
}

LogicalResult mixtureOfExperts(NodeContext &node) {
  if (failed(node.require(3)) ||
      failed(node.knows({"activation_alpha", "activation_beta", "activation_type", "k", "normalize_routing_weights",
                         "swiglu_fusion", "swiglu_limit", "swiglu_limit_after_activation", "use_sparse_mixer"},
                        1)))
    return failure();
  if (!node.has(4))
    return node.invalid("it has no input 4");
  const Layer layers[3] = {
      {node.input(2), node.input(3)}, {node.input(4), node.input(5)}, {node.input(6), node.input(7)}};
  return mixture(node, layers, {}, node.integerOr("normalize_routing_weights", 0) != 0);
}

/// Weights [experts, outputs, inputs] of bytes that hold numbers of `bits`; scales and zero points are one for each
/// output, or for each block of its inputs.
FailureOr<Value> dequantizedExperts(NodeContext &node, Value bytes, Value scales, Value zeros, int64_t bits) {
  if (!bytes || !scales)
    return node.invalid("its weights have no scales");
  if (bits != 2 && bits != 4 && bits != 8)
    return node.unsupported("its weights have " + Twine(bits) + " bits, 2, 4 and 8 are supported");
  if (!elementTypeOf(bytes).isUnsignedInteger(8) || rankOf(bytes) != 3)
    return node.unsupported("its weights must be of type uint8 and have 3 dimensions");
  const int64_t block = node.integerOr("block_size", 0);
  const Type wide = Float32Type::get(node.context());
  Value numbers = unpackBits(node, bytes, bits);
  if (!numbers)
    return failure();
  Dims shape(shapeOf(numbers));
  if (shape[2] < 1 || block < 0 || (block > 0 && shape[2] % block != 0))
    return node.invalid("its block_size is " + Twine(block) +
                        ", which must divide the last dimension of its weights, " + Twine(shape[2]));
  const int64_t blocks = block > 0 ? shape[2] / block : 1;
  if (elementCount(scales.getType()) != Count(shape[0]) * shape[1] * blocks)
    return node.invalid("its scales must have " + Twine((Count(shape[0]) * shape[1] * blocks).value()) +
                        " elements, one for each block of weights");
  Value zero = node.splat(wide, static_cast<double>(int64_t(1) << (bits - 1)));
  if (zeros) {
    const bool isBlocked = rankOf(zeros) == 3;
    const int64_t row = isBlocked ? blocks : shape[1];
    zeros = unpackBits(node, zeros, bits);
    if (!zeros || shapeOf(zeros).back() < row)
      return node.invalid("its zero points do not match the blocks of its weights");
    zeros = node.sliceAxis(zeros, rankOf(zeros) - 1, 0, row);
    zero = node.cast(node.reshape(zeros, {shape[0], shape[1], blocks, 1}), wide);
  }
  Value split = node.cast(node.reshape(numbers, {shape[0], shape[1], blocks, shape[2] / blocks}), wide);
  const Value scale = node.cast(node.reshape(scales, {shape[0], shape[1], blocks, 1}), wide);
  Value all = node.reshape(node.mul(node.sub(split, zero), scale), shape);
  return node.cast(all, elementTypeOf(node.input(0)));
}

/// The weights, which dequantizedExperts has checked, as block_matmul reads them. Zero points of whole outputs are
/// packed over the outputs, and have another order.
PackedExperts packedExperts(NodeContext &node, Value bytes, Value scales, Value zeros, int64_t bits) {
  const int64_t depth = shapeOf(bytes)[2] * (8 / bits), given = node.integerOr("block_size", 0);
  const int64_t block = given > 0 ? given : depth, blocks = depth / block;
  for (Value value : {bytes, scales, zeros})
    if (value && !isConstantExpression(value))
      return {};
  if (!isBlockFloat(node.input(0)) || !isBlockFloat(scales) || !isBlockLength(block) || (zeros && rankOf(zeros) != 3))
    return {};
  const int64_t experts = shapeOf(bytes)[0], outputs = shapeOf(bytes)[1], zeroBytes = (blocks * bits + 7) / 8;
  if (rankOf(scales) < 1 || shapeOf(scales)[0] != experts ||
      (zeros && shapeOf(zeros) != ArrayRef<int64_t>{experts, outputs, zeroBytes}))
    return {};
  return {bytes, scales, zeros, bits, block};
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
    return node.unsupported("its attribute 'quant_type' is '" + node.stringOr("quant_type", "") +
                            "', only 'int' is supported");
  if (node.integerOr("weights_prepacked", -1) > 0)
    return node.unsupported("its attribute 'weights_prepacked' is " + Twine(node.integerOr("weights_prepacked", -1)) +
                            ", only 0 and -1 are supported");
  for (size_t i = 15; i < node.inputCount(); ++i)
    if (node.has(i))
      return node.unsupported("its input " + Twine(i) + " is not supported");
  const int64_t bits = node.integerOr("expert_weight_bits", 4);
  Layer layers[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!node.has(2 + 3 * i))
      continue;
    const int64_t own = node.integerOr("fc" + std::to_string(i + 1) + "_expert_weight_bits", bits);
    const Value bytes = node.input(2 + 3 * i), scales = node.input(3 + 3 * i), zeros = node.input(11 + i);
    FailureOr<Value> weight = dequantizedExperts(node, bytes, scales, zeros, own);
    if (failed(weight))
      return failure();
    layers[i] = {*weight, node.input(4 + 3 * i)};
    if (*weight)
      layers[i].packed = packedExperts(node, bytes, scales, zeros, own);
  }
  if (!node.has(5))
    return node.invalid("it has no input 5");
  // Where the router's own scores are the weights, the kernel for CPUs normalizes them whatever the attribute says.
  const bool normalizes = !node.has(14) || node.integerOr("normalize_routing_weights", 0) != 0;
  return mixture(node, layers, node.input(14), normalizes);
}

constexpr OperatorEntry kOperators[] = {
    {"com.microsoft", "MoE", 1, mixtureOfExperts},
    {"com.microsoft", "QMoE", 1, quantizedMixtureOfExperts},
};

} // namespace

ArrayRef<OperatorEntry> contribExpertOperators() { return kOperators; }

} // namespace sluice::onnximport
