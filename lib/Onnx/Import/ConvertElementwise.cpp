//===- ConvertElementwise.cpp - Element-wise operators --------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Ml.h"
#include "TrainingStates.h"

#include "dialects/Dataflow/IR/ElementwiseKinds.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

/// The node of a row: its parameters are attributes, and zero where the kind has none.
template <UnaryKind kind>
LogicalResult unary(NodeContext &node) {
  constexpr const UnaryRow &row = kUnaryRows[static_cast<size_t>(kind)];
  if (failed(node.require(1)))
    return failure();
  return node.result(node.unary(kind, node.input(0), node.numberOr(row.alpha, row.alphaDefault),
                                node.numberOr(row.beta, row.betaDefault)));
}

LogicalResult isInf(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return node.result(node.unary(UnaryKind::is_inf, node.input(0), node.integerOr("detect_positive", 1) ? 1 : 0,
                                node.integerOr("detect_negative", 1) ? 1 : 0));
}

LogicalResult gelu(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  std::string approximate = node.stringOr("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return node.invalid("its approximation is '" + approximate + "', not 'none' or 'tanh'");
  return node.result(node.unary(approximate == "tanh" ? UnaryKind::gelu_tanh : UnaryKind::gelu, node.input(0)));
}

/// The second operand, aligned as numpy broadcasts. Before opset 7 its dimensions are a run of the first operand's that
/// begins at the attribute `axis`, or ends with the last.
Value second(NodeContext &node) {
  Value lhs = node.input(0), rhs = node.input(1);
  if (node.opset >= 7 || !node.find("axis"))
    return rhs;
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(lhs));
  if (failed(axis))
    return {};
  Dims dims(shapeOf(rhs));
  while (*axis + static_cast<int64_t>(dims.size()) < rankOf(lhs))
    dims.push_back(1);
  return node.reshape(rhs, dims);
}

Value chain(NodeContext &node, BinaryKind kind) {
  Value result = node.input(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    result = node.binary(kind, result, node.input(i));
  return result;
}

template <BinaryKind kind>
LogicalResult variadic(NodeContext &node) {
  if (failed(node.require(std::max<size_t>(1, node.inputCount()))))
    return failure();
  return node.result(chain(node, kind));
}

template <BinaryKind kind>
LogicalResult binary(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return node.result(node.binary(kind, node.input(0), second(node)));
}

template <ComparePredicate predicate>
LogicalResult compare(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return node.result(node.compare(predicate, node.input(0), second(node)));
}

LogicalResult mod(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  bool truncating = node.integerOr("fmod", 0) != 0;
  return node.result(node.binary(truncating ? BinaryKind::fmod : BinaryKind::mod, node.input(0), node.input(1)));
}

LogicalResult bitShift(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  std::string direction = node.stringOr("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return node.invalid("its direction is '" + direction + "', not 'LEFT' or 'RIGHT'");
  BinaryKind kind = direction == "LEFT" ? BinaryKind::shift_left : BinaryKind::shift_right;
  return node.result(node.binary(kind, node.input(0), node.input(1)));
}

LogicalResult pow(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  // The result has the base's type; the exponent may have any.
  Value base = node.input(0), exponent = second(node);
  if (!exponent)
    return node.result({});
  Type type = elementTypeOf(base);
  if (isa<IntegerType>(type) && isa<FloatType>(elementTypeOf(exponent))) {
    Value power = node.binary(BinaryKind::pow, node.cast(base, elementTypeOf(exponent)), exponent);
    return node.result(node.cast(power, type));
  }
  return node.result(node.binary(BinaryKind::pow, base, node.cast(exponent, type)));
}

LogicalResult prelu(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value slope = node.input(1);
  // Before opset 7 a slope is one number, or one per channel.
  if (node.opset < 7 && rankOf(slope) == 1 && rankOf(node.input(0)) > 1 && shapeOf(slope)[0] != 1) {
    Dims dims(rankOf(node.input(0)) - 1, 1);
    dims[0] = shapeOf(slope)[0];
    slope = node.reshape(slope, dims);
  }
  Value result = node.binary(BinaryKind::prelu, node.input(0), slope);
  if (result && shapeOf(result) != shapeOf(node.input(0)))
    return node.invalid("its slope must broadcast to the shape of its input");
  return node.result(result);
}

LogicalResult mean(NodeContext &node) {
  if (failed(node.require(std::max<size_t>(1, node.inputCount()))))
    return failure();
  auto count = static_cast<double>(node.inputCount());
  const Value divisor = node.splat(elementTypeOf(node.input(0)), count);
  return node.result(node.div(chain(node, BinaryKind::add), divisor));
}

LogicalResult equal(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value lhs = node.input(0), rhs = node.input(1);
  if (!isString(elementTypeOf(lhs)) || !isString(elementTypeOf(rhs)))
    return compare<ComparePredicate::eq>(node);
  FailureOr<Dims> shape = broadcastShapes({shapeOf(lhs), shapeOf(rhs)});
  if (failed(shape))
    return node.invalid("the shapes of its operands do not broadcast to each other");
  return node.result(node.create<StringEqualOp>({node.expand(lhs, *shape), node.expand(rhs, *shape)}, {},
                                                {node.type(node.mlir().getI1Type(), *shape)}));
}

LogicalResult where(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  return node.result(node.select(node.input(0), node.input(1), node.input(2)));
}

LogicalResult clip6(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  if (node.find("min"))
    x = node.binary(BinaryKind::max, x, node.splat(elementTypeOf(node.input(0)), node.numberOr("min", 0)));
  if (node.find("max"))
    x = node.binary(BinaryKind::min, x, node.splat(elementTypeOf(node.input(0)), node.numberOr("max", 0)));
  return node.result(x);
}

LogicalResult clip11(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  if (node.has(1))
    x = node.binary(BinaryKind::max, x, node.input(1));
  if (node.has(2))
    x = node.binary(BinaryKind::min, x, node.input(2));
  return node.result(x);
}

/// To small floats, values out of range saturate unless the node says otherwise; to other types its attributes say
/// nothing.
LogicalResult castTo(NodeContext &node, Type type) {
  if (isString(type) != isString(elementTypeOf(node.input(0))))
    return node.result(castAny(node, node.input(0), type));
  if (isa<Float8E8M0FNUType>(type) && node.stringOr("round_mode", "up") != "up")
    return node.unsupported("its round_mode is '" + node.stringOr("round_mode", "up") + "', only 'up' is supported");
  bool saturates = isSmallFloat(type) && node.integerOr("saturate", 1) != 0;
  return node.result(node.cast(node.input(0), type, saturates));
}

LogicalResult cast(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  const int64_t to = node.integerOr("to", 0);
  Type type = elementTypeFromOnnx(node.context(), to);
  if (!type)
    return node.unsupported("it casts to element type " + Twine(to) + " of ONNX, which is not supported");
  return castTo(node, type);
}

LogicalResult castLike(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  return castTo(node, elementTypeOf(node.input(1)));
}

LogicalResult bitCast(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  const int64_t to = node.integerOr("to", 0);
  Type type = elementTypeFromOnnx(node.context(), to);
  if (!type)
    return node.unsupported("it casts to element type " + Twine(to) + " of ONNX, which is not supported");
  Value x = node.input(0);
  return node.result(node.create<BitcastOp>({x}, {}, {node.type(type, shapeOf(x))}));
}

LogicalResult trainDropout(NodeContext &node) {
  double ratio = node.numberOr("ratio", 0.5);
  if (node.has(1)) {
    FailureOr<SmallVector<double>> given = node.constantNumbers(1, "ratio");
    if (failed(given))
      return failure();
    if (given->size() != 1)
      return node.invalid("its ratio must be one number");
    ratio = given->front();
  }
  if (!(ratio >= 0 && ratio < 1))
    return node.invalid("its ratio must be at least 0 and below 1");
  Value x = node.input(0);
  auto type = RankedTensorType::get(shapeOf(x), IntegerType::get(node.context(), 1));
  Value mask = node.create<DropoutMaskOp>(
      {node.training->step(node)}, {node.number("keep", 1 - ratio), node.integer("seed", node.training->nextSeed())},
      {type});
  Value scaled = node.mul(x, node.splat(elementTypeOf(x), 1 / (1 - ratio)));
  SmallVector<Value> results{node.select(mask, scaled, node.splat(elementTypeOf(x), 0))};
  if (node.wantsOutput(1))
    results.push_back(node.opset < 10 ? node.cast(mask, elementTypeOf(x)) : mask);
  return node.results(results);
}

/// In training mode, outside of a training step: each element by itself is dropped, or scaled up for those that are.
/// `isTraining`: where a step says whether it is in training mode.
LogicalResult randomDropout(NodeContext &node, Value isTraining = {}) {
  Value x = node.input(0);
  Type wide = Float32Type::get(node.context()), type = elementTypeOf(x);
  Value ratio = node.splat(wide, 0.5);
  if (node.has(1)) {
    if (elementCount(node.input(1).getType()) != 1)
      return node.invalid("its ratio must be one number, at least 0 and below 1");
    if (getConstant(node.input(1))) {
      FailureOr<SmallVector<double>> given = node.constantNumbers(1, "ratio");
      if (failed(given))
        return failure();
      if (!(given->front() >= 0 && given->front() < 1))
        return node.invalid("its ratio must be one number, at least 0 and below 1");
    }
    ratio = node.cast(node.reshape(node.input(1), {}), wide);
  }
  Value draw =
      node.create<RandomOp>({}, node.integer("seed", node.integerOr("seed", 0)), {node.type(wide, shapeOf(x))});
  Value kept = node.compare(ComparePredicate::ge, draw, ratio);
  Value one = node.splat(wide, 1), none = node.splat(wide, 0);
  Value rest = node.sub(one, ratio);
  // NaN where the ratio is none: a step's is not checked before.
  Value isAbove = node.compare(ComparePredicate::ge, ratio, none),
        isBelow = node.compare(ComparePredicate::gt, rest, none);
  Value isRatio = node.binary(BinaryKind::logical_and, isAbove, isBelow), wrong = node.splat(wide, std::nan(""));
  Value inverse = node.div(one, rest);
  Value factor = node.select(isRatio, inverse, wrong), dropped = node.mul(factor, none);
  Value scaled = node.mul(x, node.cast(factor, type));
  Value result = node.select(kept, scaled, node.cast(dropped, type));
  if (isTraining) {
    Value all = node.splat(IntegerType::get(node.context(), 1), 1);
    result = node.select(isTraining, result, x);
    kept = node.select(isTraining, kept, all);
  }
  return node.results({result, kept});
}

LogicalResult dropout(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  if (node.training)
    return trainDropout(node);
  if (node.opset < 7 && node.integerOr("is_test", 0) == 0)
    return node.unsupported("it is in training mode, which is supported only in training steps (--train)");
  if (node.has(2)) {
    if (!getIntegers(node.input(2)) && elementCount(node.input(2).getType()) == 1)
      return randomDropout(node, node.cast(node.reshape(node.input(2), {}), IntegerType::get(node.context(), 1)));
    FailureOr<Dims> training = node.constantIntegers(2, "training mode");
    if (failed(training))
      return failure();
    if (training->size() != 1)
      return node.invalid("its training_mode must be one value");
    if (training->front() != 0)
      return randomDropout(node);
  }
  SmallVector<Value> results{node.input(0)};
  if (node.wantsOutput(1)) {
    // Before opset 10 the mask has the data's type.
    Type type = node.opset < 10 ? elementTypeOf(node.input(0)) : IntegerType::get(node.context(), 1);
    results.push_back(node.splat(type, 1, shapeOf(node.input(0))));
  }
  return node.results(results);
}

/// alpha * x + beta: an experimental operator that first exporters used.
LogicalResult affine(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Type type = elementTypeOf(node.input(0));
  Value scaled = node.mul(node.input(0), node.splat(type, node.numberOr("alpha", 1)));
  return node.result(node.add(scaled, node.splat(type, node.numberOr("beta", 0))));
}

/// scale * x + bias[channel]: experimental too.
LogicalResult imageScaler(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  Type type = elementTypeOf(x);
  SmallVector<double> bias = node.numbersAt("bias").value_or(SmallVector<double>());
  if (rankOf(x) != 4 || static_cast<int64_t>(bias.size()) != shapeOf(x)[1])
    return node.invalid("its bias has " + Twine(bias.size()) +
                        " values, and its input must have 4 dimensions and the same number of channels");
  SmallVector<Value> channels;
  for (double value : bias)
    channels.push_back(node.splat(type, value, {1, 1, 1, 1}));
  Value scaled = node.mul(x, node.splat(type, node.numberOr("scale", 1)));
  return node.result(node.add(scaled, node.concat(channels, 1)));
}

/// Operators with a converter of their own; the others are rows of ElementwiseKinds.td.
constexpr OperatorEntry kOperators[] = {
    {"", "Gelu", 20, gelu},
    {"com.microsoft", "Gelu", 1, unary<UnaryKind::gelu>},
    {"", "IsInf", 10, isInf},
    {"", "Pow", 1, pow},
    {"", "Mod", 10, mod},
    {"", "BitShift", 11, bitShift},
    {"", "PRelu", 1, prelu},
    {"", "Equal", 1, equal},
    {"", "Less", 1, compare<ComparePredicate::lt>},
    {"", "Greater", 1, compare<ComparePredicate::gt>},
    {"", "LessOrEqual", 12, compare<ComparePredicate::le>},
    {"", "GreaterOrEqual", 12, compare<ComparePredicate::ge>},
    {"", "Sum", 1, variadic<BinaryKind::add>},
    {"", "Mean", 1, mean},
    {"", "Where", 9, where},
    {"", "Clip", 1, clip6},
    {"", "Clip", 11, clip11},
    {"", "Cast", 6, cast},
    {"", "CastLike", 15, castLike},
    {"", "BitCast", 26, bitCast},
    {"", "Dropout", 1, dropout},
    {"", "Affine", 1, affine},
    {"", "ImageScaler", 1, imageScaler},
};

template <size_t... i>
void addUnaryRows(std::vector<OperatorEntry> &entries, std::index_sequence<i...>) {
  constexpr Converter converters[] = {unary<static_cast<UnaryKind>(i)>...};
  for (const UnaryRow &row : kUnaryRows)
    if (*row.onnx && !row.hasOwnImport)
      entries.push_back({"", row.onnx, row.onnxSince, converters[row.value]});
}

template <size_t... i>
void addBinaryRows(std::vector<OperatorEntry> &entries, std::index_sequence<i...>) {
  constexpr Converter converters[] = {kBinaryRows[i].isVariadic ? variadic<static_cast<BinaryKind>(i)>
                                                                : binary<static_cast<BinaryKind>(i)>...};
  for (const BinaryRow &row : kBinaryRows)
    if (*row.onnx && !row.hasOwnImport)
      entries.push_back({"", row.onnx, row.onnxSince, converters[row.value]});
}

} // namespace

ArrayRef<OperatorEntry> elementwiseOperators() {
  static const std::vector<OperatorEntry> entries = [] {
    std::vector<OperatorEntry> result(std::begin(kOperators), std::end(kOperators));
    addUnaryRows(result, std::make_index_sequence<kNumUnaryKinds>());
    addBinaryRows(result, std::make_index_sequence<kNumBinaryKinds>());
    return result;
  }();
  return entries;
}

} // namespace sluice::onnximport
