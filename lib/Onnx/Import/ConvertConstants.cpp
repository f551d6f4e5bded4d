//===- ConvertConstants.cpp - Constants and shapes as data ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "NodeContext.h"

#include "sluice/Onnx/ModelFile.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

LogicalResult constant(NodeContext &node) {
  if (node.proto.attribute_size() != 1)
    return node.invalid("it has " + Twine(node.proto.attribute_size()) + " values, it needs one");
  const ::onnx::AttributeProto &attribute = node.proto.attribute(0);
  OpBuilder &builder = node.mlir();
  auto dense = [&](auto values, Type elementType, bool scalar) -> Value {
    Dims dims;
    if (!scalar)
      dims.push_back(static_cast<int64_t>(values.size()));
    return ConstantOp::create(builder, node.loc(),
                              DenseElementsAttr::get(RankedTensorType::get(dims, elementType), ArrayRef(values)));
  };
  const std::string &name = attribute.name();
  if (name == "value")
    return node.result(node.constant(attribute.t()));
  if (name == "value_int")
    return node.result(dense(SmallVector<int64_t>{attribute.i()}, builder.getI64Type(), true));
  if (name == "value_ints")
    return node.result(dense(Dims(attribute.ints().begin(), attribute.ints().end()), builder.getI64Type(), false));
  if (name == "value_float")
    return node.result(dense(SmallVector<float>{attribute.f()}, builder.getF32Type(), true));
  if (name == "value_floats")
    return node.result(
        dense(SmallVector<float>(attribute.floats().begin(), attribute.floats().end()), builder.getF32Type(), false));
  if (name == "value_string" || name == "value_strings") {
    bool isScalar = name == "value_string";
    SmallVector<StringRef> texts(attribute.strings().begin(), attribute.strings().end());
    if (isScalar)
      texts.assign({attribute.s()});
    auto type = node.type(elementTypeFromOnnx(node.context(), onnxtype::String),
                          isScalar ? Dims() : Dims{static_cast<int64_t>(texts.size())});
    return node.result(StringConstantOp::create(builder, node.loc(), type, builder.getStrArrayAttr(texts)));
  }
  return node.unsupported("its value is given as '" + name + "'");
}

LogicalResult shape(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.whole(node.input(0));
  int64_t rank = rankOf(x);
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamped(node.integerOr("start", 0)), end = clamped(node.integerOr("end", rank));
  ArrayRef<int64_t> dims = shapeOf(x);
  if (!node.extents->isBounded(x) || start >= end)
    return node.result(node.integers(start < end ? dims.slice(start, end - start) : ArrayRef<int64_t>()));
  SmallVector<Value> parts;
  for (int64_t d = start; d < end; ++d) {
    Value count = node.extents->of(x, d);
    parts.push_back(count ? node.reshape(count, {1}) : node.integers({dims[d]}));
  }
  return node.result(node.concat(parts, 0));
}

LogicalResult size(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.whole(node.input(0));
  if (node.extents->isBounded(x))
    return node.unsupported("how much of its operand holds is known only when the model runs");
  return node.result(node.reshape(node.integers({elementCount(x.getType())}), {}));
}

LogicalResult constantOfShape(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  FailureOr<SmallVector<NodeContext::Size>> sizes = node.sizesAt(0, "shape");
  if (failed(sizes))
    return failure();
  Dims dims;
  for (const NodeContext::Size &size : *sizes)
    dims.push_back(size.room);
  auto hold = [&](Value result) {
    for (auto [d, size] : llvm::enumerate(*sizes))
      result = node.held(result, static_cast<int64_t>(d), size.count);
    return node.result(result);
  };
  const ::onnx::AttributeProto *value = node.find("value", ::onnx::AttributeProto::TENSOR);
  if (!value)
    return hold(node.splat(node.mlir().getF32Type(), 0, dims));
  Value one = node.constant(value->t());
  if (!one || elementCount(one.getType()) != 1)
    return node.result({});
  RankedTensorType type = node.type(elementTypeOf(one), dims);
  auto element = dyn_cast_if_present<DenseElementsAttr>(getConstant(one));
  if (!type || !element)
    return node.result({});
  return hold(ConstantOp::create(node.mlir(), node.loc(), element.resizeSplat(type)));
}

/// A row of integers from `start` on, whose end is not known.
LogicalResult rangeToFound(NodeContext &node) {
  FailureOr<Dims> start = node.constantIntegers(0, "start"), delta = node.constantIntegers(2, "delta");
  FailureOr<SmallVector<NodeContext::Size>> limit = node.sizesAt(1, "limit");
  if (failed(start) || failed(delta) || failed(limit))
    return failure();
  const int64_t from = start->front(), step = delta->front();
  if (step < 1 || from < 0)
    return node.unsupported(
        "its limit is not known before the model runs, and it does not count upwards from 0 or more");
  Type index = node.mlir().getI64Type(), type = elementTypeOf(node.input(0));
  auto number = [&](int64_t value) { return node.splat(index, static_cast<double>(value)); };
  const NodeContext::Size &end = limit->front();
  const int64_t room = end.room <= from ? 0 : (end.room - from - 1) / step + 1;
  Value first = number(from), zero = number(0);
  Value span = node.sub(end.count, first);
  span = node.binary(BinaryKind::max, span, zero);
  Value count = span;
  if (step != 1) {
    Value less = number(step - 1), distance = number(step);
    Value rounded = node.add(span, less);
    count = node.binary(BinaryKind::div, rounded, distance);
  }
  Value row = node.create<RangeOp>({node.reshape(node.input(0), {}), node.reshape(node.input(2), {})}, {},
                                   {node.type(type, {room})});
  return node.result(count ? node.held(row, 0, count) : Value());
}

LogicalResult range(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Type type = elementTypeOf(node.input(0));
  for (size_t i = 0; i < 3; ++i)
    if (elementCount(node.input(i).getType()) != 1 || elementTypeOf(node.input(i)) != type)
      return node.invalid("its operands are not three scalars of one type");
  int64_t count = 0;
  if (isa<IntegerType>(type) && !getIntegers(node.input(1)))
    return rangeToFound(node);
  if (isa<IntegerType>(type)) {
    FailureOr<Dims> start = node.constantIntegers(0, "start"), limit = node.constantIntegers(1, "limit"),
                    delta = node.constantIntegers(2, "delta");
    if (failed(start) || failed(limit) || failed(delta))
      return failure();
    int64_t span, step = delta->front();
    if (step == 0 || step == INT64_MIN || llvm::SubOverflow(limit->front(), start->front(), span) || span == INT64_MIN)
      return node.invalid("its limits or its delta are out of range");
    if (step < 0)
      span = -span, step = -step;
    count = span <= 0 ? 0 : (span - 1) / step + 1;
  } else {
    FailureOr<SmallVector<double>> start = node.constantNumbers(0, "start"), limit = node.constantNumbers(1, "limit"),
                                   delta = node.constantNumbers(2, "delta");
    if (failed(start) || failed(limit) || failed(delta))
      return failure();
    double steps = std::ceil((limit->front() - start->front()) / delta->front());
    if (!(std::abs(steps) < 1e15))
      return node.invalid("its limits or its delta are out of range");
    count = std::max<int64_t>(0, static_cast<int64_t>(steps));
  }
  return node.result(node.create<RangeOp>({node.reshape(node.input(0), {}), node.reshape(node.input(2), {})}, {},
                                          {node.type(type, {count})}));
}

LogicalResult eyeLike(NodeContext &node) {
  if (failed(node.require(1)))
    return failure();
  Value x = node.input(0);
  if (rankOf(x) != 2)
    return node.invalid("its input is no matrix");
  Type type = elementTypeOf(x);
  if (node.find("dtype"))
    type = elementTypeFromOnnx(node.context(), static_cast<int32_t>(node.integerOr("dtype", 0)));
  if (!type)
    return node.unsupported("its dtype is " + Twine(node.integerOr("dtype", 0)));
  int64_t diagonal = std::clamp<int64_t>(node.integerOr("k", 0), -shapeOf(x)[0], shapeOf(x)[1]);
  Type index = node.mlir().getI64Type();
  const Value offset = node.splat(index, static_cast<double>(diagonal));
  Value rows = node.add(node.iota(index, shapeOf(x)[0], 0, 2), offset);
  Value columns = node.iota(index, shapeOf(x)[1], 1, 2);
  return node.result(node.cast(node.compare(ComparePredicate::eq, columns, rows), type));
}

constexpr OperatorEntry kOperators[] = {
    {"", "Constant", 1, constant}, {"", "Shape", 1, shape},
    {"", "Size", 1, size},         {"", "ConstantOfShape", 9, constantOfShape},
    {"", "Range", 11, range},      {"", "EyeLike", 9, eyeLike},
};

} // namespace

ArrayRef<OperatorEntry> constantOperators() { return kOperators; }

} // namespace sluice::onnximport
