//===- ConvertQuantize.cpp - Quantized operators --------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Products of bytes become integer_matmul and integer_conv. The operations that follow a product become element-wise
// operators, which fuse behind it. All other operators become arithmetic on f32, where integers of 8 bits and their
// products are exact.
//
//===----------------------------------------------------------------------===//
#include "Linear.h"
#include "Quantize.h"
#include "Windows.h"

#include "dialects/Dataflow/IR/ElementwiseKinds.h"
#include "dialects/Dataflow/IR/Extents.h"
#include "sluice/Onnx/TensorData.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value perElement(NodeContext &node, Value parameter, ArrayRef<int64_t> shape, int64_t axis, int64_t block) {
  if (!parameter)
    return parameter;
  int64_t rank = static_cast<int64_t>(shape.size());
  if (block == 0 || rankOf(parameter) != rank)
    return alongAxis(node, parameter, rank, axis);
  Dims split(shapeOf(parameter)), repeated, whole(split), starts(rank, 0), steps(rank, 1);
  int64_t blocks = split[axis];
  if (blocks < 1 || block > (int64_t(1) << 40) || blocks * static_cast<double>(block) > 1e15 ||
      blocks * block < shape[axis]) {
    (void)node.invalid("its scales and its block_size must cover the extent of its input along the axis");
    return {};
  }
  split.insert(split.begin() + axis + 1, 1);
  repeated = split;
  repeated[axis + 1] = block;
  whole[axis] = blocks * block;
  Value all = node.reshape(node.expand(node.reshape(parameter, split), repeated), whole);
  if (whole[axis] == shape[axis])
    return all;
  whole[axis] = shape[axis];
  return node.slice(all, starts, steps, whole);
}

namespace {

struct Quantization {
  Value scale, zeroPoint;
};

Value dequantize(NodeContext &node, Value x, Quantization by, int64_t axis, int64_t block = 0) {
  if (!x || !by.scale)
    return {};
  Type wide = Float32Type::get(node.context());
  Dims shape(shapeOf(x));
  Value value = node.cast(x, wide);
  if (by.zeroPoint)
    value = node.sub(value, node.cast(perElement(node, by.zeroPoint, shape, axis, block), wide));
  Value scale = node.cast(perElement(node, by.scale, shape, axis, block), wide);
  return node.cast(node.mul(value, scale), elementTypeOf(by.scale));
}

/// round(x / scale) + zero point, saturated. `x` is f32. A scale of 1 and a zero point of 0 leave whole numbers alone.
Value quantize(NodeContext &node, Value x, Quantization by, Type type, int64_t axis, int64_t block = 0) {
  if (!x || !by.scale)
    return {};
  Type wide = Float32Type::get(node.context());
  Dims shape(shapeOf(x));
  Value value = node.cast(x, wide);
  if (getSplat(by.scale) != 1.0)
    value = node.div(value, node.cast(perElement(node, by.scale, shape, axis, block), wide));
  if (value && !isIntegral(value))
    value = node.unary(UnaryKind::round, value);
  if (by.zeroPoint && getSplat(by.zeroPoint) != 0.0)
    value = node.add(value, node.cast(perElement(node, by.zeroPoint, shape, axis, block), wide));
  return node.cast(value, type, /*saturate=*/true);
}

/// A convolution of integers less their zero points: bytes in i32; others, and where a zero point is not one for all of
/// x or one a filter, in f32, exact up to 2^24.
Value convolutionOfBytes(NodeContext &node, ByteOperand x, ByteOperand weight) {
  auto count = [](Value zero) { return zero ? elementCount(zero.getType()).value() : int64_t(1); };
  if (isBytes(x.bytes) && isBytes(weight.bytes) && count(x.zeroPoint) == 1 &&
      (count(weight.zeroPoint) == 1 || rankOf(weight.zeroPoint) == 1))
    return integerConvolution(node, x.bytes, x.zeroPoint, weight.bytes, weight.zeroPoint);
  Type wide = Float32Type::get(node.context());
  const Value centeredX = centered(node, x.bytes, x.zeroPoint, wide, -1);
  const Value centeredWeight = centered(node, weight.bytes, weight.zeroPoint, wide, 0);
  return convolution(node, centeredX, centeredWeight);
}

/// Sums of products of integers times `scale`, rounded to integers of `type`: what the standard's functions compute.
Value requantize(NodeContext &node, Value sums, Value scale, Value zeroPoint, Type type, bool isRectified = false) {
  Value scaled = node.mul(node.cast(sums, Float32Type::get(node.context())), scale);
  if (isRectified)
    scaled = node.unary(UnaryKind::relu, scaled);
  return quantize(node, scaled, {node.splat(Float32Type::get(node.context()), 1), zeroPoint}, type, -1);
}

/// Sums of products of bytes in i32, times `scale`; then perhaps a relu.
struct ScaledSums {
  Value sums, scale;
  bool isRectified = false;
};
/// What a value of f32 is made of; null sums where it is not made so.
ScaledSums scaledSums(Value value) {
  ScaledSums result;
  if (auto relu = value.getDefiningOp<UnaryOp>(); relu && relu.getKind() == UnaryKind::relu) {
    result.isRectified = true;
    value = relu.getInput();
  }
  auto product = value.getDefiningOp<BinaryOp>();
  if (!product || product.getKind() != BinaryKind::mul || !elementTypeOf(value).isF32())
    return {};
  auto cast = product.getLhs().getDefiningOp<CastOp>();
  if (!cast || !elementTypeOf(cast.getInput()).isInteger(32) || shapeOf(cast.getInput()) != shapeOf(value))
    return {};
  // Less the bias.
  Value sums = cast.getInput();
  if (auto biased = sums.getDefiningOp<BinaryOp>(); biased && biased.getKind() == BinaryKind::add)
    sums = biased.getLhs();
  if (!sums.getDefiningOp<IntegerConvOp>() && !sums.getDefiningOp<IntegerMatmulOp>())
    return {};
  result.sums = cast.getInput();
  result.scale = product.getRhs();
  return result;
}

/// The axis and block size of Quantize- and DequantizeLinear.
struct Granularity {
  int64_t axis = -1, block = 0;
};
FailureOr<Granularity> granularity(NodeContext &node) {
  Value x = node.input(0), scale = node.input(1);
  Granularity result;
  result.block = node.integerOr("block_size", 0);
  if (result.block < 0)
    return node.invalid("its block_size is negative");
  if (rankOf(scale) == 0 || elementCount(scale.getType()) == 1)
    return result;
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 1), rankOf(x));
  if (failed(axis))
    return failure();
  result.axis = *axis;
  if (rankOf(scale) == 1 && result.block == 0 && shapeOf(scale)[0] != shapeOf(x)[*axis])
    return node.invalid("it has " + Twine(shapeOf(scale)[0]) +
                        " scales, and the extent of its input along the axis is " + Twine(shapeOf(x)[*axis]) +
                        ", both must be equal");
  return result;
}

LogicalResult dequantizeLinear(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  FailureOr<Granularity> grain = granularity(node);
  if (failed(grain))
    return failure();
  Value y = dequantize(node, node.input(0), {node.input(1), node.input(2)}, grain->axis, grain->block);
  if (int64_t type = node.integerOr("output_dtype", 0)) {
    Type wanted = elementTypeFromOnnx(node.context(), type);
    if (!wanted)
      return node.unsupported("its output_dtype is element type " + Twine(type) + " of ONNX, which is not supported");
    y = node.cast(y, wanted);
  }
  if (y && node.dequantized && elementTypeOf(y) == elementTypeOf(node.input(1)))
    node.dequantized->insert({y, {node.input(0), node.input(2), node.input(1), grain->axis, grain->block}});
  return node.result(y);
}

/// Whether both are the same constant of one element.
bool isSameConstant(Value a, Value c) {
  const ElementsAttr left = getConstant(a), right = getConstant(c);
  return left && right && left.getNumElements() == 1 && right.getNumElements() == 1 &&
         left.getElementType() == right.getElementType() &&
         *left.value_begin<Attribute>() == *right.value_begin<Attribute>();
}

/// Whether quantizing `from`'s values by `by` returns its bytes: the same numbers, and products that stay finite.
bool undoes(const Quantization &by, Type type, const Dequantized &from) {
  constexpr double kMostScale = 1e30;
  const std::optional<double> scale = getSplat(by.scale);
  if (elementTypeOf(from.bytes) != type || !isBytes(from.bytes) || from.block != 0 ||
      !elementTypeOf(by.scale).isF32() || !scale || *scale <= 0 || *scale > kMostScale ||
      !isSameConstant(by.scale, from.scale))
    return false;
  return by.zeroPoint && from.zeroPoint
             ? isSameConstant(by.zeroPoint, from.zeroPoint)
             : (!by.zeroPoint || getSplat(by.zeroPoint) == 0.0) && (!from.zeroPoint || getSplat(from.zeroPoint) == 0.0);
}

/// Whether the result has elements of the operands alone, in an order that depends on no value but by size.
bool movesElements(Operation *op) {
  if (auto pool = dyn_cast<PoolOp>(op))
    return pool.getKind() == PoolKind::max;
  return isa<ReshapeOp, TransposeOp, SliceOp, ConcatOp>(op);
}

/// The bytes that quantizing `x` by `by` returns, where they need no arithmetic: `x` was dequantized by the same
/// numbers and has only been moved since. Null otherwise.
Value movedBytes(NodeContext &node, Value x, const Quantization &by, Type type, int most = 8) {
  if (auto found = node.dequantized->find(x); found != node.dequantized->end())
    return undoes(by, type, found->second) ? found->second.bytes : Value();
  Operation *op = x.getDefiningOp();
  if (!op || most == 0 || !movesElements(op))
    return {};
  IRMapping moved;
  for (Value operand : op->getOperands()) {
    const Value bytes = movedBytes(node, operand, by, type, most - 1);
    if (!bytes)
      return {};
    moved.map(operand, bytes);
  }
  Operation *copy = node.mlir().clone(*op, moved);
  copy->getResult(0).setType(withElement(cast<RankedTensorType>(x.getType()), type));
  return copy->getResult(0);
}

/// A value computed of bytes one by one, and of constants: by which operators, in their order, and of which bytes.
struct ByteFunction {
  Value bytes;
  SetVector<Operation *> operators;
  bool isCostly = false; ///< Has a function that costs more than a table, where arithmetic by vectors costs less.
};

bool isScalarConstant(Value value) { return elementCount(value.getType()) == 1 && isConstantExpression(value); }

/// Adds what `value` is made of; false where that is more than one tensor of bytes, or more than a few operators.
bool addOperators(Value value, ByteFunction &function) {
  constexpr size_t kMostOperators = 64;
  if (isScalarConstant(value))
    return true;
  Operation *op = value.getDefiningOp();
  auto look = dyn_cast_if_present<GatherOp>(op);
  const bool isLookedUp = look && isBytes(look.getIndices());
  if (isBytes(value) && !isLookedUp) {
    const bool isFirst = !function.bytes;
    if (isFirst)
      function.bytes = value;
    return function.bytes == value;
  }
  if (!isLookedUp && !isa_and_present<UnaryOp, BinaryOp, CastOp>(op))
    return false;
  if (function.operators.contains(op))
    return true;
  // The table is what an earlier function of the same bytes is made of.
  for (Value operand : isLookedUp ? op->getOperands().drop_front() : op->getOperands())
    if (!addOperators(operand, function) || (!isScalarConstant(operand) && shapeOf(operand) != shapeOf(value)))
      return false;
  constexpr int kCostlyFlops = 16;
  auto unary = dyn_cast<UnaryOp>(op);
  function.isCostly |= unary && rowOf(unary.getKind()).flops >= kCostlyFlops;
  return function.operators.insert(op) && function.operators.size() <= kMostOperators;
}

/// Where bytes are a function of single bytes that a table of 256 answers sooner: the table's entries. Else `value`.
Value lookUp(NodeContext &node, Value value) {
  if (!node.dequantized || !value || !isBytes(value))
    return value;
  ByteFunction function;
  auto last = value.getDefiningOp<CastOp>();
  if (!last || !addOperators(last.getInput(), function) || !function.bytes || !function.isCostly)
    return value;
  function.operators.insert(last);
  constexpr int64_t kBytes = 256;
  SmallVector<APInt> all;
  for (int64_t byte = 0; byte < kBytes; ++byte)
    all.emplace_back(8, byte);
  auto everyByte = RankedTensorType::get({kBytes}, elementTypeOf(function.bytes));
  IRMapping ofTable;
  ofTable.map(function.bytes, ConstantOp::create(node.mlir(), node.loc(), DenseElementsAttr::get(everyByte, all)));
  for (Operation *op : function.operators) {
    for (Value operand : op->getOperands())
      if (!ofTable.contains(operand))
        ofTable.map(operand, isScalarConstant(operand) ? node.reshape(operand, {}) : operand);
    Operation *copy = node.mlir().clone(*op, ofTable);
    copy->getResult(0).setType(RankedTensorType::get({kBytes}, elementTypeOf(op->getResult(0))));
  }
  return node.create<GatherOp>({ofTable.lookup(value), function.bytes}, node.integer("axis", 0));
}

LogicalResult quantizeLinear(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  FailureOr<Granularity> grain = granularity(node);
  if (failed(grain))
    return failure();
  int64_t number = node.integerOr("output_dtype", 0);
  Type type = node.has(2) ? elementTypeOf(node.input(2))
                          : elementTypeFromOnnx(node.context(), number ? number : onnxtype::UInt8);
  if (!type || (!isa<IntegerType>(type) && !isSmallFloat(type)))
    return node.unsupported(
        "it quantizes to a type other than integers and floats of at most 8 bits, which is not supported");
  if (isSmallFloat(type)) {
    // Floats round by themselves; their zero points are zero.
    Type wide = Float32Type::get(node.context());
    Value scale = node.cast(perElement(node, node.input(1), shapeOf(node.input(0)), grain->axis, grain->block), wide);
    Value scaled = node.div(node.cast(node.input(0), wide), scale);
    return node.result(node.cast(scaled, type, /*saturate=*/node.integerOr("saturate", 1) != 0));
  }
  if (node.dequantized)
    if (Value bytes = movedBytes(node, node.input(0), {node.input(1), node.input(2)}, type))
      return node.result(bytes);
  // One factor takes a product of bytes to bytes, as in the quantized operators: ONNX Runtime joins such groups alike.
  if (ScaledSums from = scaledSums(node.input(0));
      from.sums && elementCount(node.input(1).getType()) == 1 && elementTypeOf(node.input(1)).isF32()) {
    Value scale = node.div(from.scale, node.reshape(node.input(1), {}));
    Value zeroPoint = node.has(2) ? node.reshape(node.input(2), {}) : Value();
    return node.result(requantize(node, from.sums, scale, zeroPoint, type, from.isRectified));
  }
  return node.result(
      lookUp(node, quantize(node, node.input(0), {node.input(1), node.input(2)}, type, grain->axis, grain->block)));
}

LogicalResult dynamicQuantizeLinear(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  const DynamicBytes made = quantizeDynamically(node, node.input(0));
  return node.results({made.bytes, made.scale, made.zeroPoint});
}

/// Inputs: x, its scale, its zero point, w, its scale, its zero point, y's scale, y's zero point, bias. The product of
/// the integers is scaled once.
LogicalResult qLinearConv(NodeContext &node) {
  if (failed(node.require(8)))
    return failure();
  Type wide = Float32Type::get(node.context());
  Value sum = convolutionOfBytes(node, {node.input(0), node.input(2)}, {node.input(3), node.input(5)});
  if (node.has(8))
    sum = addChannelBias(node, sum, node.cast(node.input(8), sum ? elementTypeOf(sum) : wide));
  if (!sum)
    return node.result({});
  const Value weightScale = node.cast(alongAxis(node, node.input(4), rankOf(sum), 1), wide);
  const Value inputScale = node.cast(alongAxis(node, node.input(1), rankOf(sum), -1), wide);
  const Value outputScale = node.cast(alongAxis(node, node.input(6), rankOf(sum), -1), wide);
  Value scale = node.div(node.mul(inputScale, weightScale), outputScale);
  return node.result(requantize(node, sum, scale, node.input(7), elementTypeOf(node.input(7))));
}

LogicalResult convInteger(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value sum = convolutionOfBytes(node, {node.input(0), node.input(2)}, {node.input(1), node.input(3)});
  return node.result(node.cast(sum, node.mlir().getI32Type()));
}

LogicalResult qLinearMatmul(NodeContext &node) {
  if (failed(node.require(8)))
    return failure();
  Type wide = Float32Type::get(node.context());
  Value product = integerMatmul(node, {node.input(0), node.input(2)}, {node.input(3), node.input(5)}, wide);
  if (!product)
    return node.result({});
  int64_t rank = rankOf(product);
  const Value rhsScale = node.cast(alongAxis(node, node.input(4), rank, rank - 1), wide);
  const Value lhsScale = node.cast(alongAxis(node, node.input(1), rank, rank - 2), wide);
  const Value outputScale = node.cast(alongAxis(node, node.input(6), rank, -1), wide);
  Value scale = node.div(node.mul(lhsScale, rhsScale), outputScale);
  return node.result(requantize(node, product, scale, node.input(7), elementTypeOf(node.input(7))));
}

/// ONNX Runtime's quantized sums and products: a, its scale and zero point, b, likewise, the result's scale and zero
/// point.
template <BinaryKind kind>
LogicalResult qLinearBinary(NodeContext &node) {
  if (failed(node.require(2)) || !node.has(3) || !node.has(4) || !node.has(6))
    return node.invalid("an operand is missing");
  Value lhs = dequantize(node, node.input(0), {node.input(1), node.input(2)}, -1);
  Value rhs = dequantize(node, node.input(3), {node.input(4), node.input(5)}, -1);
  return node.result(
      quantize(node, node.binary(kind, lhs, rhs), {node.input(6), node.input(7)}, elementTypeOf(node.input(0)), -1));
}

LogicalResult qLinearGlobalAveragePool(NodeContext &node) {
  if (failed(node.require(5)) || failed(node.knows({"channels_last"}, 1)))
    return failure();
  const int64_t rank = rankOf(node.input(0)), isLast = node.integerOr("channels_last", 0) != 0;
  Dims axes;
  for (int64_t axis = isLast ? 1 : 2; axis < rank - isLast; ++axis)
    axes.push_back(axis);
  Value x = dequantize(node, node.input(0), {node.input(1), node.input(2)}, -1);
  return node.result(quantize(node, node.reduce(ReduceKind::mean, x, axes, true), {node.input(3), node.input(4)},
                              elementTypeOf(node.input(0)), -1));
}

/// ONNX Runtime's quantized functions of one tensor: x, its scale and zero point, the result's scale and zero point.
LogicalResult qLinearUnary(NodeContext &node, UnaryKind kind, double alpha = 0) {
  if (failed(node.require(2)) || !node.has(3))
    return node.invalid("an operand is missing");
  Value x = dequantize(node, node.input(0), {node.input(1), node.input(2)}, -1);
  return node.result(lookUp(node, quantize(node, node.unary(kind, x, alpha), {node.input(3), node.input(4)},
                                           elementTypeOf(node.input(0)), -1)));
}
LogicalResult qLinearSigmoid(NodeContext &node) { return qLinearUnary(node, UnaryKind::sigmoid); }
LogicalResult qLinearLeakyRelu(NodeContext &node) {
  return qLinearUnary(node, UnaryKind::leaky_relu, node.numberOr("alpha", 0.01));
}

/// The result's scale and zero point, then tensor, scale and zero point of each part.
LogicalResult qLinearConcat(NodeContext &node) {
  if (node.inputCount() < 5 || node.inputCount() % 3 != 2 || failed(node.require(node.inputCount())))
    return node.invalid("its operands must be an output scale, an output zero point, and then a tensor, a scale and a "
                        "zero point for each input");
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(node.input(2)));
  if (failed(axis))
    return failure();
  SmallVector<Value> parts;
  for (size_t i = 2; i < node.inputCount(); i += 3) {
    if (rankOf(node.input(i)) != rankOf(node.input(2)))
      return node.invalid("the ranks of its operands differ");
    parts.push_back(dequantize(node, node.input(i), {node.input(i + 1), node.input(i + 2)}, -1));
  }
  return node.result(
      quantize(node, node.concat(parts, *axis), {node.input(0), node.input(1)}, elementTypeOf(node.input(1)), -1));
}

constexpr OperatorEntry kOperators[] = {
    {"", "DequantizeLinear", 10, dequantizeLinear},
    {"com.microsoft", "DequantizeLinear", 1, dequantizeLinear},
    {"", "QuantizeLinear", 10, quantizeLinear},
    {"com.microsoft", "QuantizeLinear", 1, quantizeLinear},
    {"", "DynamicQuantizeLinear", 11, dynamicQuantizeLinear},
    {"", "QLinearConv", 10, qLinearConv},
    {"", "ConvInteger", 10, convInteger},
    {"", "QLinearMatMul", 10, qLinearMatmul},
    {"com.microsoft", "QLinearAdd", 1, qLinearBinary<BinaryKind::add>},
    {"com.microsoft", "QLinearMul", 1, qLinearBinary<BinaryKind::mul>},
    {"com.microsoft", "QLinearSigmoid", 1, qLinearSigmoid},
    {"com.microsoft", "QLinearLeakyRelu", 1, qLinearLeakyRelu},
    {"com.microsoft", "QLinearConcat", 1, qLinearConcat},
    {"com.microsoft", "QLinearGlobalAveragePool", 1, qLinearGlobalAveragePool},
};

} // namespace

DynamicBytes quantizeDynamically(NodeContext &node, Value x) {
  Type type = elementTypeOf(x), byte = IntegerType::get(node.context(), 8, IntegerType::Unsigned);
  Dims axes;
  for (int64_t axis = 0; axis < rankOf(x); ++axis)
    axes.push_back(axis);
  Value zero = node.splat(type, 0), one = node.splat(type, 1);
  Value most = node.binary(BinaryKind::max, node.reduce(ReduceKind::max, x, axes, false), zero);
  Value least = node.binary(BinaryKind::min, node.reduce(ReduceKind::min, x, axes, false), zero);
  const Value levels = node.splat(type, 255);
  Value span = node.div(node.sub(most, least), levels);
  // All zeros: any scale will do but 0.
  Value scale = node.select(node.compare(ComparePredicate::eq, span, zero), one, span);
  Value zeroPoint = node.cast(node.unary(UnaryKind::round, node.div(node.sub(zero, least), scale)), byte, true);
  return {quantize(node, x, {scale, zeroPoint}, byte, -1), scale, zeroPoint};
}

ArrayRef<OperatorEntry> quantizeOperators() { return kOperators; }

} // namespace sluice::onnximport
