//===- ConvertAttention.cpp - Attention and its kin -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Heads.h"
#include "Loops.h"
#include "NodeContext.h"
#include "Windows.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value splitHeads(NodeContext &node, Value x, int64_t heads) {
  if (x && heads < 1) {
    (void)node.invalid("its number of heads is " + Twine(heads) + " and must be at least 1");
    return {};
  }
  if (!x || rankOf(x) != 3 || shapeOf(x)[2] % heads != 0) {
    (void)node.invalid("an operand must have 3 dimensions, the last one a multiple of the " + Twine(heads) + " heads");
    return {};
  }
  ArrayRef<int64_t> shape = shapeOf(x);
  return node.transpose(node.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}), {0, 2, 1, 3});
}

Value joinHeads(NodeContext &node, Value x) {
  if (!x)
    return x;
  Dims shape(shapeOf(x));
  return node.reshape(node.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Value repeatHeads(NodeContext &node, Value x, int64_t times) {
  if (!x || times == 1)
    return x;
  Dims shape(shapeOf(x));
  Value wide = node.reshape(x, {shape[0], shape[1], 1, shape[2], shape[3]});
  wide = node.expand(wide, {shape[0], shape[1], times, shape[2], shape[3]});
  return node.reshape(wide, {shape[0], shape[1] * times, shape[2], shape[3]});
}

Value rotateHeads(NodeContext &node, Value x, Value cosine, Value sine, bool interleaved) {
  if (!x || !cosine || !sine)
    return {};
  const int64_t size = shapeOf(x)[3], rotated = 2 * shapeOf(cosine)[2];
  auto overHeads = [&](Value angles) -> Value {
    Dims dims(shapeOf(angles));
    return node.reshape(angles, {dims[0], 1, dims[1], dims[2]});
  };
  cosine = overHeads(cosine);
  sine = overHeads(sine);
  Value part = node.sliceAxis(x, 3, 0, rotated), first, second;
  if (!part)
    return {};
  Dims dims(shapeOf(part)), pairs(dims);
  pairs.back() = rotated / 2;
  if (interleaved) {
    Dims starts(4, 0), steps(4, 1);
    steps[3] = 2;
    first = node.slice(part, starts, steps, pairs);
    starts[3] = 1;
    second = node.slice(part, starts, steps, pairs);
  } else {
    first = node.sliceAxis(part, 3, 0, rotated / 2);
    second = node.sliceAxis(part, 3, rotated / 2, rotated / 2);
  }
  const Value sineSecond = node.mul(sine, second);
  Value real = node.sub(node.mul(cosine, first), sineSecond);
  const Value cosineSecond = node.mul(cosine, second);
  Value imaginary = node.add(node.mul(sine, first), cosineSecond);
  Value turned;
  if (interleaved) {
    Dims columns(pairs);
    columns.push_back(1);
    turned = node.reshape(node.concat({node.reshape(real, columns), node.reshape(imaginary, columns)}, 4), dims);
  } else {
    turned = node.concat({real, imaginary}, 3);
  }
  return rotated < size ? node.concat({turned, node.sliceAxis(x, 3, rotated, size - rotated)}, 3) : turned;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What is added to the scores; null for nothing.
FailureOr<Value> attentionBias(NodeContext &node, Value scores, int64_t past, Type type) {
  Value bias;
  int64_t queries = shapeOf(scores)[2], keys = shapeOf(scores)[3];
  Value zero = node.splat(type, 0), hidden = node.splat(type, -kInfinity);
  auto add = [&](Value term) { bias = bias ? node.add(bias, term) : term; };
  if (Value mask = node.input(3)) {
    if (rankOf(mask) < 1 || shapeOf(mask).back() > keys)
      return node.invalid("the last dimension of its mask is " + Twine(rankOf(mask) < 1 ? 0 : shapeOf(mask).back()) +
                          " and must be at most the number of keys, " + Twine(keys));
    Value term = elementTypeOf(mask).isInteger(1) ? node.select(mask, zero, hidden) : node.cast(mask, type);
    if (term && shapeOf(term).back() < keys) {
      // What the mask does not reach is hidden.
      Dims dims(shapeOf(term)), low(dims.size(), 0);
      dims.back() = keys;
      term = node.create<PadOp>(
          {term, hidden},
          {node.attribute("mode", PadModeAttr::get(node.context(), PadMode::constant)), node.list("low", low)},
          {node.type(type, dims)});
    }
    add(term);
  }
  Type index = node.mlir().getI64Type();
  Value lengths = node.input(6);
  if (lengths && rankOf(lengths) != 1)
    return node.invalid("its nonpad_kv_seqlen must have one dimension");
  Value column = node.iota(index, keys, 3, 4);
  if (lengths)
    lengths = node.cast(node.reshape(lengths, {shapeOf(lengths)[0], 1, 1, 1}), index);
  const int64_t left = node.integerOr("left_window_size", -1), right = node.integerOr("right_window_size", -1);
  const bool isCausal = node.integerOr("is_causal", 0) != 0;
  if (isCausal || left >= 0 || right >= 0) {
    // Query i is at position i + offset: it sees so many keys before it and after it; none after it where it is causal.
    Value offset = lengths ? node.sub(lengths, node.splat(index, static_cast<double>(queries)))
                           : node.splat(index, static_cast<double>(past));
    Value row = node.add(node.iota(index, queries, 2, 4), offset);
    if (isCausal || right >= 0) {
      Value last = isCausal || right == 0 ? row : node.add(row, node.splat(index, static_cast<double>(right)));
      add(node.select(node.compare(ComparePredicate::lt, last, column), hidden, zero));
    }
    if (left >= 0) {
      Value first = node.sub(row, node.splat(index, static_cast<double>(left)));
      add(node.select(node.compare(ComparePredicate::lt, column, first), hidden, zero));
    }
  }
  if (lengths)
    add(node.select(node.compare(ComparePredicate::lt, column, lengths), zero, hidden));
  return bias;
}

/// scores = Q K^T * scale; softcap; + bias; softmax; times V. The second result to the fourth are keys and values
/// with those of the past before them, and the scores as they are after one of these steps.
LogicalResult attention(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Value query = node.input(0), key = node.input(1), value = node.input(2);
  if (!isa<FloatType>(elementTypeOf(query)))
    return node.invalid("its query must have floating-point elements");
  bool flat = rankOf(query) == 3;
  if (flat) {
    int64_t heads = node.integerOr("q_num_heads", 0), keyHeads = node.integerOr("kv_num_heads", 0);
    query = splitHeads(node, query, heads);
    key = splitHeads(node, key, keyHeads);
    value = splitHeads(node, value, keyHeads);
  }
  if (!query || !key || !value)
    return failure();
  if (rankOf(query) != 4 || rankOf(key) != 4 || rankOf(value) != 4)
    return node.invalid("its query, key and value must have 3 or 4 dimensions");
  int64_t past = 0;
  if (node.has(4) && node.has(5)) {
    past = shapeOf(node.input(4))[2];
    key = node.concat({node.input(4), key}, 2);
    value = node.concat({node.input(5), value}, 2);
    if (!key || !value)
      return node.result({});
  }
  Value presentKey = key, presentValue = value;
  if (shapeOf(key)[1] == 0 || shapeOf(query)[1] % shapeOf(key)[1] != 0)
    return node.invalid("the number of heads of its query, " + Twine(shapeOf(query)[1]) +
                        ", must be a multiple of that of its key, " + Twine(shapeOf(key)[1]));
  int64_t times = shapeOf(query)[1] / shapeOf(key)[1];
  key = repeatHeads(node, key, times);
  value = repeatHeads(node, value, times);

  // Half of the scale on either side keeps half-precision products in range, as the operator's definition does.
  Type type = elementTypeOf(query);
  double scale = node.numberOr("scale", 1 / std::sqrt(static_cast<double>(shapeOf(query)[3])));
  Value root = node.splat(type, std::sqrt(scale));
  const Value scaledKey = node.mul(key, root);
  const Value scaledQuery = node.mul(query, root);
  Value raw = node.matmul(scaledQuery, scaledKey, false, /*transposeRhs=*/true);
  if (!raw)
    return node.result({});
  Value capped = raw;
  if (double cap = node.numberOr("softcap", 0); cap > 0) {
    Value limit = node.splat(type, cap);
    capped = node.mul(node.unary(UnaryKind::tanh, node.div(raw, limit)), limit);
  }
  FailureOr<Value> bias = attentionBias(node, raw, past, type);
  if (failed(bias))
    return failure();
  Value biased = *bias ? node.add(capped, *bias) : capped;
  Type precision = type;
  if (int64_t number = node.integerOr("softmax_precision", 0))
    precision = elementTypeFromOnnx(node.context(), number);
  if (!precision || !isa<FloatType>(precision) || !biased)
    return node.invalid(
        "its softmax_precision must be a floating-point type, and its mask must broadcast to the scores");
  Value weights = node.cast(node.softmax(node.cast(biased, precision), 3, false), type);
  if (*bias) {
    // A query that sees nothing has no weights, rather than NaN.
    Value most = node.reduce(ReduceKind::max, *bias, {rankOf(*bias) - 1}, true);
    Value isBlind = node.compare(ComparePredicate::eq, most, node.splat(type, -kInfinity));
    weights = node.select(isBlind, node.splat(type, 0), weights);
  }
  Value result = node.matmul(weights, value);
  SmallVector<Value> outputs{flat ? joinHeads(node, result) : result, presentKey, presentValue};
  if (node.wantsOutput(3)) {
    Value steps[] = {raw, capped, biased, weights};
    int64_t mode = node.integerOr("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
      return node.invalid("its qk_matmul_output_mode is " + Twine(mode) + ", ONNX defines 0 to 3");
    outputs.push_back(steps[mode]);
  }
  return node.results(outputs);
}

/// As attention, without masks; subgraphs may change the scores and the weights.
LogicalResult flexAttention(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Value query = node.input(0), key = node.input(1), value = node.input(2);
  if (rankOf(query) != 4 || rankOf(key) != 4 || rankOf(value) != 4 || shapeOf(key)[1] == 0 ||
      shapeOf(query)[1] % shapeOf(key)[1] != 0)
    return node.invalid("its operands must have 4 dimensions, and the number of heads of its query must be a multiple "
                        "of that of its key");
  int64_t times = shapeOf(query)[1] / shapeOf(key)[1];
  Type type = elementTypeOf(query);
  Value root =
      node.splat(type, std::sqrt(node.numberOr("scale", 1 / std::sqrt(static_cast<double>(shapeOf(query)[3])))));
  const Value scaledKey = node.mul(repeatHeads(node, key, times), root);
  const Value scaledQuery = node.mul(query, root);
  Value scores = node.matmul(scaledQuery, scaledKey, false, true);
  Type precision = type.isF64() ? type : Float32Type::get(node.context());
  if (int64_t number = node.integerOr("softmax_precision", 0))
    precision = elementTypeFromOnnx(node.context(), number);
  if (!precision || !isa<FloatType>(precision))
    return node.invalid("its softmax_precision must be a floating-point type");
  auto modified = [&](StringRef name, Value x) -> FailureOr<Value> {
    const ::onnx::AttributeProto *body = node.find(name, ::onnx::AttributeProto::GRAPH);
    if (!body)
      return x;
    FailureOr<SmallVector<Value>> results = node.importBody(body->g(), {x});
    if (failed(results))
      return failure();
    if (results->size() != 1 || !results->front() || !x || results->front().getType() != x.getType())
      return node.invalid("its " + name + " must return a tensor with the type and the shape of the scores");
    return results->front();
  };
  FailureOr<Value> changed = modified("score_mod", node.cast(scores, precision));
  if (failed(changed))
    return failure();
  FailureOr<Value> weights = modified("prob_mod", node.softmax(*changed, 3, false));
  if (failed(weights))
    return failure();
  const Value repeated = repeatHeads(node, value, times);
  return node.result(node.matmul(node.cast(*weights, type), repeated));
}

LogicalResult rotaryEmbedding(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Value x = node.input(0);
  bool flat = rankOf(x) == 3;
  if (flat)
    x = splitHeads(node, x, node.integerOr("num_heads", 0));
  if (!x)
    return failure();
  if (rankOf(x) != 4)
    return node.invalid("its input has " + Twine(rankOf(x)) + " dimensions, 3 or 4 are allowed");
  int64_t size = shapeOf(x)[3], rotated = node.integerOr("rotary_embedding_dim", 0);
  rotated = rotated == 0 ? size : rotated;
  if (rotated < 2 || rotated > size || rotated % 2 != 0)
    return node.invalid("its rotary_embedding_dim is " + Twine(rotated) + ", an even number from 2 to " + Twine(size) +
                        " is allowed");
  auto angles = [&](size_t index) -> Value {
    Value cache = node.input(index);
    if (node.has(3))
      cache = node.create<GatherOp>({cache, node.input(3)}, node.integer("axis", 0));
    if (!cache || rankOf(cache) != 3 || shapeOf(cache)[2] < rotated / 2)
      return {};
    return node.sliceAxis(cache, 2, 0, rotated / 2);
  };
  Value cosine = angles(1), sine = angles(2);
  if (!cosine || !sine)
    return node.invalid("the shapes of its sine and cosine caches do not match the input");
  Value turned = rotateHeads(node, x, cosine, sine, node.integerOr("interleaved", 0) != 0);
  return node.result(flat ? joinHeads(node, turned) : turned);
}

/// A state of [keys, values] a head that each element of the sequence decays and adds an outer product to.
LogicalResult linearAttention(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  int64_t heads = node.integerOr("q_num_heads", 0), stateHeads = node.integerOr("kv_num_heads", 0);
  std::string rule = node.stringOr("update_rule", "gated_delta");
  bool decays = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!decays && !corrects && rule != "linear")
    return node.invalid("its update_rule is '" + rule + "', ONNX defines 'linear', 'gated', 'delta' and 'gated_delta'");
  if ((decays && !node.has(4)) || (corrects && !node.has(5)))
    return node.invalid("its update_rule is '" + rule + "' and the operand for this rule is missing");
  for (size_t i = 0; i < 3; ++i)
    if (rankOf(node.input(i)) != 3)
      return node.invalid("input " + Twine(i) + " has " + Twine(rankOf(node.input(i))) + " dimensions instead of 3");
  int64_t batch = shapeOf(node.input(0))[0], steps = shapeOf(node.input(0))[1];
  constexpr int64_t kMostSteps = 2048;
  if (steps < 1 || (node.unrollsLoops && steps > kMostSteps))
    return node.unsupported(
        "its sequence has " + Twine(steps) + " elements" +
        (steps < 1 ? Twine() : ", 1 to " + Twine(kMostSteps) + " are supported in training and on GPUs"));
  if (heads < 1 || stateHeads < 1 || heads % stateHeads != 0)
    return node.invalid("the number of heads of its key and value, " + Twine(stateHeads) +
                        ", must divide that of its query, " + Twine(heads));
  // All is computed in f32.
  Type type = elementTypeOf(node.input(0)), wide = Float32Type::get(node.context());
  auto perStep = [&](size_t index, int64_t count) {
    return node.has(index) ? splitHeads(node, node.cast(node.input(index), wide), count) : Value();
  };
  Value query = perStep(0, heads), key = perStep(1, stateHeads), value = perStep(2, stateHeads);
  Value decay = decays ? perStep(4, stateHeads) : Value();
  // One rate for each head, or one for all.
  const bool sharesBeta = corrects && rankOf(node.input(5)) == 3 && shapeOf(node.input(5))[2] == 1;
  Value beta = corrects ? perStep(5, sharesBeta ? 1 : stateHeads) : Value();
  if (!query || !key || !value || (decays && !decay) || (corrects && !beta))
    return failure();
  int64_t keySize = shapeOf(key)[3], valueSize = shapeOf(value)[3];
  Value state =
      node.has(3) ? node.cast(node.input(3), wide) : node.splat(wide, 0, {batch, stateHeads, keySize, valueSize});
  double scale = node.numberOr("scale", 0);
  Value factor = node.splat(wide, scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(keySize)));
  // `at` takes the element of each operand, [batch, heads, 1, size].
  auto step = [&](Value before, function_ref<Value(Value)> at) {
    Value next = before;
    if (decay)
      next = node.mul(next, node.unary(UnaryKind::exp, node.transpose(at(decay), {0, 1, 3, 2})));
    Value written = at(value);
    if (beta) {
      const Value error = node.sub(written, node.matmul(at(key), next));
      written = node.mul(at(beta), error);
    }
    next = node.add(next, node.matmul(at(key), written, /*transposeLhs=*/true));
    const Value repeated = repeatHeads(node, next, heads / stateHeads);
    return SmallVector<Value>{next, node.mul(factor, node.matmul(at(query), repeated))};
  };
  Value all;
  if (!node.decide(node.unrollsLoops || steps <= kMostUnrolledSteps)) {
    auto body = [&](Value iteration, ValueRange carried) {
      return step(carried[0], [&](Value x) {
        Dims dims(shapeOf(x));
        dims[2] = 1;
        return node.reshape(sliceAt(node, x, iteration, 2), dims);
      });
    };
    SmallVector<Value> results = countedLoop(node, steps, state, body);
    if (results.empty())
      return node.result({});
    state = results[0];
    all = node.reshape(node.transpose(results[1], {1, 2, 0, 3, 4}), {batch, heads, steps, valueSize});
  } else {
    SmallVector<Value> results;
    for (int64_t i = 0; i < steps; ++i) {
      SmallVector<Value> made = step(state, [&](Value x) { return node.sliceAxis(x, 2, i, 1); });
      if (llvm::is_contained(made, Value()))
        return node.result({});
      state = made[0];
      results.push_back(made[1]);
    }
    all = node.concat(results, 2);
  }
  Value present = node.cast(state, node.has(3) ? elementTypeOf(node.input(3)) : type);
  return node.results({node.cast(joinHeads(node, all), type), present});
}

/// A depthwise convolution over what came before, which the second result carries on.
LogicalResult causalConvWithState(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value x = node.input(0), weight = node.input(1);
  if (rankOf(x) != 3 || rankOf(weight) != 3)
    return node.invalid("its input and its weight must have 3 dimensions");
  int64_t channels = shapeOf(x)[1], before = shapeOf(weight)[2] - 1;
  Type type = elementTypeOf(x);
  Value past = node.has(3) ? node.input(3) : node.splat(type, 0, {shapeOf(x)[0], channels, before});
  Value padded = before > 0 ? node.concat({past, x}, 2) : x;
  if (!padded)
    return node.result({});
  Value y = node.create<ConvOp>({padded, weight}, {node.list("strides", {1}), node.list("pads", {0, 0}),
                                                   node.list("dilations", {1}), node.integer("groups", channels)});
  y = addChannelBias(node, y, node.input(2));
  std::string activation = node.stringOr("activation", "none");
  if (activation == "silu" || activation == "swish")
    y = node.unary(UnaryKind::swish, y, 1);
  else if (activation != "none" && !activation.empty())
    return node.unsupported("its activation is '" + activation + "', 'none' and 'silu' are supported");
  Value present = node.sliceAxis(padded, 2, before > 0 ? shapeOf(padded)[2] - before : 0, before);
  return node.results({y, present});
}

/// Elements of an update written into a cache from an index per batch on; `circular` wraps around its end.
LogicalResult tensorScatter(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value cache = node.input(0), update = node.input(1);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", -2), rankOf(cache));
  if (failed(axis))
    return failure();
  if (*axis == 0 || rankOf(update) != rankOf(cache) || shapeOf(cache)[*axis] == 0)
    return node.invalid("its update must have the shape of its cache, except along the axis");
  std::string mode = node.stringOr("mode", "linear");
  if (mode != "linear" && mode != "circular")
    return node.invalid("its mode is '" + mode + "', not 'linear' or 'circular'");
  Type index = node.mlir().getI64Type();
  // Of one member of a batch, what is written lies together.
  if (mode == "linear" && shapeOf(cache)[0] == 1 && !isString(elementTypeOf(cache)) &&
      shapeOf(update)[*axis] <= shapeOf(cache)[*axis]) {
    const Value start = node.has(2) ? node.reshape(node.input(2), {}) : node.splat(index, 0);
    return node.result(
        node.create<InsertOp>({cache, update, start}, {node.integer("dim", *axis)}, {Type(cache.getType())}));
  }
  Value position = node.iota(index, shapeOf(update)[*axis], *axis, rankOf(update));
  if (node.has(2)) {
    Dims dims(rankOf(update), 1);
    dims[0] = elementCount(node.input(2).getType());
    position = node.add(position, node.cast(node.reshape(node.input(2), dims), index));
  }
  if (mode == "circular")
    position = node.binary(BinaryKind::mod, position, node.splat(index, static_cast<double>(shapeOf(cache)[*axis])));
  Value indices = node.expand(position, shapeOf(update));
  return node.result(node.create<ScatterElementsOp>(
      {cache, indices, update},
      {node.attribute("kind", ScatterKindAttr::get(node.context(), ScatterKind::none)), node.integer("axis", *axis)}));
}

LogicalResult swiGlu(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return node.result(node.mul(node.unary(UnaryKind::swish, node.input(0), node.numberOr("alpha", 1)), node.input(1)));
}

constexpr OperatorEntry kOperators[] = {
    {"", "Attention", 23, attention},
    {"ai.onnx.preview", "FlexAttention", 1, flexAttention},
    {"", "RotaryEmbedding", 23, rotaryEmbedding},
    {"", "LinearAttention", 27, linearAttention},
    {"", "CausalConvWithState", 27, causalConvWithState},
    {"", "TensorScatter", 24, tensorScatter},
    {"", "SwiGLU", 28, swiGlu},
};

} // namespace

ArrayRef<OperatorEntry> attentionOperators() { return kOperators; }

} // namespace sluice::onnximport
