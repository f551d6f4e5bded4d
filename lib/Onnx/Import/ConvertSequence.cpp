//===- ConvertSequence.cpp - Sequences and optionals ----------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Lists.h"
#include "StepMovement.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

Value makeList(OpBuilder &builder, Location location, ValueRange elements) {
  auto type = TupleType::get(builder.getContext(), elements.getTypes());
  return UnrealizedConversionCastOp::create(builder, location, type, elements).getResult(0);
}
Value makeAbsent(OpBuilder &builder, Location location) {
  return UnrealizedConversionCastOp::create(builder, location, NoneType::get(builder.getContext()), ValueRange())
      .getResult(0);
}
bool isList(Value value) { return isa<TupleType>(value.getType()); }
bool isAbsent(Value value) { return isa<NoneType>(value.getType()); }
SmallVector<Value> elementsOf(Value list) {
  return SmallVector<Value>(list.getDefiningOp<UnrealizedConversionCastOp>().getInputs());
}

namespace {

FailureOr<SmallVector<Value>> listAt(NodeContext &node, size_t index) {
  if (failed(node.require(index + 1)))
    return failure();
  if (!isList(node.input(index)))
    return node.invalid("its input " + Twine(index) + " is no sequence");
  return elementsOf(node.input(index));
}

/// [-count, count) -> [0, count); for an insertion `count` is one more.
FailureOr<int64_t> positionAt(NodeContext &node, size_t index, int64_t count, bool inserts) {
  FailureOr<Dims> given = node.constantIntegers(index, "position");
  if (failed(given))
    return failure();
  int64_t limit = inserts ? count + 1 : count;
  if (given->size() != 1 || given->front() < -count || given->front() >= limit)
    return node.invalid("its position is outside a sequence of " + Twine(count));
  return given->front() < 0 ? given->front() + count : given->front();
}

LogicalResult listResult(NodeContext &node, ArrayRef<Value> elements) {
  if (llvm::is_contained(elements, Value()))
    return node.result({});
  return node.result(makeList(node.mlir(), node.loc(), elements));
}

LogicalResult sequenceEmpty(NodeContext &node) { return listResult(node, {}); }

LogicalResult sequenceConstruct(NodeContext &node) {
  if (failed(node.require(node.inputCount())))
    return failure();
  SmallVector<Value> elements;
  for (size_t i = 0; i < node.inputCount(); ++i)
    elements.push_back(node.input(i));
  return listResult(node, elements);
}

LogicalResult sequenceInsert(NodeContext &node) {
  FailureOr<SmallVector<Value>> elements = listAt(node, 0);
  if (failed(elements) || failed(node.require(2)))
    return failure();
  auto at = static_cast<int64_t>(elements->size());
  if (node.has(2)) {
    FailureOr<int64_t> given = positionAt(node, 2, at, /*inserts=*/true);
    if (failed(given))
      return failure();
    at = *given;
  }
  elements->insert(elements->begin() + at, node.input(1));
  return listResult(node, *elements);
}

LogicalResult sequenceErase(NodeContext &node) {
  FailureOr<SmallVector<Value>> elements = listAt(node, 0);
  if (failed(elements))
    return failure();
  auto count = static_cast<int64_t>(elements->size());
  if (count == 0)
    return node.invalid("its sequence is empty");
  int64_t at = count - 1;
  if (node.has(1)) {
    FailureOr<int64_t> given = positionAt(node, 1, count, /*inserts=*/false);
    if (failed(given))
      return failure();
    at = *given;
  }
  elements->erase(elements->begin() + at);
  return listResult(node, *elements);
}

LogicalResult sequenceAt(NodeContext &node) {
  FailureOr<SmallVector<Value>> elements = listAt(node, 0);
  if (failed(elements))
    return failure();
  FailureOr<int64_t> at = positionAt(node, 1, static_cast<int64_t>(elements->size()), /*inserts=*/false);
  if (failed(at))
    return failure();
  return node.result((*elements)[*at]);
}

LogicalResult sequenceLength(NodeContext &node) {
  FailureOr<SmallVector<Value>> elements = listAt(node, 0);
  if (failed(elements))
    return failure();
  return node.result(node.reshape(node.integers({static_cast<int64_t>(elements->size())}), {}));
}

LogicalResult concatFromSequence(NodeContext &node) {
  FailureOr<SmallVector<Value>> elements = listAt(node, 0);
  if (failed(elements))
    return failure();
  if (elements->empty() || !llvm::all_of(*elements, isTensor))
    return node.invalid("its sequence is empty, or not of tensors");
  bool adds = node.integerOr("new_axis", 0) != 0;
  int64_t rank = rankOf(elements->front()) + adds;
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rank);
  if (failed(axis))
    return failure();
  for (Value &element : *elements) {
    if (rankOf(element) + adds != rank)
      return node.invalid("its tensors' ranks differ");
    Dims dims(shapeOf(element));
    if (adds)
      dims.insert(dims.begin() + *axis, 1);
    element = node.reshape(element, dims);
  }
  return node.result(node.concat(*elements, *axis));
}

LogicalResult splitToSequence(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  FailureOr<int64_t> axis = node.axis(node.integerOr("axis", 0), rankOf(x));
  if (failed(axis))
    return failure();
  int64_t extent = shapeOf(x)[*axis];
  constexpr int64_t kMostParts = 10000;
  auto tooMany = [&](int64_t parts) {
    return node.unsupported("it splits into " + Twine(parts) + " tensors, at most " + Twine(kMostParts) +
                            " are supported");
  };
  Dims sizes;
  bool drops = false;
  if (!node.has(1)) {
    if (extent > kMostParts)
      return tooMany(extent);
    sizes.assign(extent, 1);
    drops = node.integerOr("keepdims", 1) == 0;
  } else {
    // How many parts there are is known of a list of sizes.
    if (rankOf(node.input(1)) == 1 && elementCount(node.input(1).getType()) > 0 && !getIntegers(node.input(1))) {
      FailureOr<SmallVector<Value>> parts = splitFound(node, *axis, shapeOf(node.input(1))[0]);
      return failed(parts) ? failure() : listResult(node, *parts);
    }
    FailureOr<Dims> given = node.constantIntegers(1, "split");
    if (failed(given))
      return failure();
    sizes = *given;
    if (rankOf(node.input(1)) == 0) {
      // Parts of one size, the last as large as what is left.
      int64_t size = sizes.front();
      if (size > 0 && extent / size >= kMostParts)
        return tooMany(extent / size);
      sizes.clear();
      for (int64_t left = extent; size > 0 && left > 0; left -= size)
        sizes.push_back(std::min(size, left));
    }
  }
  int64_t start = 0;
  SmallVector<Value> parts;
  for (int64_t size : sizes) {
    if (size < 0 || size > extent - start)
      return node.invalid("its split does not add up to " + Twine(extent));
    Value part = size == extent ? x : node.sliceAxis(x, *axis, size ? start : 0, size);
    if (drops && part) {
      Dims dims(shapeOf(part));
      dims.erase(dims.begin() + *axis);
      part = node.reshape(part, dims);
    }
    parts.push_back(part);
    start += size;
  }
  if (start != extent)
    return node.invalid("its split does not add up to " + Twine(extent));
  return listResult(node, parts);
}

/// A subgraph for each element of the first sequence; of other sequences it gets the element beside, of tensors all.
LogicalResult sequenceMap(NodeContext &node) {
  FailureOr<SmallVector<Value>> first = listAt(node, 0);
  const ::onnx::AttributeProto *body = node.find("body", ::onnx::AttributeProto::GRAPH);
  if (failed(first) || failed(node.require(node.inputCount())))
    return failure();
  if (!body)
    return node.invalid("it has no body");
  SmallVector<SmallVector<Value>> columns(body->g().output_size());
  for (size_t i = 0; i < first->size(); ++i) {
    SmallVector<Value> arguments;
    for (size_t k = 0; k < node.inputCount(); ++k) {
      Value input = node.input(k);
      if (isList(input) && elementsOf(input).size() != first->size())
        return node.invalid("its sequences differ in length");
      arguments.push_back(isList(input) ? elementsOf(input)[i] : input);
    }
    FailureOr<SmallVector<Value>> results = node.importBody(body->g(), arguments);
    if (failed(results))
      return failure();
    for (auto [column, value] : llvm::zip(columns, *results))
      column.push_back(value);
  }
  SmallVector<Value> lists;
  for (ArrayRef<Value> column : columns)
    lists.push_back(makeList(node.mlir(), node.loc(), column));
  return node.results(lists);
}

LogicalResult optional(NodeContext &node) {
  return node.result(node.has(0) ? node.input(0) : makeAbsent(node.mlir(), node.loc()));
}

LogicalResult optionalHasElement(NodeContext &node) {
  bool has = node.has(0) && !isAbsent(node.input(0));
  return node.result(node.splat(node.mlir().getI1Type(), has ? 1 : 0));
}

LogicalResult optionalGetElement(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  if (isAbsent(node.input(0)))
    return node.invalid("its optional has no value");
  return node.result(node.input(0));
}

LogicalResult identity(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  return node.result(node.input(0));
}

constexpr OperatorEntry kOperators[] = {
    {"", "SequenceEmpty", 11, sequenceEmpty, true},
    {"", "SequenceConstruct", 11, sequenceConstruct, true},
    {"", "SequenceInsert", 11, sequenceInsert, true},
    {"", "SequenceErase", 11, sequenceErase, true},
    {"", "SequenceAt", 11, sequenceAt, true},
    {"", "SequenceLength", 11, sequenceLength, true},
    {"", "ConcatFromSequence", 11, concatFromSequence, true},
    {"", "SplitToSequence", 11, splitToSequence, true},
    {"", "SequenceMap", 17, sequenceMap, true},
    {"", "Optional", 15, optional, true},
    {"", "OptionalHasElement", 15, optionalHasElement, true},
    {"", "OptionalGetElement", 15, optionalGetElement, true},
    {"", "Identity", 1, identity, true},
};

} // namespace

ArrayRef<OperatorEntry> sequenceOperators() { return kOperators; }

} // namespace sluice::onnximport
