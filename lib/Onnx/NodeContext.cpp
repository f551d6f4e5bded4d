//===- NodeContext.cpp - What a converter sees of a node ------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeContext.h"

#include "sluice/Onnx/TensorData.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnximport {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }
ArrayRef<int64_t> shapeOf(Value value) { return tensorType(value).getShape(); }
Type elementTypeOf(Value value) { return tensorType(value).getElementType(); }

Type elementTypeFromOnnx(MLIRContext *context, int32_t onnxType) {
  auto integer = [&](unsigned width, IntegerType::SignednessSemantics sign = IntegerType::Signless) {
    return IntegerType::get(context, width, sign);
  };
  switch (onnxType) {
  case onnxtype::Float:
    return Float32Type::get(context);
  case onnxtype::Double:
    return Float64Type::get(context);
  case onnxtype::Float16:
    return Float16Type::get(context);
  case onnxtype::BFloat16:
    return BFloat16Type::get(context);
  case onnxtype::Bool:
    return integer(1);
  case onnxtype::Int8:
    return integer(8);
  case onnxtype::Int16:
    return integer(16);
  case onnxtype::Int32:
    return integer(32);
  case onnxtype::Int64:
    return integer(64);
  case onnxtype::UInt8:
    return integer(8, IntegerType::Unsigned);
  case onnxtype::UInt16:
    return integer(16, IntegerType::Unsigned);
  case onnxtype::UInt32:
    return integer(32, IntegerType::Unsigned);
  case onnxtype::UInt64:
    return integer(64, IntegerType::Unsigned);
  default:
    return nullptr;
  }
}

/// Larger constants stay where they are.
static constexpr size_t kInlineBytes = 1024;

ElementsAttr constantAttribute(MLIRContext *context, const TensorData &data, StringRef name) {
  Type elementType = elementTypeFromOnnx(context, data.elementType);
  if (!elementType)
    return nullptr;
  auto type = RankedTensorType::get(data.dims, elementType);
  ArrayRef<char> bytes(reinterpret_cast<const char *>(data.bytes.data()), data.bytes.size());
  if (bytes.size() <= kInlineBytes)
    return makeDense(type, bytes);
  return makeResource(type, name, bytes, data.owner);
}

//===----------------------------------------------------------------------===//
// NodeContext
//===----------------------------------------------------------------------===//

LogicalResult NodeContext::require(size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (!has(i))
      return invalid("it has no input " + Twine(i));
  return success();
}

const ::onnx::AttributeProto *NodeContext::find(StringRef name) const {
  for (const ::onnx::AttributeProto &attribute : proto.attribute())
    if (attribute.name() == name)
      return &attribute;
  return nullptr;
}

int64_t NodeContext::integerOr(StringRef name, int64_t fallback) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->i() : fallback;
}

double NodeContext::numberOr(StringRef name, double fallback) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->f() : fallback;
}

std::string NodeContext::stringOr(StringRef name, StringRef fallback) const {
  const ::onnx::AttributeProto *attribute = find(name);
  return attribute ? attribute->s() : fallback.str();
}

std::optional<Dims> NodeContext::integersAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return Dims(attribute->ints().begin(), attribute->ints().end());
}

std::optional<SmallVector<double>> NodeContext::numbersAt(StringRef name) const {
  const ::onnx::AttributeProto *attribute = find(name);
  if (!attribute)
    return std::nullopt;
  return SmallVector<double>(attribute->floats().begin(), attribute->floats().end());
}

FailureOr<Dims> NodeContext::constantIntegers(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  if (std::optional<SmallVector<int64_t>> values = getIntegers(inputs[index]))
    return Dims(*values);
  return unsupported("its " + what + " is not known before the model runs");
}

FailureOr<SmallVector<double>> NodeContext::constantNumbers(size_t index, StringRef what) {
  if (!has(index))
    return invalid("it has no " + what);
  ElementsAttr constant = getConstant(inputs[index]);
  if (!constant || elementCount(constant.getType()) > kFoldElements)
    return unsupported("its " + what + " is not known before the model runs");
  if (isa<IntegerType>(constant.getElementType())) {
    FailureOr<Dims> integers = constantIntegers(index, what);
    if (failed(integers))
      return failure();
    return SmallVector<double>(integers->begin(), integers->end());
  }
  auto type = RankedTensorType::get(shapeOf(inputs[index]), constant.getElementType());
  std::vector<char> bytes(dataflow::tensorBytes(type));
  if (failed(copyConstant(constant, bytes.data())))
    return unsupported("the data of its " + what + " is not there");
  SmallVector<double> values;
  for (const APFloat &value : makeDense(type, bytes).getValues<APFloat>()) {
    APFloat wide = value;
    bool loses;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
    values.push_back(wide.convertToDouble());
  }
  return values;
}

Value NodeContext::constant(const ::onnx::TensorProto &tensor) {
  Expected<TensorData> data = model.tensor(tensor);
  if (!data) {
    (void)(data.error().code == ErrorCode::Unsupported ? unsupported(data.error().message)
                                                       : invalid(data.error().message));
    return {};
  }
  StringRef name = tensor.name().empty() && proto.output_size() ? StringRef(proto.output(0)) : StringRef(tensor.name());
  ElementsAttr value = constantAttribute(context(), *data, name);
  if (!value) {
    (void)unsupported("its elements are of type " + onnxtype::name(data->elementType));
    return {};
  }
  return ConstantOp::create(mlir(), loc(), value);
}

FailureOr<int64_t> NodeContext::axis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return invalid("axis " + Twine(axis) + " is out of range for a tensor of " + Twine(rank) + " dimensions");
  return axis < 0 ? axis + rank : axis;
}

FailureOr<Dims> NodeContext::axes(ArrayRef<int64_t> given, int64_t rank) {
  Dims result;
  for (int64_t one : given) {
    FailureOr<int64_t> normal = axis(one, rank);
    if (failed(normal))
      return failure();
    result.push_back(*normal);
  }
  llvm::sort(result);
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    return invalid("it names an axis twice");
  return result;
}

LogicalResult NodeContext::invalid(const Twine &why) {
  if (reason.empty())
    reason = why.str();
  return failure();
}

LogicalResult NodeContext::unsupported(const Twine &why) {
  isUnsupported = true;
  return invalid(why);
}

LogicalResult NodeContext::results(ArrayRef<Value> values) {
  for (Value value : values)
    if (!value)
      return invalid(message().empty() ? Twine("its operands do not fit together") : Twine(message()));
  outputs.assign(values.begin(), values.end());
  return success();
}

} // namespace sluice::onnximport
