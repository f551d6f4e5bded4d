//===- ConvertEncoders.cpp - Labels, categories and columns of features ---===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Ml.h"

#include "sluice/Onnx/TensorData.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

using Words = SmallVector<std::string>;

Type stringType(NodeContext &node) { return elementTypeFromOnnx(node.context(), onnxtype::String); }

/// What elements are looked up in: texts, or a constant list of numbers.
struct Keys {
  Words words;
  Value numbers;

  int64_t count() const { return numbers ? shapeOf(numbers)[0] : static_cast<int64_t>(words.size()); }
};

/// The list of a tensor attribute; null where there is none.
Value listIn(NodeContext &node, StringRef name) {
  const ::onnx::AttributeProto *tensor = node.find(name, ::onnx::AttributeProto::TENSOR);
  Value list = tensor ? node.constant(tensor->t()) : Value();
  return list ? node.reshape(list, {elementCount(list.getType())}) : Value();
}

Keys keysOf(NodeContext &node) {
  Keys keys;
  if (const ::onnx::AttributeProto *tensor = node.find("keys_tensor", ::onnx::AttributeProto::TENSOR)) {
    if (tensor->t().data_type() == onnxtype::String)
      keys.words.assign(tensor->t().string_data().begin(), tensor->t().string_data().end());
    else
      keys.numbers = listIn(node, "keys_tensor");
  } else if (std::optional<Dims> integers = node.integersAt("keys_int64s")) {
    keys.numbers = node.integers(*integers);
  } else if (std::optional<SmallVector<double>> numbers = node.numbersAt("keys_floats")) {
    keys.numbers = numberConstant(node, *numbers, node.mlir().getF32Type(), {static_cast<int64_t>(numbers->size())});
  } else {
    keys.words = node.stringsAt("keys_strings").value_or(Words());
  }
  return keys;
}

/// A list given as a tensor, or as an attribute of one of three types; its default stands behind it.
Value encodedValues(NodeContext &node) {
  if (Value known = listIn(node, "values_tensor")) {
    Value other = listIn(node, "default_tensor");
    if (!other) {
      Type type = elementTypeOf(known);
      other =
          isString(type) ? textConstant(node, {"_Unused"}) : node.splat(type, isa<FloatType>(type) ? -0.0 : -1.0, {1});
    }
    if (!other || shapeOf(other)[0] != 1 || elementTypeOf(other) != elementTypeOf(known)) {
      (void)node.invalid("its default_tensor must have one element, of the type of values_tensor");
      return {};
    }
    return node.concat({known, other}, 0);
  }
  if (std::optional<Dims> values = node.integersAt("values_int64s")) {
    values->push_back(node.integerOr("default_int64", -1));
    return node.integers(*values);
  }
  if (std::optional<SmallVector<double>> values = node.numbersAt("values_floats")) {
    values->push_back(node.numberOr("default_float", -0.0));
    return numberConstant(node, *values, node.mlir().getF32Type(), {static_cast<int64_t>(values->size())});
  }
  if (std::optional<Words> values = node.stringsAt("values_strings")) {
    values->push_back(node.stringOr("default_string", "_Unused"));
    return textConstant(node, *values);
  }
  return {};
}

/// Positions of keys that count where some are repeated: the last of equal ones, or the first. Nothing where all do.
template <typename Key>
std::optional<Dims> positionsOf(ArrayRef<Key> keys, bool lastCounts) {
  std::map<Key, int64_t> positions;
  for (auto [i, key] : llvm::enumerate(keys)) {
    auto [place, isNew] = positions.try_emplace(key, static_cast<int64_t>(i));
    if (!isNew && lastCounts)
      place->second = static_cast<int64_t>(i);
  }
  if (positions.size() == keys.size())
    return std::nullopt;
  Dims result;
  for (const auto &[key, position] : positions)
    result.push_back(position);
  return result;
}

/// The elements of a constant of integers, however many.
std::optional<Dims> integersOf(Value constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  std::vector<char> bytes(dataflow::tensorBytes(type));
  if (!isa<IntegerType>(type.getElementType()) || failed(copyConstant(getConstant(constant), bytes.data())))
    return std::nullopt;
  Dims result;
  for (const APInt &value : makeDense(type, bytes).getValues<APInt>())
    result.push_back(value.getSExtValue());
  return result;
}

/// The same of numbers, of which NaN equals NaN and -0 equals 0.
std::optional<Dims> positionsOfNumbers(ArrayRef<double> keys, bool lastCounts) {
  SmallVector<int64_t> bits;
  for (double key : keys)
    bits.push_back(llvm::bit_cast<int64_t>(std::isnan(key) ? std::nan("") : key + 0.0));
  return positionsOf(ArrayRef<int64_t>(bits), lastCounts);
}

Value gather(NodeContext &node, Value list, Value places) {
  return node.create<GatherOp>({list, places}, node.integer("axis", 0));
}

/// The values of x's elements, the one behind the others where an element is no key.
LogicalResult encode(NodeContext &node, Value x, Keys keys, Value values, bool lastCounts) {
  const int64_t count = keys.count();
  const bool areWords = !keys.numbers;
  if (!values)
    return node.invalid("it has no values");
  if (shapeOf(values)[0] != count + 1)
    return node.invalid("it has " + Twine(count) + " keys and " + Twine(shapeOf(values)[0] - 1) +
                        " values, both numbers must be equal");
  if (count == 0)
    return node.invalid("it has no keys");
  if (areWords != isString(elementTypeOf(x)) || (!areWords && elementTypeOf(keys.numbers) != elementTypeOf(x)))
    return node.invalid("the types of its keys and its input must be equal");
  std::optional<Dims> counting;
  if (areWords)
    counting = positionsOf(ArrayRef(keys.words), lastCounts);
  else if (std::optional<Dims> integers = integersOf(keys.numbers))
    counting = positionsOf(ArrayRef<int64_t>(*integers), lastCounts);
  else if (std::optional<SmallVector<double>> numbers = NodeContext::numbersOf(getConstant(keys.numbers)))
    counting = positionsOfNumbers(*numbers, lastCounts);
  else
    return node.unsupported("the data of its keys is missing");
  if (counting) {
    Words kept;
    for (int64_t position : *counting)
      if (areWords)
        kept.push_back(keys.words[position]);
    keys.words = kept;
    if (!areWords)
      keys.numbers = gather(node, keys.numbers, node.integers(*counting));
    counting->push_back(count);
    values = gather(node, values, node.integers(*counting));
  }
  return node.result(
      gather(node, values, areWords ? placeOfText(node, x, keys.words) : placeOfNumber(node, x, keys.numbers)));
}

LogicalResult labelEncoder(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  for (StringRef list : {"keys", "values"}) {
    SmallVector<std::string> given;
    for (StringRef type : {"tensor", "int64s", "floats", "strings"})
      if (node.find((list + "_" + type).str()))
        given.push_back((list + "_" + type).str());
    if (given.size() > 1)
      return node.invalid("it has both of the attributes " + given[0] + " and " + given[1], "give one of them");
  }
  Keys keys = keysOf(node);
  Value values = encodedValues(node);
  return encode(node, node.input(0), keys, values, node.opset >= 4);
}

/// Between texts and their places, whichever the input holds.
LogicalResult encodeWords(NodeContext &node, const Words &words, ArrayRef<int64_t> numbers) {
  Value x = node.input(0);
  if (isString(elementTypeOf(x))) {
    Dims values(numbers);
    values.push_back(node.integerOr("default_int64", -1));
    return encode(node, x, Keys{words, {}}, node.integers(values), false);
  }
  if (!isa<IntegerType>(elementTypeOf(x)))
    return node.invalid("the elements of its input must be strings or integers");
  Words values(words);
  values.push_back(node.stringOr("default_string", "_Unused"));
  x = node.cast(x, node.mlir().getI64Type());
  Keys keys{{}, node.integers(numbers)};
  Value list = textConstant(node, values);
  return encode(node, x, keys, list, false);
}

LogicalResult oldLabelEncoder(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  const Words words = node.stringsAt("classes_strings").value_or(Words());
  Dims places;
  for (size_t i = 0; i < words.size(); ++i)
    places.push_back(static_cast<int64_t>(i));
  return encodeWords(node, words, places);
}

LogicalResult categoryMapper(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  const Words words = node.stringsAt("cats_strings").value_or(Words());
  const Dims numbers = node.integersAt("cats_int64s").value_or(Dims());
  if (words.size() != numbers.size())
    return node.invalid("its cats_strings have " + Twine(words.size()) + " entries and its cats_int64s have " +
                        Twine(numbers.size()) + ", both numbers must be equal");
  return encodeWords(node, words, numbers);
}

/// The place of the first text that equals each.
Dims firstPlaces(ArrayRef<std::string> words) {
  std::map<StringRef, int64_t> places;
  Dims result;
  for (auto [i, word] : llvm::enumerate(words))
    result.push_back(places.try_emplace(word, static_cast<int64_t>(i)).first->second);
  return result;
}

LogicalResult oneHotEncoder(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  const Words words = node.stringsAt("cats_strings").value_or(Words());
  const Dims numbers = node.integersAt("cats_int64s").value_or(Dims());
  const bool areWords = isString(elementTypeOf(x));
  if (words.empty() == numbers.empty() || areWords == words.empty())
    return node.invalid("it must have one list of categories, cats_strings or cats_int64s, of the type of its input");
  const auto count = static_cast<int64_t>(areWords ? words.size() : numbers.size());
  Type index = node.mlir().getI64Type();
  Dims wide(shapeOf(x));
  wide.push_back(1);
  Value element = node.reshape(areWords ? placeOfText(node, x, words) : node.cast(x, index), wide);
  Value categories = areWords ? node.iota(index, count, 0, 1) : node.integers(numbers);
  const std::optional<Dims> counting =
      areWords ? positionsOf(ArrayRef(words), true) : positionsOf(ArrayRef(numbers), true);
  SmallVector<bool> counts(count, !counting);
  if (counting) {
    // Of repeated categories the last counts. A text's place is that of the first.
    for (int64_t position : *counting)
      counts[position] = true;
    if (areWords)
      categories = node.integers(firstPlaces(words));
  }
  Value isSame = node.compare(ComparePredicate::eq, element, categories);
  if (counting)
    isSame =
        node.binary(BinaryKind::logical_and, isSame,
                    ConstantOp::create(node.mlir(), node.loc(),
                                       DenseElementsAttr::get(RankedTensorType::get({count}, node.mlir().getI1Type()),
                                                              ArrayRef<bool>(counts))));
  if (node.integerOr("zeros", 1) == 0) {
    Type byte = node.mlir().getI32Type();
    Value found = node.reduce(ReduceKind::max, node.cast(isSame, byte), {static_cast<int64_t>(wide.size()) - 1}, true);
    Value isKnown = node.compare(ComparePredicate::gt, found, node.splat(byte, 0));
    isKnown = node.create<CheckOp>(
        {isKnown},
        {node.attribute("message", node.mlir().getStringAttr("an element of the input is none of the categories"))},
        {node.type(node.mlir().getI1Type(), wide)});
    isSame = node.binary(BinaryKind::logical_and, isSame, isKnown);
  }
  return node.result(node.cast(isSame, Float32Type::get(node.context())));
}

//===----------------------------------------------------------------------===//
// Columns of features
//===----------------------------------------------------------------------===//

LogicalResult normalizer(NodeContext &node) {
  Value x = featureRows(node);
  if (!x)
    return failure();
  FailureOr<ReduceKind> kind = node.choiceOr<ReduceKind>(
      "norm", "MAX", {{"MAX", ReduceKind::max}, {"L1", ReduceKind::l1}, {"L2", ReduceKind::l2}});
  if (failed(kind))
    return failure();
  Type type = Float32Type::get(node.context());
  x = node.cast(x, type);
  Value divisor = node.reduce(*kind, x, {1}, true);
  Value isZero = node.compare(ComparePredicate::eq, divisor, node.splat(type, 0));
  Value one = node.splat(type, 1);
  Value y = node.div(x, node.select(isZero, one, divisor));
  return node.result(node.reshape(y, shapeOf(node.input(0))));
}

LogicalResult imputer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  Type type = elementTypeOf(x);
  if (rankOf(x) < 1 || isString(type))
    return node.invalid("its input must hold numbers and have a dimension of features");
  const bool areFloats = isa<FloatType>(type);
  const SmallVector<double> numbers = node.numbersAt("imputed_value_floats").value_or(SmallVector<double>());
  const Dims integers = node.integersAt("imputed_value_int64s").value_or(Dims());
  const auto count = static_cast<int64_t>(areFloats ? numbers.size() : integers.size());
  if (count != 1 && count != shapeOf(x).back())
    return node.invalid("it has " + Twine(count) + " imputed values, and the number of features is " +
                        Twine(shapeOf(x).back()) + ", give one value for each feature or one for all");
  Value values, isMissing;
  if (areFloats) {
    const double replaced = node.numberOr("replaced_value_float", 0);
    values = node.cast(numberConstant(node, numbers, Float32Type::get(node.context()), {count}), type);
    isMissing = std::isnan(replaced) ? node.unary(UnaryKind::is_nan, x)
                                     : node.compare(ComparePredicate::eq, x, node.splat(type, replaced));
  } else {
    Value replaced = integerConstant(node, {node.integerOr("replaced_value_int64", 0)}, node.mlir().getI64Type(), {});
    values = node.cast(node.integers(integers), type);
    isMissing = node.compare(ComparePredicate::eq, x, node.cast(replaced, type));
  }
  return node.result(node.select(isMissing, values, x));
}

LogicalResult featureVectorizer(NodeContext &node) {
  const Dims extents = node.integersAt("inputdimensions").value_or(Dims());
  if (node.inputCount() == 0 || failed(node.require(node.inputCount())))
    return failure();
  if (extents.size() != node.inputCount())
    return node.invalid("its inputdimensions have " + Twine(extents.size()) + " entries for " +
                        Twine(node.inputCount()) + " inputs, one for each is needed");
  Type type = Float32Type::get(node.context());
  SmallVector<Value> columns;
  for (auto [i, wanted] : llvm::enumerate(extents)) {
    Value x = node.cast(node.input(i), type);
    if (x && rankOf(x) == 1)
      x = node.reshape(x, {1, shapeOf(x)[0]});
    if (!x || rankOf(x) != 2 || wanted < 1)
      return node.invalid("input " + Twine(i) +
                          " must be a list or a matrix, and its entry of inputdimensions must be positive");
    // An input has as many features as are declared: more are left out, missing ones are 0.
    const int64_t have = shapeOf(x)[1];
    columns.push_back(have > wanted ? node.sliceAxis(x, 1, 0, wanted) : x);
    if (have < wanted)
      columns.push_back(node.splat(type, 0, {shapeOf(x)[0], wanted - have}));
  }
  return node.result(node.concat(columns, 1));
}

/// Scores by class are a tensor already: its columns are the map's keys, in the order of the attribute.
LogicalResult zipMap(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  FailureOr<ClassLabels> labels = classLabels(node, "classlabels_int64s");
  if (failed(labels))
    return failure();
  Value x = node.input(0);
  if (rankOf(x) < 1 || rankOf(x) > 2 || shapeOf(x).back() != labels->count)
    return node.invalid("its input must be a list or a matrix with " + Twine(labels->count) +
                        " columns, one for each class label");
  return node.result(x);
}

/// An input that is a map has an entry for each word of the vocabulary already: see ModelFile.
LogicalResult dictVectorizer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  const auto words = static_cast<int64_t>(node.stringsAt("string_vocabulary").value_or(Words()).size() +
                                          node.integersAt("int64_vocabulary").value_or(Dims()).size());
  if (rankOf(x) != 1 || shapeOf(x)[0] != words)
    return node.invalid("its input must be a list of " + Twine(words) +
                        " elements, one for each entry of the vocabulary");
  return node.result(node.reshape(x, {1, words}));
}

LogicalResult castMap(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  FailureOr<Type> type = node.choiceOr<Type>("cast_to", "TO_FLOAT",
                                             {{"TO_FLOAT", node.mlir().getF32Type()},
                                              {"TO_INT64", node.mlir().getI64Type()},
                                              {"TO_STRING", stringType(node)}});
  if (failed(type))
    return failure();
  if (rankOf(x) != 1)
    return node.invalid("its input must be a list, the values of a map");
  return node.result(castAny(node, node.reshape(x, {1, shapeOf(x)[0]}), *type));
}

constexpr OperatorEntry kOperators[] = {
    {"ai.onnx.ml", "CastMap", 1, castMap},
    {"ai.onnx.ml", "DictVectorizer", 1, dictVectorizer},
    {"ai.onnx.ml", "CategoryMapper", 1, categoryMapper},
    {"ai.onnx.ml", "FeatureVectorizer", 1, featureVectorizer},
    {"ai.onnx.ml", "Imputer", 1, imputer},
    {"ai.onnx.ml", "LabelEncoder", 1, oldLabelEncoder},
    {"ai.onnx.ml", "LabelEncoder", 2, labelEncoder},
    {"ai.onnx.ml", "Normalizer", 1, normalizer},
    {"ai.onnx.ml", "OneHotEncoder", 1, oneHotEncoder},
    {"ai.onnx.ml", "ZipMap", 1, zipMap},
};

} // namespace

ArrayRef<OperatorEntry> encoderOperators() { return kOperators; }

} // namespace sluice::onnximport
