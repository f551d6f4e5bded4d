//===- ConvertContribQuantize.cpp - ONNX Runtime's quantized products ----===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Products read constant weights of 2, 4 and 8 bits in the order in which they are in the model (block_matmul). Weights
// with another order of blocks (g_idx) are dequantized when the model is linked. Weights that are not constant are
// dequantized in each step.
//
//===----------------------------------------------------------------------===//
#include "Linear.h"
#include "Quantize.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value unpackBits(NodeContext &node, Value bytes, int64_t bits) {
  if (!bytes || bits == 8)
    return bytes;
  const int64_t each = 8 / bits;
  Dims shape(shapeOf(bytes)), split(shape);
  split.push_back(1);
  const Type type = elementTypeOf(bytes), index = node.mlir().getI64Type();
  const int64_t rank = static_cast<int64_t>(split.size());
  const Value width = node.splat(index, static_cast<double>(bits));
  const Value shift = node.cast(node.mul(node.iota(index, each, rank - 1, rank), width), type);
  Value shifted = node.binary(BinaryKind::shift_right, node.reshape(bytes, split), shift);
  const Value mask = node.splat(type, static_cast<double>((1 << bits) - 1));
  shape.back() *= each;
  return node.reshape(node.binary(BinaryKind::bitwise_and, shifted, mask), shape);
}

Value scaledProduct(NodeContext &node, ByteOperand lhs, ByteOperand rhs, Value lhsScale, Value rhsScale) {
  Value sums = integerMatmul(node, lhs, rhs, Float32Type::get(node.context()));
  if (!sums)
    return {};
  if (elementCount(rhsScale.getType()) == 1)
    rhsScale = node.reshape(rhsScale, {});
  const Value scale = node.mul(node.reshape(lhsScale, {}), rhsScale);
  return node.mul(node.cast(sums, elementTypeOf(lhsScale)), scale);
}

namespace {

bool isByteCount(int64_t bits) { return bits == 2 || bits == 4 || bits == 8; }

/// Whether a block has a size that the operators allow.
bool isBlock(int64_t size) { return size >= 16 && size <= (int64_t(1) << 30) && (size & (size - 1)) == 0; }

LogicalResult dynamicQuantizeMatmul(NodeContext &node) {
  if (failed(node.require(3)) || failed(node.knows({}, 1)))
    return failure();
  const DynamicBytes lhs = quantizeDynamically(node, node.input(0));
  if (!lhs.bytes || !lhs.scale)
    return node.result({});
  Value product =
      scaledProduct(node, {lhs.bytes, lhs.zeroPoint}, {node.input(1), node.input(3)}, lhs.scale, node.input(2));
  return node.result(node.has(4) ? node.add(product, node.input(4)) : product);
}

LogicalResult matmulIntegerToFloat(NodeContext &node) {
  if (failed(node.require(4)) || failed(node.knows({}, 1)))
    return failure();
  if (elementCount(node.input(2).getType()) != 1)
    return node.unsupported("its input 'a_scale' has several numbers, only one is supported");
  Value product =
      scaledProduct(node, {node.input(0), node.input(4)}, {node.input(1), node.input(5)}, node.input(2), node.input(3));
  return node.result(node.has(6) ? node.add(product, node.input(6)) : product);
}

/// The zero points of `rows` x `blocks` blocks, packed or not, of type f32; half of the range where there are none.
FailureOr<Value> blockZeroPoints(NodeContext &node, Value given, int64_t rows, int64_t blocks, int64_t bits) {
  const Type wide = Float32Type::get(node.context());
  if (!given)
    return node.splat(wide, static_cast<double>(int64_t(1) << (bits - 1)));
  if (isa<FloatType>(elementTypeOf(given))) {
    if (elementCount(given.getType()) != rows * blocks)
      return node.invalid("its zero_points must have one number for each block");
    return node.cast(node.reshape(given, {rows, blocks}), wide);
  }
  const int64_t bytes = (blocks * bits + 7) / 8;
  if (!elementTypeOf(given).isUnsignedInteger(8) || elementCount(given.getType()) != rows * bytes)
    return node.invalid("its zero_points must be bytes with one packed number for each block");
  Value all = unpackBits(node, node.reshape(given, {rows, bytes}), bits);
  return node.cast(node.sliceAxis(all, 1, 0, blocks), wide);
}

/// The operands of a MatMulNBits, which have been checked.
struct BlockWeight {
  int64_t rows, depth, bits, block;
  Value bytes, scales, zeros, group;

  int64_t blocks() const { return (depth + block - 1) / block; }
  int64_t rowBytes() const { return blocks() * (block / 8 * bits); }
};

FailureOr<BlockWeight> blockWeight(NodeContext &node) {
  BlockWeight weight{node.integerOr("N", 0),
                     node.integerOr("K", 0),
                     node.integerOr("bits", 4),
                     node.integerOr("block_size", 0),
                     node.input(1),
                     node.input(2),
                     node.input(3),
                     node.input(4)};
  if (node.integerOr("weight_prepacked", 0) != 0)
    return node.unsupported("its attribute 'weight_prepacked' is " + Twine(node.integerOr("weight_prepacked", 0)) +
                            ", only 0 is supported");
  if (!isByteCount(weight.bits))
    return node.unsupported("its attribute 'bits' is " + Twine(weight.bits) + ", 2, 4 and 8 are supported");
  constexpr int64_t kMost = int64_t(1) << 31;
  if (!isBlock(weight.block) || weight.rows < 1 || weight.depth < 1 || weight.rows > kMost || weight.depth > kMost)
    return node.invalid("its K, N or block_size is out of range");
  Value x = node.input(0);
  if (!elementTypeOf(weight.bytes).isUnsignedInteger(8) ||
      elementCount(weight.bytes.getType()) != Count(weight.rows) * weight.rowBytes() ||
      elementCount(weight.scales.getType()) != Count(weight.rows) * weight.blocks() || rankOf(x) < 1 ||
      shapeOf(x).back() != weight.depth)
    return node.invalid("the shapes of its operands do not match K " + Twine(weight.depth) + ", N " +
                        Twine(weight.rows) + " and block_size " + Twine(weight.block));
  if (weight.group && shapeOf(weight.group) != ArrayRef<int64_t>{weight.depth})
    return node.invalid("its g_idx must be a list of K = " + Twine(weight.depth) + " numbers");
  return weight;
}

/// The weight as [N, K] numbers of f32.
FailureOr<Value> dequantizedWeight(NodeContext &node, const BlockWeight &weight) {
  const auto [rows, depth, bits, block, bytes, scales, given, group] = weight;
  const int64_t blocks = weight.blocks();
  FailureOr<Value> zeros = blockZeroPoints(node, given, rows, blocks, bits);
  if (failed(zeros))
    return failure();
  const Type wide = Float32Type::get(node.context());
  Value numbers = node.cast(unpackBits(node, node.reshape(bytes, {rows, weight.rowBytes()}), bits), wide);
  Value scale = node.cast(node.reshape(scales, {rows, blocks}), wide), zero = *zeros;
  if (group) {
    // Each position of the depth has a block of its own choice.
    if (failed(node.limit(group, AllowedIndices{0, blocks - 1, std::nullopt})))
      return failure();
    scale = node.create<GatherOp>({scale, group}, node.integer("axis", 1));
    if (zero && rankOf(zero) == 2)
      zero = node.create<GatherOp>({zero, group}, node.integer("axis", 1));
    numbers = node.sliceAxis(numbers, 1, 0, depth);
  } else {
    numbers = node.reshape(numbers, {rows, blocks, block});
    scale = node.reshape(scale, {rows, blocks, 1});
    if (zero && rankOf(zero) == 2)
      zero = node.reshape(zero, {rows, blocks, 1});
  }
  Value dequantized = node.mul(node.sub(numbers, zero), scale);
  if (!group)
    dequantized = node.sliceAxis(node.reshape(dequantized, {rows, blocks * block}), 1, 0, depth);
  return dequantized;
}

/// Whether the product reads the weight as it lies in the model: a constant that is packed when the model is linked. A
/// model that is trained has the product of matrices, which has a gradient.
bool staysPacked(NodeContext &node, const BlockWeight &weight) {
  auto isConstant = [](Value value) { return !value || isConstantExpression(value); };
  return node.dequantized && !weight.group && isBlockFloat(node.input(0)) && isBlockFloat(weight.scales) &&
         (!weight.zeros || elementTypeOf(weight.zeros).isUnsignedInteger(8) || isBlockFloat(weight.zeros)) &&
         isConstant(weight.bytes) && isConstant(weight.scales) && isConstant(weight.zeros);
}

/// Whether the model allows rounding the input to bytes and ONNX Runtime has a kernel that does it.
bool roundsInput(NodeContext &node, const BlockWeight &weight) {
  constexpr int64_t kBytes = 4, kLeastOfTwoBits = 32, kMostOfTwoBits = 128;
  if (node.integerOr("accuracy_level", 0) != kBytes)
    return false;
  if (weight.zeros && isa<FloatType>(elementTypeOf(weight.zeros)))
    return false;
  return weight.bits != 2 || (weight.block >= kLeastOfTwoBits && weight.block <= kMostOfTwoBits);
}

/// The product of [..., K], rounded or not, by a weight that stays packed.
FailureOr<Value> packedProduct(NodeContext &node, Value x, const BlockWeight &weight, bool isRounded) {
  SmallVector<Value> operands{
      x, node.reshape(weight.bytes, {weight.rows, weight.blocks(), weight.block / 8 * weight.bits}),
      node.reshape(weight.scales, {weight.rows, weight.blocks()})};
  if (rankOf(x) < 2)
    operands[0] = node.reshape(x, {1, weight.depth});
  if (isRounded)
    operands[0] = node.create<RoundBlocksOp>(operands[0], node.integer("block", weight.block));
  if (Value zeros = weight.zeros) {
    const bool isFloat = isa<FloatType>(elementTypeOf(zeros));
    const int64_t row = isFloat ? weight.blocks() : (weight.blocks() * weight.bits + 7) / 8;
    if (elementCount(zeros.getType()) != Count(weight.rows) * row)
      return node.invalid("its zero_points must have one number for each block");
    operands.push_back(node.reshape(zeros, {weight.rows, row}));
  }
  Value product =
      node.create<BlockMatmulOp>(operands, {node.integer("bits", weight.bits), node.integer("block", weight.block)});
  return rankOf(x) < 2 ? node.reshape(product, {weight.rows}) : product;
}

LogicalResult matmulNBits(NodeContext &node) {
  if (failed(node.require(3)) ||
      failed(node.knows({"K", "N", "accuracy_level", "bits", "block_size", "weight_prepacked"}, 1)))
    return failure();
  FailureOr<BlockWeight> weight = blockWeight(node);
  if (failed(weight))
    return failure();
  const Type type = elementTypeOf(node.input(0)), wide = Float32Type::get(node.context());
  Value x = node.input(0), product;
  // Where rows are rounded, or the weight is dequantized, ONNX Runtime computes in f32 and rounds the result alone.
  if (staysPacked(node, *weight)) {
    const bool isRounded = roundsInput(node, *weight);
    FailureOr<Value> packed = packedProduct(node, isRounded ? node.cast(x, wide) : x, *weight, isRounded);
    if (failed(packed))
      return failure();
    product = *packed;
    if (!isRounded)
      return node.result(node.has(5) ? node.add(product, node.input(5)) : product);
  } else {
    FailureOr<Value> dequantized = dequantizedWeight(node, *weight);
    if (failed(dequantized))
      return failure();
    Dims shape(shapeOf(x));
    const int64_t length = elementCount(x.getType()) / weight->depth;
    Value rows = node.reshape(node.cast(x, wide), {length, weight->depth});
    product = node.matmul(rows, *dequantized, false, /*transposeRhs=*/true);
    shape.back() = weight->rows;
    product = node.reshape(product, shape);
  }
  if (node.has(5))
    product = node.add(product, node.cast(node.input(5), wide));
  return node.result(node.cast(product, type));
}

LogicalResult gatherBlockQuantized(NodeContext &node) {
  if (failed(node.require(3)) || failed(node.knows({"bits", "block_size", "gather_axis", "quantize_axis"}, 1)))
    return failure();
  Value data = node.input(0), indices = node.input(1), scales = node.input(2), zeros = node.input(3);
  const int64_t rank = rankOf(data), bits = node.integerOr("bits", 4), block = node.integerOr("block_size", 128);
  FailureOr<int64_t> axis = node.axis(node.integerOr("gather_axis", 0), rank);
  FailureOr<int64_t> along = node.axis(node.integerOr("quantize_axis", 1), rank);
  if (failed(axis) || failed(along))
    return failure();
  const bool isPacked = elementTypeOf(data).isUnsignedInteger(8);
  if (!isa<IntegerType>(elementTypeOf(data)))
    return node.unsupported("its data must be integers");
  if (isPacked && !isByteCount(bits))
    return node.unsupported("its attribute 'bits' is " + Twine(bits) + ", 2, 4 and 8 are supported");
  if (*axis == *along)
    return node.unsupported("its attributes 'gather_axis' and 'quantize_axis' name the same axis");
  if (!isBlock(block) || rankOf(scales) != rank || (zeros && rankOf(zeros) != rank) || (isPacked && *axis != 0))
    return node.invalid("its block_size is out of range, or the ranks of its data, scales and zero points differ");
  const int64_t extent = shapeOf(data)[*axis];
  // Rows are chosen while they are packed. An index out of range has zeros.
  auto chosen = [&](Value table) -> Value {
    return table ? node.create<GatherOp>({table, indices}, node.integer("axis", *axis)) : Value();
  };
  const Type wide = Float32Type::get(node.context()), index = elementTypeOf(indices);
  const int64_t shift = rankOf(indices) - 1, place = *along > *axis ? *along + shift : *along;
  Value numbers = chosen(data), scale = chosen(scales), zero = chosen(zeros);
  if (isPacked)
    numbers = unpackBits(node, numbers, bits);
  if (!numbers || !scale)
    return node.result({});
  if (isPacked && zero)
    zero = unpackBits(node, zero, bits);
  if (zero) {
    // The last byte of a row may hold less than it could.
    if (isPacked && shapeOf(zero).back() > shapeOf(scale).back())
      zero = node.sliceAxis(zero, rankOf(zero) - 1, 0, shapeOf(scale).back());
    zero = node.cast(perElement(node, zero, shapeOf(numbers), place, block), wide);
  } else {
    zero = node.splat(wide, isPacked ? static_cast<double>(int64_t(1) << (bits - 1)) : 0);
  }
  const Value factor = node.cast(perElement(node, scale, shapeOf(numbers), place, block), wide);
  Value y = node.mul(node.sub(node.cast(numbers, wide), zero), factor);
  if (!y)
    return node.result({});
  const Value isLow = node.compare(ComparePredicate::ge, indices, node.splat(index, static_cast<double>(-extent)));
  Value isInside =
      node.binary(BinaryKind::logical_and, isLow,
                  node.compare(ComparePredicate::lt, indices, node.splat(index, static_cast<double>(extent))));
  Dims spread(rankOf(y), 1);
  for (int64_t d = 0; d < rankOf(indices); ++d)
    spread[*axis + d] = shapeOf(indices)[d];
  const Value nothing = node.splat(wide, 0);
  y = node.select(node.reshape(isInside, spread), y, nothing);
  return node.result(node.cast(y, elementTypeOf(scales)));
}

constexpr OperatorEntry kOperators[] = {
    {"com.microsoft", "DynamicQuantizeMatMul", 1, dynamicQuantizeMatmul},
    {"com.microsoft", "GatherBlockQuantized", 1, gatherBlockQuantized},
    {"com.microsoft", "MatMulIntegerToFloat", 1, matmulIntegerToFloat},
    {"com.microsoft", "MatMulNBits", 1, matmulNBits},
};

} // namespace

ArrayRef<OperatorEntry> contribQuantizeOperators() { return kOperators; }

} // namespace sluice::onnximport
