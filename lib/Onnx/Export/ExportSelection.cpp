//===- ExportSelection.cpp - Extents that a step gives, to ONNX -----------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "NodeWriter.h"

using namespace mlir;
using namespace sluice::dataflow;
using sluice::onnxtensor::elementTypeOf;
using sluice::onnxtensor::shapeOf;

namespace sluice::onnxexport {
namespace {

LogicalResult nonzero(NonzeroOp, NodeWriter &writer) {
  writer.call("NonZero", writer.operands());
  return success();
}

LogicalResult nonMaxSuppression(NonMaxSuppressionOp op, NodeWriter &writer) {
  writer.call("NonMaxSuppression", writer.operands())
      .set("most", ArrayRef<int64_t>(static_cast<int64_t>(op.getMost())))
      .set("centered", int64_t(op.getCentered()));
  return success();
}

LogicalResult takeFirst(TakeFirstOp op, NodeWriter &writer) {
  const auto dim = static_cast<int64_t>(op.getDim());
  writer.call("TakeFirst", writer.operands()).set("axes", ArrayRef<int64_t>(dim));
  if (symbolsOf(op))
    writer.defineSymbol(static_cast<unsigned>(op.getSymbol()), dim);
  return success();
}

LogicalResult check(CheckOp op, NodeWriter &writer) {
  writer.call("Check", writer.operands()).set("message", op.getMessage());
  return success();
}

LogicalResult extents(ExtentsOp op, NodeWriter &writer) {
  Extents numbers;
  for (AffineExpr expression : op.getMap().getResults())
    numbers.emplace_back(expression, op.getSymbols());
  std::string list = writer.extents("numbers", numbers);
  if (!elementTypeOf(op.getResult()).isSignlessInteger(64)) {
    Node cast = writer.step("Cast", {list});
    cast.set("to", elementTypeToOnnx(elementTypeOf(op.getResult())));
    list = cast.output();
  }
  writer.node("Reshape", {list, writer.integers("shape", shapeOf(op.getResult()))});
  return success();
}

constexpr ExportEntry kExports[] = {
    exports<NonzeroOp, nonzero>(),     exports<NonMaxSuppressionOp, nonMaxSuppression>(),
    exports<TakeFirstOp, takeFirst>(), exports<CheckOp, check>(),
    exports<ExtentsOp, extents>(),
};

} // namespace

ArrayRef<ExportEntry> selectionExports() { return kExports; }

} // namespace sluice::onnxexport
