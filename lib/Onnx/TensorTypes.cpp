//===- TensorTypes.cpp - ONNX tensors in the dialect's types --------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "lib/Onnx/TensorTypes.h"

#include "sluice/Onnx/TensorData.h"

using namespace mlir;
using namespace sluice::dataflow;

namespace sluice::onnxtensor {

RankedTensorType tensorType(Value value) { return cast<RankedTensorType>(value.getType()); }
ArrayRef<int64_t> shapeOf(Value value) { return value ? tensorType(value).getShape() : ArrayRef<int64_t>(); }
Type elementTypeOf(Value value) { return tensorType(value).getElementType(); }

Type elementTypeFromOnnx(MLIRContext *context, int64_t onnxType) {
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
  case onnxtype::String:
    return StringType::get(context);
  case onnxtype::Int4:
    return integer(4);
  case onnxtype::UInt4:
    return integer(4, IntegerType::Unsigned);
  case onnxtype::Int2:
    return integer(2);
  case onnxtype::UInt2:
    return integer(2, IntegerType::Unsigned);
  case onnxtype::Float8E4M3FN:
    return Float8E4M3FNType::get(context);
  case onnxtype::Float8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case onnxtype::Float8E5M2:
    return Float8E5M2Type::get(context);
  case onnxtype::Float8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case onnxtype::Float8E8M0:
    return Float8E8M0FNUType::get(context);
  case onnxtype::Float4E2M1:
    return Float4E2M1FNType::get(context);
  default:
    return nullptr;
  }
}

int32_t elementTypeToOnnx(Type elementType) {
  for (int32_t number = onnxtype::Float; number <= onnxtype::Int2; ++number)
    if (elementTypeFromOnnx(elementType.getContext(), number) == elementType)
      return number;
  return onnxtype::Undefined;
}

static bool isIntegralConstant(ElementsAttr constant) {
  if (isa<IntegerType>(constant.getElementType()))
    return true;
  auto type = RankedTensorType::get(constant.getShapedType().getShape(), constant.getElementType());
  if (elementCount(type) > kFoldElements)
    return false;
  std::vector<char> bytes(dataflow::tensorBytes(type));
  if (failed(copyConstant(constant, bytes.data())))
    return false;
  auto values = makeDense(type, bytes).getValues<APFloat>();
  return llvm::all_of(values, [](const APFloat &value) { return value.isInteger() || !value.isFinite(); });
}

bool isIntegral(Value value) {
  // Sums of rounded numbers are as deep as this gets.
  constexpr size_t kMostLookedAt = 16;
  SmallVector<Value> open{value};
  for (size_t at = 0; at < open.size(); ++at) {
    Operation *op = open[at].getDefiningOp();
    if (isa<IntegerType>(elementTypeOf(open[at])))
      continue;
    if (at == kMostLookedAt || !op)
      return false;
    if (ElementsAttr constant = getConstant(open[at])) {
      if (!isIntegralConstant(constant))
        return false;
      continue;
    }
    auto unary = dyn_cast<UnaryOp>(op);
    if (unary && (unary.getKind() == UnaryKind::round || unary.getKind() == UnaryKind::floor ||
                  unary.getKind() == UnaryKind::ceil))
      continue;
    auto binary = dyn_cast<BinaryOp>(op);
    bool keeps = binary && llvm::is_contained(
                               {BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::max, BinaryKind::min},
                               binary.getKind());
    if (!keeps && !isa<CastOp, ReshapeOp, TransposeOp, ExpandOp, SliceOp>(op))
      return false;
    llvm::append_range(open, op->getOperands());
  }
  return true;
}

} // namespace sluice::onnxtensor
