//===- ExportElementwise.cpp - Element-wise operators to ONNX -------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

#include "dialects/Dataflow/IR/ElementwiseKinds.h"

#include <cmath>

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::elementTypeOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

/// What a row says of its ONNX operator; what else a node needs, its kind's case here adds.
LogicalResult unary(UnaryOp op, NodeWriter &writer) {
  const UnaryRow &row = rowOf(op.getKind());
  if (!*row.onnx)
    return writer.refuse("ONNX has no function '" + Twine(row.name) + "'");
  Node node = writer.node(row.onnx, writer.operands(), std::max(row.onnxSince, kExportOpset));
  if (*row.alpha)
    node.set(row.alpha, op.getAlpha());
  if (*row.beta)
    node.set(row.beta, op.getBeta());
  if (op.getKind() == UnaryKind::gelu_tanh)
    node.set("approximate", "tanh");
  if (op.getKind() == UnaryKind::is_inf)
    node.set("detect_positive", int64_t(!op.getAlpha().isZero()))
        .set("detect_negative", int64_t(!op.getBeta().isZero()));
  return success();
}

/// ONNX's Mod takes the divisor's sign for integers alone.
void floatMod(NodeWriter &writer, Type type) {
  std::string x = writer.operands()[0], y = writer.operands()[1], zero = writer.scalar("zero", type, 0);
  std::string rest = writer.step("Mod", {x, y}).set("fmod", int64_t(1)).output();
  std::string isRest = writer.step("Not", {writer.step("Equal", {rest, zero}).output()}).output();
  std::string signs =
      writer.step("Xor", {writer.step("Less", {rest, zero}).output(), writer.step("Less", {y, zero}).output()})
          .output();
  std::string turned = writer.step("Add", {rest, y}).output();
  writer.node("Where", {writer.step("And", {isRest, signs}).output(), turned, rest});
}

LogicalResult binary(BinaryOp op, NodeWriter &writer) {
  const BinaryRow &row = rowOf(op.getKind());
  if (!*row.onnx)
    return writer.refuse("ONNX has no function '" + Twine(row.name) + "'");
  Type type = elementTypeOf(op.getLhs());
  bool isShift = op.getKind() == BinaryKind::shift_left || op.getKind() == BinaryKind::shift_right;
  if (isShift && !type.isUnsignedInteger())
    return writer.refuse("ONNX shifts unsigned integers only");
  if (op.getKind() == BinaryKind::prelu && shapeOf(op.getResult()) != shapeOf(op.getLhs()))
    return writer.refuse("ONNX's PRelu broadcasts only the slope, and here the input broadcasts too");
  if (op.getKind() == BinaryKind::mod && isa<FloatType>(type)) {
    floatMod(writer, type);
    return success();
  }
  Node node = writer.node(row.onnx, writer.operands(), std::max(row.onnxSince, kExportOpset));
  if (op.getKind() == BinaryKind::fmod)
    node.set("fmod", int64_t(1));
  if (isShift)
    node.set("direction", op.getKind() == BinaryKind::shift_left ? "LEFT" : "RIGHT");
  return success();
}

LogicalResult compare(CompareOp op, NodeWriter &writer) {
  switch (op.getPredicate()) {
  case ComparePredicate::eq:
    writer.node("Equal", writer.operands());
    break;
  case ComparePredicate::ne:
    writer.node("Not", {writer.step("Equal", writer.operands()).output()});
    break;
  case ComparePredicate::lt:
    writer.node("Less", writer.operands());
    break;
  case ComparePredicate::le:
    writer.node("LessOrEqual", writer.operands());
    break;
  case ComparePredicate::gt:
    writer.node("Greater", writer.operands());
    break;
  case ComparePredicate::ge:
    writer.node("GreaterOrEqual", writer.operands());
    break;
  }
  return success();
}

LogicalResult select(SelectOp, NodeWriter &writer) {
  writer.node("Where", writer.operands());
  return success();
}

/// ONNX saturates where it quantizes: with scale 1 and zero point 0 that is rounding, which whole numbers do not feel.
/// To wider types, and of other numbers, the range is cut off by hand.
LogicalResult saturatingCast(CastOp op, NodeWriter &writer) {
  std::string x = writer.operands()[0];
  Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
  auto integer = dyn_cast<IntegerType>(to);
  if (!integer || !isa<FloatType>(from))
    return writer.refuse("ONNX saturates from floating point to integers only");
  unsigned width = integer.getWidth();
  if (width <= 16 && from.isF32() && onnxtensor::isIntegral(op.getInput())) {
    writer.node("QuantizeLinear", {x, writer.scalar("scale", from, 1), writer.scalar("zero_point", to, 0)},
                width == 8 ? kExportOpset : 21);
    return success();
  }
  if (width > 32 || (width > 16 && !from.isF64()))
    return writer.refuse("the limits of the result's type have no exact value in the operand's type");
  double top = std::ldexp(1.0, static_cast<int>(to.isUnsignedInteger() ? width : width - 1)) - 1;
  double bottom = to.isUnsignedInteger() ? 0 : -top - 1;
  std::string number =
      writer.step("Where", {writer.step("IsNaN", {x}).output(), writer.scalar("zero", from, 0), x}).output();
  std::string cut =
      writer.step("Clip", {number, writer.scalar("least", from, bottom), writer.scalar("most", from, top)}).output();
  writer.node("Cast", {cut}).set("to", int64_t(elementTypeToOnnx(to)));
  return success();
}

LogicalResult cast(CastOp op, NodeWriter &writer) {
  Type to = elementTypeOf(op.getResult());
  if (isSmallFloat(to)) {
    // These saturate unless told otherwise.
    Node node = writer.node("Cast", writer.operands(), 19);
    node.set("to", int64_t(elementTypeToOnnx(to)));
    if (!op.getSaturate())
      node.set("saturate", int64_t(0));
    return success();
  }
  if (op.getSaturate())
    return saturatingCast(op, writer);
  writer.node("Cast", writer.operands()).set("to", int64_t(elementTypeToOnnx(to)));
  return success();
}

LogicalResult bitcast(BitcastOp op, NodeWriter &writer) {
  writer.node("BitCast", writer.operands(), 26).set("to", int64_t(elementTypeToOnnx(elementTypeOf(op.getResult()))));
  return success();
}

LogicalResult copy(CopyOp, NodeWriter &writer) {
  writer.node("Identity", writer.operands());
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<UnaryOp, unary>(), exports<BinaryOp, binary>(), exports<CompareOp, compare>(), exports<SelectOp, select>(),
    exports<CastOp, cast>(),   exports<CopyOp, copy>(),     exports<BitcastOp, bitcast>(),
};

} // namespace

ArrayRef<ExportEntry> elementwiseExports() { return kExports; }

} // namespace sluice::onnxexport
