//===- BlockProducts.cpp - Products by dequantized blocks -----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// In the standard's form, a weight in blocks is a DequantizeLinear with a block_size, whose integers are a tensor with
// a type of their own. When the model is linked, the integers are packed in the order in which block_matmul reads them.
//
//===----------------------------------------------------------------------===//
#include "Linear.h"
#include "Quantize.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

bool isBlockFloat(Value value) {
  Type type = elementTypeOf(value);
  return type.isF32() || type.isF16() || type.isBF16();
}

bool isBlockLength(int64_t block) {
  constexpr int64_t kLeast = 16, kMost = 1 << 30;
  return block >= kLeast && block <= kMost && block % kLeast == 0;
}

/// Bytes that hold numbers below 2^bits along the last dimension, the first in the lowest bits, filled up with zeros to
/// `length` numbers.
static Value packBits(NodeContext &node, Value numbers, int64_t length, int64_t bits) {
  if (!numbers)
    return {};
  const Type byte = elementTypeOf(numbers);
  const int64_t each = 8 / bits, last = rankOf(numbers) - 1;
  Dims shape(shapeOf(numbers));
  if (shape.back() < length) {
    Dims rest(shape);
    rest.back() = length - shape.back();
    numbers = node.concat({numbers, node.splat(byte, 0, rest)}, last);
  }
  shape.back() = length / each;
  if (each == 1)
    return numbers;
  Dims split(shape);
  split.push_back(each);
  Value parted = node.reshape(numbers, split), bytes;
  for (int64_t i = 0; i < each; ++i) {
    Value part = node.reshape(node.sliceAxis(parted, last + 1, i, 1), shape);
    if (i > 0)
      part = node.binary(BinaryKind::shift_left, part, node.splat(byte, static_cast<double>(bits * i)));
    bytes = bytes ? node.binary(BinaryKind::bitwise_or, bytes, part) : part;
  }
  return bytes;
}

Value blockMatmul(NodeContext &node, Value lhs, Value rhs, bool transposeRhs) {
  if (!node.dequantized || !lhs || !rhs || rankOf(lhs) < 2 || rankOf(rhs) != 2 || !isBlockFloat(lhs))
    return {};
  auto found = node.dequantized->find(rhs);
  if (found == node.dequantized->end() || elementTypeOf(lhs) != elementTypeOf(rhs))
    return {};
  const auto [bytes, zeroPoint, scale, axis, block] = found->second;
  const auto type = dyn_cast<IntegerType>(elementTypeOf(bytes));
  if (!type || (type.getWidth() != 2 && type.getWidth() != 4 && type.getWidth() != 8) || !isBlockLength(block) ||
      axis != (transposeRhs ? 1 : 0) || rankOf(scale) != 2 || (zeroPoint && rankOf(zeroPoint) != 2) ||
      !isBlockFloat(scale))
    return {};
  for (Value value : {bytes, scale, zeroPoint})
    if (value && !isConstantExpression(value))
      return {};
  const int64_t bits = type.getWidth(), columns = shapeOf(bytes)[1 - axis], depth = shapeOf(bytes)[axis];
  const int64_t blocks = (depth + block - 1) / block, each = 8 / bits;
  if (depth != shapeOf(lhs).back() || depth == 0 || columns == 0 || shapeOf(scale)[axis] != blocks ||
      (zeroPoint && shapeOf(zeroPoint) != shapeOf(scale)))
    return {};
  const Type byte = IntegerType::get(node.context(), 8, IntegerType::Unsigned), wide = node.mlir().getI32Type();
  auto toRows = [&](Value value) { return transposeRhs ? value : node.transpose(value, {1, 0}); };
  // Signed numbers and their zero points become unsigned ones.
  const double shift = type.isUnsignedInteger() ? 0 : static_cast<double>(int64_t(1) << (bits - 1));
  auto unsignedRows = [&](Value value) {
    value = toRows(value);
    if (shift == 0)
      return node.cast(value, byte);
    const Value number = node.cast(value, wide), half = node.splat(wide, shift);
    return node.cast(node.add(number, half), byte);
  };
  Value packed = packBits(node, unsignedRows(bytes), blocks * block, bits);
  SmallVector<Value> operands{lhs, node.reshape(packed, {columns, blocks, block / each}), toRows(scale)};
  const int64_t zeroBytes = (blocks + each - 1) / each;
  if (zeroPoint)
    operands.push_back(packBits(node, unsignedRows(zeroPoint), zeroBytes * each, bits));
  else if (shift == 0)
    operands.push_back(node.splat(byte, 0, {columns, zeroBytes}));
  return node.create<BlockMatmulOp>(operands, {node.integer("bits", bits), node.integer("block", block)});
}

} // namespace sluice::onnximport
