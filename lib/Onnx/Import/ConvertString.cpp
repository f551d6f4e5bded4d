//===- ConvertString.cpp - Operators on text ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "NodeContext.h"

#include "sluice/Onnx/TensorData.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

Type stringType(NodeContext &node) { return elementTypeFromOnnx(node.context(), onnxtype::String); }

NamedAttribute texts(NodeContext &node, StringRef name, ArrayRef<std::string> values) {
  return node.mlir().getNamedAttr(name,
                                  node.mlir().getStrArrayAttr(SmallVector<StringRef>(values.begin(), values.end())));
}

LogicalResult stringConcat(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value lhs = node.input(0), rhs = node.input(1);
  FailureOr<SmallVector<int64_t>> shape = broadcastShapes({shapeOf(lhs), shapeOf(rhs)});
  if (failed(shape))
    return node.invalid("its operands do not broadcast");
  return node.result(node.create<StringConcatOp>({node.expand(lhs, *shape), node.expand(rhs, *shape)}, {},
                                                 {node.type(stringType(node), *shape)}));
}

LogicalResult stringNormalizer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t rank = rankOf(x);
  if (rank < 1 || rank > 2 || (rank == 2 && shapeOf(x)[0] != 1))
    return node.invalid("its input is no list, and no row of a matrix");
  // Their letters have a case of their own.
  std::string locale = node.stringOr("locale", "");
  for (StringRef language : {"tr", "az", "lt"})
    if (StringRef(locale).starts_with(language))
      return node.unsupported("its locale is '" + locale + "'");
  std::string action = node.stringOr("case_change_action", "NONE");
  std::optional<StringCase> change = action == "NONE"    ? std::optional(StringCase::unchanged)
                                     : action == "LOWER" ? std::optional(StringCase::lower)
                                     : action == "UPPER" ? std::optional(StringCase::upper)
                                                         : std::nullopt;
  if (!change)
    return node.invalid("its case_change_action is '" + action + "', which ONNX does not define");
  int64_t length = shapeOf(x).back(), room = std::max<int64_t>(length, 1);
  SmallVector<NamedAttribute> attributes{
      node.mlir().getNamedAttr("change", StringCaseAttr::get(node.context(), *change)),
      texts(node, "stop_words", node.stringsAt("stopwords").value_or(SmallVector<std::string>()))};
  if (node.integerOr("is_case_sensitive", 0) != 0)
    attributes.push_back(node.flag("case_sensitive", true));
  SmallVector<Value> results =
      node.createAll<StringNormalizeOp>({node.reshape(x, {length})}, attributes,
                                        {node.type(stringType(node), {room}), node.type(node.mlir().getI64Type(), {})});
  if (results.empty())
    return node.result({});
  Value kept = rank == 1 ? results[0] : node.reshape(results[0], {1, room});
  if (kept)
    node.extents->set(kept, rank - 1, results[1]);
  return node.result(kept);
}

LogicalResult stringSplit(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  constexpr int64_t kMost = 4096;
  Value x = node.input(0);
  int64_t splits = node.integerOr("maxsplit", -1);
  bool isEmpty = elementCount(x.getType()) == 0;
  if (!isEmpty && (splits < 0 || splits >= kMost))
    return node.unsupported("how many parts a text has is not known before the model runs, and it has no maxsplit (of "
                            "less than " +
                            Twine(kMost) + ")");
  Dims dims(shapeOf(x));
  Type index = node.mlir().getI64Type();
  Dims parts = dims;
  parts.push_back(isEmpty ? 0 : splits + 1);
  SmallVector<Value> results = node.createAll<StringSplitOp>(
      {x}, {node.mlir().getNamedAttr("delimiter", node.mlir().getStringAttr(node.stringOr("delimiter", "")))},
      {node.type(stringType(node), parts), node.type(index, dims), node.type(index, {})});
  if (results.empty())
    return node.results({});
  if (!isEmpty)
    node.extents->set(results[0], rankOf(x), results[2]);
  return node.results({results[0], results[1]});
}

/// A list given as a tensor, or as an attribute of one of three types; its default stands behind it.
Value encodedValues(NodeContext &node) {
  OpBuilder &builder = node.mlir();
  auto list = [&](auto values, Type type) -> Value {
    auto count = static_cast<int64_t>(values.size());
    return ConstantOp::create(builder, node.loc(), DenseElementsAttr::get(node.type(type, {count}), ArrayRef(values)));
  };
  if (const ::onnx::AttributeProto *values = node.find("values_tensor")) {
    const ::onnx::AttributeProto *fallback = node.find("default_tensor");
    Value known = node.constant(values->t()), other = fallback ? node.constant(fallback->t()) : Value();
    if (!known || !other || elementCount(other.getType()) != 1)
      return {};
    return node.concat({node.reshape(known, {elementCount(known.getType())}), node.reshape(other, {1})}, 0);
  }
  if (std::optional<Dims> values = node.integersAt("values_int64s")) {
    values->push_back(node.integerOr("default_int64", -1));
    return list(*values, builder.getI64Type());
  }
  if (std::optional<SmallVector<double>> values = node.numbersAt("values_floats")) {
    SmallVector<float> narrow(values->begin(), values->end());
    narrow.push_back(static_cast<float>(node.numberOr("default_float", -0.0)));
    return list(narrow, builder.getF32Type());
  }
  if (std::optional<SmallVector<std::string>> values = node.stringsAt("values_strings")) {
    values->push_back(node.stringOr("default_string", "_Unused"));
    return node.create<StringConstantOp>({}, {texts(node, "values", *values)},
                                         {node.type(stringType(node), {static_cast<int64_t>(values->size())})});
  }
  return {};
}

LogicalResult labelEncoder(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  SmallVector<std::string> keys = node.stringsAt("keys_strings").value_or(SmallVector<std::string>());
  if (const ::onnx::AttributeProto *tensor = node.find("keys_tensor"))
    keys.assign(tensor->t().string_data().begin(), tensor->t().string_data().end());
  if (!isString(elementTypeOf(x)) || keys.empty())
    return node.unsupported("its keys are not strings");
  Value values = encodedValues(node);
  if (!values)
    return node.invalid("it has no values, or no default to them");
  if (shapeOf(values)[0] != static_cast<int64_t>(keys.size()) + 1)
    return node.invalid("it has " + Twine(keys.size()) + " keys and " + Twine(shapeOf(values)[0] - 1) + " values");
  Value place =
      node.create<StringFindOp>({x}, {texts(node, "keys", keys)}, {node.type(node.mlir().getI64Type(), shapeOf(x))});
  return node.result(node.create<GatherOp>({values, place}, node.integer("axis", 0)));
}

constexpr OperatorEntry kOperators[] = {
    {"", "StringConcat", 20, stringConcat},
    {"", "StringNormalizer", 10, stringNormalizer},
    {"", "StringSplit", 20, stringSplit},
    {"ai.onnx.ml", "LabelEncoder", 2, labelEncoder},
};

} // namespace

ArrayRef<OperatorEntry> stringOperators() { return kOperators; }

} // namespace sluice::onnximport
