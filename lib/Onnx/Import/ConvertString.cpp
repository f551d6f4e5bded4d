//===- ConvertString.cpp - Operators on text ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "Ml.h"

#include "sluice/Onnx/TensorData.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

Type stringType(NodeContext &node) { return elementTypeFromOnnx(node.context(), onnxtype::String); }

LogicalResult stringConcat(NodeContext &node) {
  if (failed(node.require(2)))
    return failure();
  Value lhs = node.input(0), rhs = node.input(1);
  FailureOr<SmallVector<int64_t>> shape = broadcastShapes({shapeOf(lhs), shapeOf(rhs)});
  if (failed(shape))
    return node.invalid("the shapes of its operands do not broadcast to each other");
  return node.result(node.create<StringConcatOp>({node.expand(lhs, *shape), node.expand(rhs, *shape)}, {},
                                                 {node.type(stringType(node), *shape)}));
}

LogicalResult stringNormalizer(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  int64_t rank = rankOf(x);
  if (rank < 1 || rank > 2 || (rank == 2 && shapeOf(x)[0] != 1))
    return node.invalid("its input must be a list, or a matrix of one row");
  // Their letters have a case of their own.
  std::string locale = node.stringOr("locale", "");
  for (StringRef language : {"tr", "az", "lt"})
    if (StringRef(locale).starts_with(language))
      return node.unsupported("its locale is '" + locale + "', which is not supported");
  FailureOr<StringCase> change = node.choiceOr<StringCase>(
      "case_change_action", "NONE",
      {{"NONE", StringCase::unchanged}, {"LOWER", StringCase::lower}, {"UPPER", StringCase::upper}});
  if (failed(change))
    return failure();
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
  const int64_t splits = node.integerOr("maxsplit", -1);
  Dims dims(shapeOf(x));
  // A limit, or else what the model declares, with which no text may have more parts.
  int64_t room = splits >= 0 && splits < kMost ? splits + 1 : 0;
  const bool isDeclared = splits < 0;
  if (std::optional<Dims> declared = node.declaredShape(0);
      isDeclared && declared && declared->size() == dims.size() + 1 && declared->back() <= kMost)
    room = std::max<int64_t>(declared->back(), 0);
  const bool isEmpty = elementCount(x.getType()) == 0;
  if (!isEmpty && room < 1)
    return node.unsupported(
        "the number of parts of a text is known only when the model runs, give the node a maxsplit of less than " +
        Twine(kMost) + " or declare the shape of its output");
  Type index = node.mlir().getI64Type();
  Dims parts = dims;
  parts.push_back(isEmpty ? 0 : room);
  SmallVector<NamedAttribute> attributes{
      node.attribute("delimiter", node.mlir().getStringAttr(node.stringOr("delimiter", "")))};
  if (isDeclared)
    attributes.push_back(node.attribute("whole", node.mlir().getUnitAttr()));
  SmallVector<Value> results = node.createAll<StringSplitOp>(
      {x}, attributes, {node.type(stringType(node), parts), node.type(index, dims), node.type(index, {})});
  if (results.empty())
    return node.results({});
  if (!isEmpty)
    node.extents->set(results[0], rankOf(x), results[2]);
  return node.results({results[0], results[1]});
}

LogicalResult regexFullMatch(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  return node.result(node.create<StringMatchOp>(
      {x}, {node.attribute("pattern", node.mlir().getStringAttr(node.stringOr("pattern", "")))},
      {node.type(node.mlir().getI1Type(), shapeOf(x))}));
}

constexpr OperatorEntry kOperators[] = {
    {"", "StringConcat", 20, stringConcat},
    {"", "StringNormalizer", 10, stringNormalizer},
    {"", "StringSplit", 20, stringSplit},
    {"", "RegexFullMatch", 20, regexFullMatch},
};

} // namespace

ArrayRef<OperatorEntry> stringOperators() { return kOperators; }

} // namespace sluice::onnximport
