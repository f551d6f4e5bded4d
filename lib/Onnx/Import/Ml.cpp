//===- Ml.cpp - What converters of ai.onnx.ml share -----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Ml.h"

#include "sluice/Onnx/TensorData.h"

#include <numbers>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value featureRows(NodeContext &node) {
  if (failed(node.require(1)))
    return {};
  Value x = node.input(0);
  Type type = elementTypeOf(x);
  if (!isa<FloatType, IntegerType>(type)) {
    (void)node.invalid("the elements of its input must be numbers");
    return {};
  }
  if (rankOf(x) == 1)
    x = node.reshape(x, {1, shapeOf(x)[0]});
  if (!x || rankOf(x) != 2) {
    (void)node.invalid("its input must be a list or a matrix");
    return {};
  }
  return isa<FloatType>(type) && !type.isF16() && !type.isBF16() ? x : node.cast(x, Float32Type::get(node.context()));
}

template <typename T, typename From>
static Value makeConstant(NodeContext &node, ArrayRef<From> values, RankedTensorType type) {
  SmallVector<T> data(values.begin(), values.end());
  return ConstantOp::create(node.mlir(), node.loc(), DenseElementsAttr::get(type, ArrayRef<T>(data)));
}

Value numberConstant(NodeContext &node, ArrayRef<double> values, Type type, ArrayRef<int64_t> dims) {
  RankedTensorType tensor = node.type(type, dims);
  if (!tensor || elementCount(tensor) != static_cast<int64_t>(values.size()))
    return {};
  return type.isF64() ? makeConstant<double>(node, values, tensor) : makeConstant<float>(node, values, tensor);
}

Value integerConstant(NodeContext &node, ArrayRef<int64_t> values, Type type, ArrayRef<int64_t> dims) {
  RankedTensorType tensor = node.type(type, dims);
  if (!tensor || elementCount(tensor) != static_cast<int64_t>(values.size()))
    return {};
  switch (type.getIntOrFloatBitWidth()) {
  case 8:
    return makeConstant<uint8_t>(node, values, tensor);
  case 32:
    return makeConstant<int32_t>(node, values, tensor);
  default:
    return makeConstant<int64_t>(node, values, tensor);
  }
}

NamedAttribute texts(NodeContext &node, StringRef name, ArrayRef<std::string> values) {
  SmallVector<StringRef> list(values.begin(), values.end());
  return node.attribute(name, node.mlir().getStrArrayAttr(list));
}

Value textConstant(NodeContext &node, ArrayRef<std::string> values) {
  Type type = elementTypeFromOnnx(node.context(), onnxtype::String);
  return node.create<StringConstantOp>({}, {texts(node, "values", values)},
                                       {node.type(type, {static_cast<int64_t>(values.size())})});
}

/// The type that text is read as or written from: the others convert to it.
static Type typeInText(NodeContext &node, Type type) {
  OpBuilder &builder = node.mlir();
  if (isa<FloatType>(type))
    return type.isF64() ? type : Type(builder.getF32Type());
  return type.isUnsignedInteger(64) ? type : Type(builder.getI64Type());
}

Value castAny(NodeContext &node, Value x, Type type) {
  const Type from = elementTypeOf(x);
  if (isString(from) == isString(type))
    return node.cast(x, type);
  if (isString(type)) {
    Value number = node.cast(x, typeInText(node, from));
    return node.create<StringFromNumberOp>({number}, {}, {node.type(type, shapeOf(x))});
  }
  // A fraction is true, though it is no integer but 0.
  Type read = type.isInteger(1) ? Type(node.mlir().getF64Type()) : typeInText(node, type);
  return node.cast(node.create<StringToNumberOp>({x}, {}, {node.type(read, shapeOf(x))}), type);
}

//===----------------------------------------------------------------------===//
// Transformations of scores
//===----------------------------------------------------------------------===//

static FailureOr<PostTransform> postTransform(NodeContext &node) {
  return node.choiceOr<PostTransform>("post_transform", "NONE",
                                      {{"NONE", PostTransform::None},
                                       {"SOFTMAX", PostTransform::Softmax},
                                       {"LOGISTIC", PostTransform::Logistic},
                                       {"SOFTMAX_ZERO", PostTransform::SoftmaxZero},
                                       {"PROBIT", PostTransform::Probit}});
}

FailureOr<Regressor> readRegressor(NodeContext &node) {
  Value x = featureRows(node);
  FailureOr<PostTransform> transform = postTransform(node);
  if (!x || failed(transform))
    return failure();
  return Regressor{x, *transform};
}

FailureOr<Classifier> readClassifier(NodeContext &node, StringRef integers) {
  FailureOr<Regressor> scored = readRegressor(node);
  FailureOr<ClassLabels> labels = classLabels(node, integers);
  if (failed(scored) || failed(labels))
    return failure();
  return Classifier{*scored, *labels};
}

Value plus(NodeContext &node, Value scores, ArrayRef<double> offsets) {
  if (offsets.empty())
    return scores;
  const auto columns = static_cast<int64_t>(offsets.size());
  return node.add(scores, numberConstant(node, offsets, elementTypeOf(scores), {1, columns}));
}

/// The exponentials of scores that are not 0, whose sum is 1: others stay 0.
static Value softmaxZero(NodeContext &node, Value x) {
  Type type = elementTypeOf(x);
  Value greatest = node.reduce(ReduceKind::max, x, {1}, true);
  Value shifted = node.sub(x, greatest);
  Value power = node.unary(UnaryKind::exp, shifted);
  Value magnitude = node.unary(UnaryKind::abs, x);
  Value counts = node.compare(ComparePredicate::gt, magnitude, node.splat(type, 1e-7));
  Value kept = node.select(counts, power, node.splat(type, 0));
  Value sum = node.reduce(ReduceKind::sum, kept, {1}, true);
  // Where all scores are 0 no class is likelier than another.
  Value isNone = node.compare(ComparePredicate::eq, sum, node.splat(type, 0));
  Value half = node.splat(type, 0.5);
  return node.select(isNone, half, node.div(kept, sum));
}

/// The normal distribution's quantile function, by Winitzki's approximation of the inverse error function, as both
/// ONNX's reference and ONNX Runtime compute it.
static Value probit(NodeContext &node, Value p) {
  constexpr double kA = 0.147;
  Type type = elementTypeOf(p);
  auto number = [&](double value) { return node.splat(type, value); };
  Value twice = node.mul(p, number(2));
  Value x = node.sub(twice, number(1));
  Value below = node.sub(number(1), x);
  Value above = node.add(number(1), x);
  Value log = node.unary(UnaryKind::log, node.mul(below, above));
  Value half = node.mul(log, number(0.5));
  Value v = node.add(half, number(2 / (std::numbers::pi * kA)));
  Value square = node.mul(v, v);
  Value root = node.unary(UnaryKind::sqrt, node.sub(square, node.mul(log, number(1 / kA))));
  Value magnitude = node.unary(UnaryKind::sqrt, node.sub(root, v));
  Value isNegative = node.compare(ComparePredicate::lt, x, number(0));
  Value opposite = node.unary(UnaryKind::neg, magnitude);
  Value quantile = node.select(isNegative, opposite, magnitude);
  return node.mul(quantile, number(std::numbers::sqrt2));
}

Value transformed(NodeContext &node, PostTransform transform, Value scores) {
  switch (transform) {
  case PostTransform::None:
    return scores;
  case PostTransform::Softmax:
    return node.softmax(scores, 1, /*log=*/false);
  case PostTransform::Logistic:
    return node.unary(UnaryKind::sigmoid, scores);
  case PostTransform::SoftmaxZero:
    return softmaxZero(node, scores);
  case PostTransform::Probit:
    return probit(node, scores);
  }
  return {};
}

Value bothClasses(NodeContext &node, PostTransform transform, Value scores, bool areProbabilities) {
  if (transform == PostTransform::Logistic) {
    Value other = node.unary(UnaryKind::neg, scores);
    return node.unary(UnaryKind::sigmoid, node.concat({other, scores}, 1));
  }
  Value other = areProbabilities || transform != PostTransform::None
                    ? node.sub(node.splat(elementTypeOf(scores), 1), scores)
                    : node.unary(UnaryKind::neg, scores);
  Value both = node.concat({other, scores}, 1);
  return transform == PostTransform::Probit ? probit(node, both) : both;
}

//===----------------------------------------------------------------------===//
// Labels
//===----------------------------------------------------------------------===//

FailureOr<ClassLabels> classLabels(NodeContext &node, StringRef integers) {
  Dims numbers = node.integersAt(integers).value_or(Dims());
  SmallVector<std::string> words = node.stringsAt("classlabels_strings").value_or(SmallVector<std::string>());
  if (numbers.empty() == words.empty())
    return node.invalid("it has " + Twine(numbers.empty() ? "neither" : "both") + " of the attributes " + integers +
                            " and classlabels_strings",
                        "give one of them");
  if (numbers.empty())
    return ClassLabels{textConstant(node, words), static_cast<int64_t>(words.size()), false};
  return ClassLabels{node.integers(numbers), static_cast<int64_t>(numbers.size()), true};
}

Value ClassLabels::at(NodeContext &node, Value places) const {
  return node.create<GatherOp>({list, places}, node.integer("axis", 0));
}

Value ClassLabels::ofLargest(NodeContext &node, Value scores) const {
  return at(node, node.create<ArgReduceOp>({scores}, {node.integer("axis", 1), node.flag("keep_dims", false)}));
}

Value ClassLabels::ofPair(NodeContext &node, Value isPositive) const {
  Value places = node.cast(isPositive, node.mlir().getI64Type());
  // A single label stands for the positive class, whose opposite ONNX Runtime calls 0.
  if (count == 1)
    return places;
  return at(node, places);
}

//===----------------------------------------------------------------------===//
// Places among keys
//===----------------------------------------------------------------------===//

/// The places of integers among keys that lie close together: entries of a table.
static Value placeInTable(NodeContext &node, Value x, ArrayRef<int64_t> keys, int64_t low, int64_t high) {
  Type type = elementTypeOf(x);
  const auto none = static_cast<int64_t>(keys.size());
  Dims places(high - low + 1, none);
  for (auto [place, key] : llvm::enumerate(keys))
    places[key - low] = static_cast<int64_t>(place);
  Value least = integerConstant(node, {low}, type, {}), greatest = integerConstant(node, {high}, type, {});
  Value inside = node.binary(BinaryKind::max, node.binary(BinaryKind::min, x, greatest), least);
  Value isInside = node.compare(ComparePredicate::eq, inside, x);
  Value index = node.cast(node.sub(inside, least), node.mlir().getI64Type());
  Value found = node.create<GatherOp>({node.integers(places), index}, node.integer("axis", 0));
  return node.select(isInside, found, node.splat(node.mlir().getI64Type(), static_cast<double>(none)));
}

Value placeOfNumber(NodeContext &node, Value x, Value keys) {
  const int64_t count = shapeOf(keys)[0];
  std::optional<SmallVector<int64_t>> integers = isa<IntegerType>(elementTypeOf(x)) ? getIntegers(keys) : std::nullopt;
  const unsigned bits = elementTypeOf(x).getIntOrFloatBitWidth();
  if (integers && !integers->empty() && (bits == 32 || bits == 64) && !isUnsignedElement(elementTypeOf(x))) {
    auto [low, high] = std::minmax_element(integers->begin(), integers->end());
    constexpr uint64_t kSparse = 4, kSmall = 1024;
    if (static_cast<uint64_t>(*high) - static_cast<uint64_t>(*low) < kSparse * static_cast<uint64_t>(count) + kSmall)
      return placeInTable(node, x, *integers, *low, *high);
  }
  // The first of the keys that equals the element, and one behind them that always does: one loop over all keys.
  Dims dims(shapeOf(x)), wide(dims);
  wide.push_back(1);
  Value element = node.reshape(x, wide);
  Value list = node.concat({keys, node.sliceAxis(keys, 0, 0, 1)}, 0);
  Value same = node.compare(ComparePredicate::eq, element, list);
  if (isa<FloatType>(elementTypeOf(x))) {
    Value isNan = node.unary(UnaryKind::is_nan, element);
    Value keyIsNan = node.unary(UnaryKind::is_nan, list);
    Value areNan = node.binary(BinaryKind::logical_and, isNan, keyIsNan);
    same = node.binary(BinaryKind::logical_or, same, areNan);
  }
  SmallVector<bool> behind(count + 1, false);
  behind.back() = true;
  Value isLast = ConstantOp::create(
      node.mlir(), node.loc(),
      DenseElementsAttr::get(RankedTensorType::get({count + 1}, node.mlir().getI1Type()), ArrayRef<bool>(behind)));
  same = node.cast(node.binary(BinaryKind::logical_or, same, isLast), node.mlir().getI32Type());
  return node.create<ArgReduceOp>(
      {same}, {node.integer("axis", static_cast<int64_t>(dims.size())), node.flag("keep_dims", false)});
}

Value placeOfText(NodeContext &node, Value x, ArrayRef<std::string> keys) {
  return node.create<StringFindOp>({x}, {texts(node, "keys", keys)}, {node.type(node.mlir().getI64Type(), shapeOf(x))});
}

} // namespace sluice::onnximport
