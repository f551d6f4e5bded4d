//===- ConvertConstants.cpp - Constants and shapes as data ----------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "Extents.h"
#include "StepIntegers.h"
#include "StepReals.h"

#include "sluice/Onnx/ModelFile.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {
namespace {

LogicalResult constant(NodeContext &node) {
  if (node.proto.attribute_size() != 1)
    return node.invalid("it has " + Twine(node.proto.attribute_size()) +
                        " attributes with a value, exactly 1 is allowed");
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
  return node.unsupported("its value is in the attribute '" + name + "'");
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
    return node.unsupported("its operand has an extent that depends on data and is known only when the model runs");
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

/// A row of integers upwards from `from` on, which is not negative, in known steps, whose end is not known.
LogicalResult rangeToFound(NodeContext &node, int64_t from, int64_t step) {
  const int64_t declared = StepIntegers(node).declaredAt({0}, 1).front();
  const Count end = Count(declared) * step + from;
  FailureOr<SmallVector<NodeContext::Size>> limit =
      node.sizesAt(1, "limit", declared < 0 ? std::nullopt : std::optional(Dims{end.isSaturated() ? -1 : end.value()}));
  if (failed(limit))
    return failure();
  Type index = node.mlir().getI64Type(), type = elementTypeOf(node.input(0));
  auto number = [&](int64_t value) { return node.splat(index, static_cast<double>(value)); };
  const NodeContext::Size &last = limit->front();
  const int64_t room = last.room <= from ? 0 : (last.room - from - 1) / step + 1;
  Value count = last.count;
  if (from != 0) {
    Value first = number(from), zero = number(0);
    count = node.binary(BinaryKind::max, node.sub(count, first), zero);
  }
  if (step != 1) {
    Value less = number(step - 1), distance = number(step);
    Value rounded = node.add(count, less);
    count = node.binary(BinaryKind::div, rounded, distance);
  }
  Value row = node.create<RangeOp>({node.reshape(node.input(0), {}), node.reshape(node.input(2), {})}, {},
                                   {node.type(type, {room})});
  return node.result(count ? node.held(row, 0, count) : Value());
}

/// How many elements a range may have at most, of intervals of its operands; nullopt, and reported, if nothing bounds
/// them.
std::optional<int64_t> mostOfRange(NodeContext &node, bool isReal) {
  StepReals real(node);
  const RealInterval start = real.intervalAt(0), limit = real.intervalAt(1), delta = real.intervalAt(2);
  const bool mayRise = delta.high > 0, mayFall = delta.low < 0;
  const double least = delta.low > 0 ? delta.low : delta.high < 0 ? -delta.high : isReal ? 0 : 1;
  double span = 0;
  if (mayRise)
    span = std::max(span, limit.high - start.low);
  if (mayFall)
    span = std::max(span, start.high - limit.low);
  const double most = std::ceil(span / least);
  if (most < 0x1p40)
    return static_cast<int64_t>(most);
  if (const int64_t declared = StepIntegers(node).declaredAt({0}, 1).front(); declared >= 0)
    return declared;
  const bool lacksDelta = !(least > 0);
  const int operand = lacksDelta ? 2 : (mayRise && !limit.hasHigh()) || (mayFall && !limit.hasLow()) ? 1 : 0;
  static constexpr const char *kNames[] = {"start", "limit", "delta"};
  (void)node.unsupported("its " + Twine(kNames[operand]) + " is not known before the model runs and " +
                         (lacksDelta ? "may be near to 0" : "has no lower or upper bound") +
                         ", give bounds by --bound " + node.proto.input(operand) + "=LOW..N");
  return std::nullopt;
}

/// A row of which any operand is known only when the model runs.
LogicalResult rangeOfStep(NodeContext &node) {
  const Type type = elementTypeOf(node.input(0)), index = node.mlir().getI64Type();
  const bool isReal = isa<FloatType>(type);
  const std::optional<int64_t> most = mostOfRange(node, isReal);
  if (!most)
    return failure();
  StepReals real(node);
  StepIntegers integer(node);
  SmallVector<Value> scalars;
  for (size_t i = 0; i < 3; ++i)
    scalars.push_back(node.reshape(node.input(i), {}));
  Value count;
  if (isReal) {
    Value start = real.of(scalars[0]), limit = real.of(scalars[1]), delta = real.of(scalars[2]), none = real.number(0);
    Value steps = real.ceil(node.div(node.sub(limit, start), delta));
    count = real.count(node.binary(BinaryKind::max, steps, none));
  } else {
    Value start = node.cast(scalars[0], index), limit = node.cast(scalars[1], index), zero = integer.scalar(0);
    Value delta = node.cast(scalars[2], index), distance = node.unary(UnaryKind::abs, delta), one = integer.scalar(1);
    Value falls = node.compare(ComparePredicate::lt, delta, zero), down = node.sub(start, limit);
    Value span = node.select(falls, down, node.sub(limit, start));
    Value step = node.binary(BinaryKind::max, distance, one);
    count = integer.divideUp(node.binary(BinaryKind::max, span, zero), step);
    // Without a step there are no elements, but an error; differences of large numbers wrap.
    Value moves = node.compare(ComparePredicate::ge, distance, one), width = real.of(limit);
    width = node.unary(UnaryKind::abs, node.sub(width, real.of(start)));
    Value isValid = node.binary(BinaryKind::logical_and, moves, real.compare(ComparePredicate::lt, width, 0x1p40));
    Value beyond = integer.scalar(int64_t(1) << 40);
    count = node.select(isValid, count, beyond);
  }
  Value row = node.create<RangeOp>({scalars[0], scalars[2]}, {}, {node.type(type, {node.roomOf(*most)})});
  return node.result(count ? node.held(row, 0, count) : Value());
}

LogicalResult range(NodeContext &node) {
  if (failed(node.require(3)))
    return failure();
  Type type = elementTypeOf(node.input(0));
  for (size_t i = 0; i < 3; ++i)
    if (elementCount(node.input(i).getType()) != 1 || elementTypeOf(node.input(i)) != type)
      return node.invalid("its operands must be three scalars of one type");
  int64_t count = 0;
  if (isa<IntegerType>(type)) {
    std::optional<SmallVector<int64_t>> start = getIntegers(node.input(0)), limit = getIntegers(node.input(1)),
                                        delta = getIntegers(node.input(2));
    if (start && delta && !limit && start->front() >= 0 && delta->front() >= 1)
      return rangeToFound(node, start->front(), delta->front());
    if (!start || !limit || !delta)
      return rangeOfStep(node);
    int64_t span, step = delta->front();
    if (step == 0 || step == INT64_MIN || llvm::SubOverflow(limit->front(), start->front(), span) || span == INT64_MIN)
      return node.invalid("its start, limit or delta is out of range");
    if (step < 0)
      span = -span, step = -step;
    count = span <= 0 ? 0 : (span - 1) / step + 1;
  } else {
    if (llvm::any_of(llvm::seq<size_t>(0, 3), [&](size_t i) { return !getConstant(node.input(i)); }))
      return rangeOfStep(node);
    FailureOr<SmallVector<double>> start = node.constantNumbers(0, "start"), limit = node.constantNumbers(1, "limit"),
                                   delta = node.constantNumbers(2, "delta");
    if (failed(start) || failed(limit) || failed(delta))
      return failure();
    double steps = std::ceil((limit->front() - start->front()) / delta->front());
    if (!(std::abs(steps) < 1e15))
      return node.invalid("its start, limit or delta is out of range");
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
    return node.invalid("its input must be a matrix");
  Type type = elementTypeOf(x);
  if (node.find("dtype"))
    type = elementTypeFromOnnx(node.context(), node.integerOr("dtype", 0));
  if (!type)
    return node.unsupported("its dtype is element type " + Twine(node.integerOr("dtype", 0)) +
                            " of ONNX, which is not supported here");
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
