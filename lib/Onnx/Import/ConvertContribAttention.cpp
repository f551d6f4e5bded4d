//===- ConvertContribAttention.cpp - ONNX Runtime's attentions ------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Attention of the domain com.microsoft, as its documentation (ContribOperators.md) and its CPU kernels define it.
// Tensors of heads are [batch, heads, sequence, size] here.
//
//===----------------------------------------------------------------------===//
#include "Heads.h"
#include "Linear.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// Reports the first of these attributes that is not 0.
LogicalResult wantsNone(NodeContext &node, ArrayRef<StringRef> attributes) {
  for (StringRef name : attributes)
    if (node.integerOr(name, 0) != 0)
      return node.unsupported("its attribute '" + name + "' is " + Twine(node.integerOr(name, 0)) +
                              ", only 0 is supported");
  return success();
}

/// Reports the first of these inputs that is there.
LogicalResult hasNone(NodeContext &node, ArrayRef<std::pair<size_t, StringRef>> inputs) {
  for (const auto &[index, name] : inputs)
    if (node.has(index))
      return node.unsupported("its input '" + name + "' is not supported");
  return success();
}

/// The score of a key that is hidden. A row that has no other score is no NaN, as it would be with minus infinity.
Value hiddenScore(NodeContext &node, Type type) {
  return node.splat(type, type.isF64() ? std::numeric_limits<double>::lowest()
                                       : static_cast<double>(std::numeric_limits<float>::lowest()));
}

/// The positions of keys, along the last of four dimensions.
Value keyPositions(NodeContext &node, int64_t count) { return node.iota(node.mlir().getI64Type(), count, 3, 4); }

/// The operands and options of one attention. A null value and a zero stand for what is absent.
struct Attended {
  Value query, key, value;
  int64_t past = 0;   ///< How many keys come before the first query's own key.
  double scale = 0;   ///< Of the scores; by default 1 / sqrt(size).
  double softcap = 0; ///< The scores become softcap * tanh(score / softcap).
  Value bias = {};    ///< Added to the scores, which it broadcasts to.
  Value mask = {};    ///< Added where no later key is hidden, [batch or 1, 1, queries or 1, keys].
  Value sink = {};    ///< A score that takes its share of the weights of each head, [1, heads, 1, 1].
  bool isCausal = false;
};

/// softmax(scale * query key^T + bias) value, in f32 where the operands are halves. Key and value may have fewer heads
/// than the query: neighbouring heads of the query share one.
Value attend(NodeContext &node, Attended of) {
  if (!of.query || !of.key || !of.value)
    return {};
  for (Value x : {of.query, of.key, of.value})
    if (rankOf(x) != 4) {
      (void)node.invalid("its operands must have 4 dimensions");
      return {};
    }
  const int64_t heads = shapeOf(of.query)[1], keyHeads = shapeOf(of.key)[1];
  if (keyHeads == 0 || heads % keyHeads != 0) {
    (void)node.invalid("the number of heads of its query, " + Twine(heads) +
                       ", must be a multiple of that of its key, " + Twine(keyHeads));
    return {};
  }
  const Dims shape(shapeOf(of.query));
  const int64_t queries = shape[2], keys = shapeOf(of.key)[2], group = heads / keyHeads;
  const Type type = elementTypeOf(of.query), wide = type.isF64() ? type : Float32Type::get(node.context());
  if (of.isCausal) {
    const Type index = node.mlir().getI64Type();
    const Value row = node.iota(index, queries, 2, 4);
    Value visible = node.add(row, node.splat(index, static_cast<double>(of.past)));
    // ONNX Runtime hides nothing from the last query, whose own key is the last where a sequence attends to itself.
    if (keys > of.past + queries) {
      const Value isLast = node.compare(ComparePredicate::eq, row, node.splat(index, static_cast<double>(queries - 1)));
      visible = node.select(isLast, node.splat(index, static_cast<double>(keys)), visible);
    }
    // A term, and no choice between scores: the sum is a mask of the operator 'attention'.
    const Value isHidden = node.compare(ComparePredicate::gt, keyPositions(node, keys), visible);
    const Value hidden = hiddenScore(node, wide), shown = of.mask ? of.mask : node.splat(wide, 0);
    of.mask = node.select(isHidden, hidden, shown);
  }
  if (of.mask)
    of.bias = of.bias ? node.add(node.cast(of.bias, wide), of.mask) : of.mask;
  // Queries that share a head of keys are a dimension of their own, along which products broadcast the keys.
  const bool isGrouped = group > 1 && !of.sink;
  auto shared = [&](Value x) {
    const Dims own(shapeOf(x));
    return isGrouped ? node.reshape(x, {own[0], own[1], 1, own[2], own[3]}) : repeatHeads(node, x, group);
  };
  if (isGrouped) {
    of.query = node.reshape(of.query, {shape[0], keyHeads, group, queries, shape[3]});
    if (of.bias && rankOf(of.bias) == 4) {
      const Dims own(shapeOf(of.bias));
      const bool isOfHead = own[1] != 1;
      of.bias = node.reshape(of.bias, {own[0], isOfHead ? keyHeads : 1, isOfHead ? group : 1, own[2], own[3]});
    }
  }
  const int64_t last = isGrouped ? 4 : 3;
  const double scale = of.scale != 0 ? of.scale : 1 / std::sqrt(static_cast<double>(shape[3]));
  const Value keysOfAll = shared(of.key);
  Value scores = node.matmul(of.query, keysOfAll, false, /*transposeRhs=*/true);
  const Value factor = node.splat(wide, scale);
  scores = node.mul(node.cast(scores, wide), factor);
  if (of.softcap > 0) {
    const Value cap = node.splat(wide, of.softcap);
    scores = node.mul(node.unary(UnaryKind::tanh, node.div(scores, cap)), cap);
  }
  if (of.bias)
    scores = node.add(scores, node.cast(of.bias, wide));
  if (of.sink && scores) {
    Dims column(shapeOf(scores));
    column[3] = 1;
    scores = node.concat({scores, node.expand(node.cast(of.sink, wide), column)}, 3);
  }
  Value weights = node.softmax(scores, last, false);
  if (of.sink)
    weights = node.sliceAxis(weights, 3, 0, keys);
  const Value values = shared(of.value);
  Value result = node.matmul(node.cast(weights, type), values);
  if (result && isGrouped)
    result = node.reshape(result, {shape[0], heads, queries, shapeOf(result).back()});
  return result;
}

/// Gives `of.mask` the term that a mask contributes to the scores: the attribute mask_filter_value where a key is
/// hidden. A mask of one dimension has the number of keys of each member of the batch, and may have the positions of
/// the members' first keys behind these numbers.
LogicalResult addMask(NodeContext &node, Value mask, Attended &of) {
  const int64_t batch = shapeOf(of.query)[0], queries = shapeOf(of.query)[2], keys = shapeOf(of.key)[2];
  const Type type = elementTypeOf(of.query).isF64() ? elementTypeOf(of.query) : Float32Type::get(node.context());
  const double filter = node.numberOr("mask_filter_value", -10000);
  const Value zero = node.splat(type, 0), hidden = node.splat(type, filter);
  Dims shape(shapeOf(mask));
  Value isSeen;
  if (shape.size() == 1 && (shape[0] == batch || shape[0] == 2 * batch)) {
    const Value position = keyPositions(node, keys);
    auto limits = [&](int64_t from) {
      return node.cast(node.reshape(node.sliceAxis(mask, 0, from, batch), {batch, 1, 1, 1}), node.mlir().getI64Type());
    };
    isSeen = node.compare(ComparePredicate::lt, position, limits(0));
    if (shape[0] == 2 * batch)
      isSeen =
          node.binary(BinaryKind::logical_and, isSeen, node.compare(ComparePredicate::ge, position, limits(batch)));
  } else {
    if (shape == Dims{batch, keys})
      mask = node.reshape(mask, {batch, 1, 1, keys});
    else if (shape == Dims{batch, queries, keys})
      mask = node.reshape(mask, {batch, 1, queries, keys});
    else if (shape.size() == 4 && shape[0] == batch && shape[1] == 1 && shape[2] >= of.past + queries &&
             shape[3] >= keys)
      mask = node.slice(mask, {0, 0, of.past, 0}, {1, 1, 1, 1}, {batch, 1, queries, keys});
    else
      return node.unsupported("its mask has a shape that is not supported");
    if (!mask)
      return node.invalid("the type or the shape of its mask does not match its keys");
    isSeen = node.compare(ComparePredicate::gt, mask, node.splat(elementTypeOf(mask), 0));
  }
  of.mask = node.select(isSeen, zero, hidden);
  return success();
}

/// Queries, keys and values as heads.
struct Projected {
  Value query, key, value;
};

/// Cuts a product [batch, sequence, sum of the sizes] into queries, keys and values.
Projected cutProjection(NodeContext &node, Value x, ArrayRef<int64_t> sizes, int64_t heads, int64_t keyHeads) {
  auto part = [&](int64_t from, int64_t size, int64_t count) {
    return splitHeads(node, node.sliceAxis(x, 2, from, size), count);
  };
  Projected cut;
  cut.query = part(0, sizes[0], heads);
  cut.key = part(sizes[0], sizes[1], keyHeads);
  cut.value = part(sizes[0] + sizes[1], sizes[2], keyHeads);
  return cut;
}

/// The rest of Attention and QAttention, from their product with the weights on.
LogicalResult selfAttention(NodeContext &node, Value product, Value mask, Value past, Value bias) {
  const int64_t heads = node.integerOr("num_heads", 0);
  if (!product || rankOf(product) != 3)
    return node.invalid("its input must have 3 dimensions");
  Dims sizes = node.integersAt("qkv_hidden_sizes").value_or(Dims());
  const int64_t total = shapeOf(product)[2];
  if (sizes.empty() && total % 3 == 0)
    sizes.assign(3, total / 3);
  // Sizes above the total would overflow their sum.
  if (sizes.size() != 3 || llvm::any_of(sizes, [&](int64_t size) { return size < 1 || size > total; }) ||
      sizes[0] + sizes[1] + sizes[2] != total || sizes[0] != sizes[1])
    return node.invalid("its qkv_hidden_sizes must be three positive numbers with the sum " + Twine(total) +
                        ", the first two of them equal");
  Projected cut = cutProjection(node, product, sizes, heads, heads);
  if (!cut.query || !cut.key || !cut.value)
    return failure();
  Attended of{cut.query, cut.key, cut.value};
  if (past) {
    Dims shape(shapeOf(past));
    if (shape.size() != 5 || shape[0] != 2)
      return node.invalid("its past must have 5 dimensions, the first of extent 2");
    Dims one(ArrayRef<int64_t>(shape).drop_front());
    of.past = shape[3];
    of.key = node.concat({node.reshape(node.sliceAxis(past, 0, 0, 1), one), of.key}, 2);
    of.value = node.concat({node.reshape(node.sliceAxis(past, 0, 1, 1), one), of.value}, 2);
    if (!of.key || !of.value)
      return node.result({});
  }
  of.scale = node.numberOr("scale", 0);
  of.isCausal = node.integerOr("unidirectional", 0) != 0;
  of.bias = bias;
  if (mask && failed(addMask(node, mask, of)))
    return failure();
  Value y = joinHeads(node, attend(node, of));
  if (!node.wantsOutput(1))
    return node.result(y);
  Dims one{1};
  one.append(shapeOf(of.key).begin(), shapeOf(of.key).end());
  if (shapeOf(of.key) != shapeOf(of.value))
    return node.invalid("its second output joins keys and values in one tensor, so both must have the same shape");
  const Value values = node.reshape(of.value, one);
  return node.results({y, node.concat({node.reshape(of.key, one), values}, 0)});
}

LogicalResult attention(NodeContext &node) {
  if (failed(node.require(2)) ||
      failed(node.knows({"do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer", "qkv_hidden_sizes",
                         "rotary_embedding_dim", "scale", "unidirectional"},
                        2)) ||
      failed(wantsNone(node, {"do_rotary", "past_present_share_buffer"})) ||
      failed(hasNone(node, {{6, "past_sequence_length"}})))
    return failure();
  Value product = numpyMatmul(node, node.input(0), node.input(1));
  if (node.has(2))
    product = node.add(product, node.input(2));
  return selfAttention(node, product, node.input(3), node.input(4), node.input(5));
}

/// Attention whose input and weights are bytes.
LogicalResult qAttention(NodeContext &node) {
  if (failed(node.require(5)) ||
      failed(node.knows(
          {"do_rotary", "mask_filter_value", "num_heads", "past_present_share_buffer", "scale", "unidirectional"},
          2)) ||
      failed(wantsNone(node, {"do_rotary", "past_present_share_buffer"})))
    return failure();
  const Type type = elementTypeOf(node.input(2)), wide = Float32Type::get(node.context());
  Value sums = integerMatmul(node, {node.input(0), node.input(6)}, {node.input(1), node.input(7)}, wide);
  Value weightScale = node.input(4);
  if (elementCount(weightScale.getType()) == 1)
    weightScale = node.reshape(weightScale, {});
  const Value scale = node.mul(node.reshape(node.input(3), {}), weightScale);
  Value product = node.add(node.mul(node.cast(sums, type), scale), node.input(2));
  return selfAttention(node, product, node.input(5), node.input(8), {});
}

/// One of the three projections plus its part of their common bias, which begins at `from`.
Value biasPart(NodeContext &node, Value x, int64_t from) {
  Value bias = node.input(3);
  return bias && x && rankOf(x) == 3 ? node.add(x, node.sliceAxis(bias, 0, from, shapeOf(x)[2])) : x;
}

/// Part `index` of [batch, sequence, heads, parts, size], as heads.
Value packedPart(NodeContext &node, Value x, int64_t index) {
  Dims shape(shapeOf(x));
  return node.transpose(node.reshape(node.sliceAxis(x, 3, index, 1), {shape[0], shape[1], shape[2], shape[4]}),
                        {0, 2, 1, 3});
}

/// The operands of MultiHeadAttention: three tensors, or packed ones, or keys and values that are heads already.
FailureOr<Projected> readProjections(NodeContext &node, int64_t heads) {
  Value query = node.input(0), key = node.input(1), value = node.input(2);
  Projected read;
  if (!key && rankOf(query) == 5 && shapeOf(query)[3] == 3) {
    if (node.has(3))
      return node.unsupported(
          "its query is packed (5 dimensions) and it has a bias, a combination that is not supported");
    read = {packedPart(node, query, 0), packedPart(node, query, 1), packedPart(node, query, 2)};
  } else if (!key || rankOf(query) != 3) {
    return node.invalid("its query must have 3 dimensions, or 5 if key and value are packed into it");
  } else {
    const int64_t hidden = shapeOf(query)[2];
    read.query = splitHeads(node, biasPart(node, query, 0), heads);
    if (!value && rankOf(key) == 5 && shapeOf(key)[3] == 2) {
      if (node.has(3))
        return node.unsupported(
            "its key is packed (5 dimensions) and it has a bias, a combination that is not supported");
      read.key = packedPart(node, key, 0);
      read.value = packedPart(node, key, 1);
    } else if (value && rankOf(key) == 4 && rankOf(value) == 4) {
      read.key = key;
      read.value = value;
    } else if (value && rankOf(key) == 3 && rankOf(value) == 3) {
      if (node.has(3) && elementCount(node.input(3).getType()) != Count(hidden) + shapeOf(key)[2] + shapeOf(value)[2])
        return node.invalid(
            "its bias must have as many elements as the last dimensions of query, key and value together");
      read.key = splitHeads(node, biasPart(node, key, hidden), heads);
      read.value = splitHeads(node, biasPart(node, value, 2 * hidden), heads);
    } else {
      return node.invalid("the numbers of dimensions of its key and its value do not match");
    }
  }
  if (!read.query || !read.key || !read.value)
    return failure();
  return read;
}

LogicalResult multiHeadAttention(NodeContext &node) {
  if (failed(node.require(1)) || failed(node.knows({"mask_filter_value", "num_heads", "scale", "unidirectional"}, 3)) ||
      failed(hasNone(node, {{8, "past_sequence_length"}, {9, "cache_indirection"}})))
    return failure();
  FailureOr<Projected> read = readProjections(node, node.integerOr("num_heads", 0));
  if (failed(read))
    return failure();
  Attended of{read->query, read->key, read->value};
  if (node.has(6) != node.has(7))
    return node.invalid("only one of its past key and its past value is given");
  if (node.has(6)) {
    if (rankOf(node.input(6)) != 4)
      return node.invalid("its past key must have 4 dimensions");
    of.past = shapeOf(node.input(6))[2];
    of.key = node.concat({node.input(6), of.key}, 2);
    of.value = node.concat({node.input(7), of.value}, 2);
    if (!of.key || !of.value)
      return node.result({});
  }
  of.scale = node.numberOr("scale", 0);
  of.isCausal = node.integerOr("unidirectional", 0) != 0;
  of.bias = node.input(5);
  if (node.has(4) && failed(addMask(node, node.input(4), of)))
    return failure();
  return node.results({joinHeads(node, attend(node, of)), of.key, of.value});
}

/// A cache of heads whose rows at `position`, [batch or 1, 1, length of the update, 1], are those of the update. The
/// rows of one member of a batch follow each other: they may be stored in the cache's own memory.
Value written(NodeContext &node, Value cache, Value update, Value position) {
  if (!cache || !update || !position)
    return {};
  const Type type = cache.getType();
  if (shapeOf(cache)[0] == 1 && shapeOf(update)[2] > 0 && shapeOf(update)[2] <= shapeOf(cache)[2]) {
    const Value first = node.reshape(node.sliceAxis(position, 2, 0, 1), {});
    return node.create<InsertOp>({cache, update, first}, {node.integer("dim", 2)}, {type});
  }
  return node.create<ScatterElementsOp>(
      {cache, node.expand(position, shapeOf(update)), update},
      {node.attribute("kind", ScatterKindAttr::get(node.context(), ScatterKind::none)), node.integer("axis", 2)});
}

/// One query, whose key joins a cache.
LogicalResult decoderMaskedMultiHeadAttention(NodeContext &node) {
  if (failed(node.require(3)) ||
      failed(node.knows({"mask_filter_value", "num_heads", "output_qk", "past_present_share_buffer", "scale"}, 3)) ||
      failed(wantsNone(node, {"output_qk"})) || failed(hasNone(node, {{9, "cache_indirection"}})))
    return failure();
  const int64_t heads = node.integerOr("num_heads", 0);
  Value query = node.input(0), key = node.input(1), value = node.input(2), bias = node.input(10);
  if (rankOf(query) != 3 || shapeOf(query)[1] != 1)
    return node.invalid("its query must have 3 dimensions, the second of extent 1");
  const int64_t hidden = shapeOf(query)[2];
  auto headsOf = [&](Value x, int64_t from) {
    if (bias && x)
      x = node.add(x, node.sliceAxis(bias, 0, from, shapeOf(x)[2]));
    return splitHeads(node, x, heads);
  };
  Attended of;
  of.query = headsOf(query, 0);
  of.scale = node.numberOr("scale", 0);
  of.bias = node.input(4);
  if (rankOf(key) == 4) {
    if (failed(hasNone(node, {{5, "past_key"}, {6, "past_value"}})))
      return failure();
    of.key = key;
    of.value = value;
  } else {
    of.key = headsOf(key, hidden);
    of.value = headsOf(value, 2 * hidden);
    if (node.has(5) && node.integerOr("past_present_share_buffer", 0) == 0) {
      of.key = node.concat({node.input(5), of.key}, 2);
      of.value = node.concat({node.input(6), of.value}, 2);
    } else if (node.has(5)) {
      return node.unsupported("its attribute 'past_present_share_buffer' is 1, only 0 is supported");
    }
  }
  if (!of.query || !of.key || !of.value)
    return node.result({});
  for (Value x : {of.key, of.value})
    if (rankOf(x) != 4)
      return node.invalid("its key and its value must have 3 or 4 dimensions");
  of.past = shapeOf(of.key)[2] - 1;
  if (node.has(3) && failed(addMask(node, node.input(3), of)))
    return failure();
  return node.results({joinHeads(node, attend(node, of)), of.key, of.value});
}

/// Rows of a cache of angles, [batch, sequence, pairs].
Value anglesAt(NodeContext &node, Value cache, Value positions) {
  if (!cache || rankOf(cache) != 2)
    return {};
  return node.create<GatherOp>({cache, positions}, node.integer("axis", 0));
}

LogicalResult rotaryEmbedding(NodeContext &node) {
  if (failed(node.require(4)) ||
      failed(node.knows({"interleaved", "is_packed_batching", "num_heads", "rotary_embedding_dim", "scale"}, 1)) ||
      failed(wantsNone(node, {"is_packed_batching"})))
    return failure();
  if (node.numberOr("scale", 1) != 1)
    return node.unsupported("its attribute 'scale' is not 1");
  Value x = node.input(0), positions = node.input(1), cosine = node.input(2), sine = node.input(3);
  const bool isFlat = rankOf(x) == 3;
  if (rankOf(cosine) != 2 || rankOf(sine) != 2 || shapeOf(cosine) != shapeOf(sine))
    return node.invalid("its two caches must be matrices of the same shape");
  const int64_t rotated = node.integerOr("rotary_embedding_dim", 0), size = 2 * shapeOf(cosine)[1];
  if (rotated != 0 && rotated != size)
    return node.invalid("its caches have " + Twine(size / 2) + " columns, so rotary_embedding_dim must be 0 or " +
                        Twine(size) + ", and it is " + Twine(rotated));
  if (isFlat) {
    int64_t heads = node.integerOr("num_heads", 0);
    if (heads == 0 && size > 0)
      heads = shapeOf(x)[2] / size;
    x = splitHeads(node, x, heads);
  }
  if (!x || rankOf(x) != 4 || shapeOf(x)[3] < size || size < 2)
    return node.invalid("its input must have 3 or 4 dimensions, and each of its heads at least as many elements as its "
                        "caches rotate, " +
                        Twine(size));
  const int64_t length = shapeOf(x)[2], most = shapeOf(cosine)[0];
  const Type index = node.mlir().getI64Type();
  const bool isFirst = elementCount(positions.getType()) == 1;
  if (failed(node.limit(positions, AllowedIndices{0, most - (isFirst ? length : 1), std::nullopt})))
    return failure();
  if (isFirst) {
    const Value first = node.cast(node.reshape(positions, {1, 1}), index);
    positions = node.add(node.iota(index, length, 1, 2), first);
  }
  if (!positions || rankOf(positions) != 2 || shapeOf(positions)[1] != length)
    return node.invalid("its position_ids must have the shape batch x sequence, or a single element");
  const Value sines = anglesAt(node, sine, positions);
  Value turned = rotateHeads(node, x, anglesAt(node, cosine, positions), sines, node.integerOr("interleaved", 0) != 0);
  return node.result(isFlat ? joinHeads(node, turned) : turned);
}

/// What GroupQueryAttention is given, and what follows from it.
struct Grouped {
  Projected heads;
  int64_t batch = 0, length = 0; ///< Of the queries.
  int64_t total = 0;             ///< How many keys the longest member of the batch has, new ones included.
  Value ends;                    ///< How many keys each member has, [batch, 1].
  Value positions;               ///< Of the queries, [batch, length].

  /// The queries are the whole sequence, which may be padded behind its end.
  bool isPrompt() const { return total == length; }
};

FailureOr<Grouped> readGrouped(NodeContext &node) {
  const int64_t heads = node.integerOr("num_heads", 0), keyHeads = node.integerOr("kv_num_heads", 0);
  Value query = node.input(0);
  // More heads than elements would overflow their sum.
  if (rankOf(query) != 3)
    return node.invalid("its query must have 3 dimensions and has " + Twine(rankOf(query)));
  if (heads < 1 || heads > shapeOf(query)[2])
    return node.invalid("its num_heads is " + Twine(heads) + " and must be from 1 to the last extent of its query, " +
                        Twine(shapeOf(query)[2]));
  if (keyHeads < 1 || heads % keyHeads != 0)
    return node.invalid("its num_heads, " + Twine(heads) + ", must be a multiple of its kv_num_heads, " +
                        Twine(keyHeads));
  Grouped read;
  if (!node.has(1)) {
    const int64_t size = shapeOf(query)[2] / (heads + 2 * keyHeads);
    if (size * (heads + 2 * keyHeads) != shapeOf(query)[2])
      return node.invalid("the last dimension of its packed query, " + Twine(shapeOf(query)[2]) +
                          ", must be a multiple of num_heads plus twice kv_num_heads, " + Twine(heads + 2 * keyHeads));
    read.heads = cutProjection(node, query, {heads * size, keyHeads * size, keyHeads * size}, heads, keyHeads);
  } else {
    read.heads = {splitHeads(node, query, heads), splitHeads(node, node.input(1), keyHeads),
                  splitHeads(node, node.input(2), keyHeads)};
  }
  if (!read.heads.query || !read.heads.key || !read.heads.value)
    return failure();
  FailureOr<Dims> total = node.constantIntegers(6, "total_sequence_length");
  if (failed(total))
    return failure();
  read.batch = shapeOf(query)[0];
  read.length = shapeOf(query)[1];
  constexpr int64_t kMost = int64_t(1) << 31;
  if (total->size() != 1 || elementCount(node.input(5).getType()) != read.batch || total->front() < read.length ||
      total->front() > kMost)
    return node.invalid("its seqlens_k must have one element for each element of the batch, and its "
                        "total_sequence_length must be one number of at least the length of the query, " +
                        Twine(read.length));
  read.total = total->front();
  const int64_t pastRows = node.has(3) && rankOf(node.input(3)) == 4 ? shapeOf(node.input(3))[2] : 0;
  if (pastRows < read.total - read.length)
    return node.invalid("its past has " + Twine(pastRows) + " positions, and must have at least " +
                        Twine(read.total - read.length) + ", its total_sequence_length minus the length of its query");
  const int64_t least = read.isPrompt() ? 0 : read.length - 1;
  if (failed(node.limit(node.input(5), AllowedIndices{least, read.total - 1, std::nullopt})))
    return failure();
  const Type index = node.mlir().getI64Type();
  const Value one = node.splat(index, 1);
  read.ends = node.add(node.cast(node.reshape(node.input(5), {read.batch, 1}), index), one);
  Value first = node.splat(index, 0, {read.batch, 1});
  // Of a prompt, which may be padded, no key comes before the first query's.
  if (node.has(3) || !read.isPrompt()) {
    const Value before = node.sub(read.ends, node.splat(index, static_cast<double>(read.length)));
    first = node.binary(BinaryKind::max, before, first);
  }
  read.positions = node.add(node.iota(index, read.length, 1, 2), first);
  return read;
}

/// The term that hides keys from queries.
Value groupedMask(NodeContext &node, const Grouped &read, int64_t keys, Type type) {
  const Type index = node.mlir().getI64Type();
  const Value key = keyPositions(node, keys), own = node.reshape(read.positions, {read.batch, 1, read.length, 1});
  const Value zero = node.splat(type, 0), hidden = hiddenScore(node, type);
  Value isHidden;
  if (node.integerOr("causal", 1) != 0)
    isHidden = node.compare(ComparePredicate::gt, key, own);
  else
    isHidden = node.compare(ComparePredicate::ge, key, node.reshape(read.ends, {read.batch, 1, 1, 1}));
  if (const int64_t window = node.integerOr("local_window_size", -1); window > 0) {
    const Value before = node.sub(own, node.splat(index, static_cast<double>(window)));
    isHidden = node.binary(BinaryKind::logical_or, isHidden, node.compare(ComparePredicate::le, key, before));
  }
  return node.select(isHidden, hidden, zero);
}

/// The positions by which queries and keys are rotated, [batch or 1, length]: the given ones, of which a prompt has
/// the first one alone and counts on from there.
FailureOr<Value> rotaryPositions(NodeContext &node, const Grouped &read) {
  Value cache = node.input(7), given = node.input(9);
  if (!cache || !node.has(8) || rankOf(cache) != 2 || rankOf(node.input(8)) != 2)
    return node.invalid("its do_rotary is not 0, so its cos_cache and sin_cache must be matrices");
  const int64_t most = shapeOf(cache)[0];
  if (!given) {
    if (most < read.total)
      return node.invalid("its cos_cache has " + Twine(most) +
                          " positions, and must have at least as many as its total_sequence_length, " +
                          Twine(read.total));
    return read.positions;
  }
  if (rankOf(given) != 2 || elementCount(given.getType()) != Count(read.batch) * read.length)
    return node.invalid("its position_ids must have the shape batch x sequence of its query");
  if (failed(node.limit(given, AllowedIndices{0, most - 1, std::nullopt})))
    return failure();
  if (!read.isPrompt())
    return given;
  const Type index = node.mlir().getI64Type();
  const Value start = node.cast(node.slice(given, {0, 0}, {1, 1}, {1, 1}), index);
  return node.add(node.iota(index, read.length, 1, 2), start);
}

LogicalResult groupQueryAttention(NodeContext &node) {
  if (failed(node.require(1)) ||
      failed(node.knows({"causal", "do_rotary", "k_quant_type", "kv_num_heads", "local_window_size", "num_heads",
                         "qk_output", "rotary_interleaved", "scale", "sliding_window_cache", "smooth_softmax",
                         "softcap", "v_quant_type"},
                        3)) ||
      failed(wantsNone(node, {"qk_output", "sliding_window_cache"})) ||
      failed(hasNone(
          node,
          {{12, "k_scale"}, {13, "v_scale"}, {14, "q_norm_weight"}, {15, "k_norm_weight"}, {16, "query_seqlens"}})))
    return failure();
  for (StringRef name : {"k_quant_type", "v_quant_type"})
    if (node.stringOr(name, "NONE") != "NONE")
      return node.unsupported("its attribute '" + name + "' is '" + node.stringOr(name, "") +
                              "', only 'NONE' is supported");
  if (!node.has(5) || !node.has(6))
    return node.invalid("it has no input " + Twine(node.has(5) ? 6 : 5));
  FailureOr<Grouped> read = readGrouped(node);
  if (failed(read))
    return failure();
  Projected heads = read->heads;
  if (node.integerOr("do_rotary", 0) != 0) {
    FailureOr<Value> positions = rotaryPositions(node, *read);
    if (failed(positions))
      return failure();
    const Value cosine = anglesAt(node, node.input(7), *positions), sine = anglesAt(node, node.input(8), *positions);
    if (!cosine || !sine || shapeOf(cosine)[2] * 2 > shapeOf(heads.query)[3])
      return node.invalid("its cos_cache and sin_cache do not match the sizes of its heads");
    const bool isInterleaved = node.integerOr("rotary_interleaved", 0) != 0;
    heads.query = rotateHeads(node, heads.query, cosine, sine, isInterleaved);
    heads.key = rotateHeads(node, heads.key, cosine, sine, isInterleaved);
    if (!heads.query || !heads.key)
      return node.result({});
  }
  const Type type = elementTypeOf(node.input(0));
  const int64_t keyHeads = shapeOf(heads.value)[1];
  int64_t capacity = read->total;
  auto cached = [&](size_t index, Value fresh) -> Value {
    if (!fresh)
      return {};
    Value past = node.input(index);
    Dims shape(shapeOf(fresh));
    shape[2] = past ? shapeOf(past)[2] : 0;
    capacity = std::max(capacity, shape[2]);
    if (!past && capacity == read->length)
      return fresh;
    shape[2] = capacity - shape[2];
    Value room = node.splat(type, 0, shape);
    Value cache = !past ? room : shape[2] == 0 ? past : node.concat({past, room}, 2);
    return written(node, cache, fresh, node.reshape(read->positions, {read->batch, 1, read->length, 1}));
  };
  for (size_t index : {3, 4})
    if (Value past = node.input(index);
        past && (rankOf(past) != 4 || shapeOf(past)[0] != read->batch || shapeOf(past)[1] != keyHeads))
      return node.invalid("its past must have 4 dimensions, the first two being batch and kv_num_heads");
  Attended of{heads.query, cached(3, heads.key), cached(4, heads.value)};
  if (!of.key || !of.value)
    return node.result({});
  of.scale = node.numberOr("scale", 0);
  of.softcap = node.numberOr("softcap", 0);
  const Type wide = type.isF64() ? type : Float32Type::get(node.context());
  of.bias = groupedMask(node, *read, capacity, wide);
  if (Value bias = node.input(10)) {
    Dims shape(shapeOf(bias));
    if (shape.size() != 4 || shape[3] != read->total)
      return node.invalid(
          "its attention_bias must have 4 dimensions, the last of which is its total_sequence_length, " +
          Twine(read->total));
    // The mask hides the rest of the cache.
    shape[3] = capacity - read->total;
    if (shape[3] > 0)
      bias = node.concat({bias, node.splat(elementTypeOf(bias), 0, shape)}, 3);
    of.bias = node.add(node.cast(bias, wide), of.bias);
  }
  const int64_t count = shapeOf(heads.query)[1];
  if (Value sink = node.input(11))
    of.sink = node.reshape(sink, {1, count, 1, 1});
  else if (node.integerOr("smooth_softmax", 0) > 0)
    of.sink = node.splat(wide, 0, {1, count, 1, 1});
  return node.results({joinHeads(node, attend(node, of)), of.key, of.value});
}

constexpr OperatorEntry kOperators[] = {
    {"com.microsoft", "Attention", 1, attention},
    {"com.microsoft", "DecoderMaskedMultiHeadAttention", 1, decoderMaskedMultiHeadAttention},
    {"com.microsoft", "GroupQueryAttention", 1, groupQueryAttention},
    {"com.microsoft", "MultiHeadAttention", 1, multiHeadAttention},
    {"com.microsoft", "QAttention", 1, qAttention},
    {"com.microsoft", "RotaryEmbedding", 1, rotaryEmbedding},
};

} // namespace

ArrayRef<OperatorEntry> contribAttentionOperators() { return kOperators; }

} // namespace sluice::onnximport
