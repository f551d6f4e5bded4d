//===- Elementwise.cpp - Kernels of unary, binary, compare, select, cast, copy ===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// unary
//===----------------------------------------------------------------------===//

static Value emitUnaryScalar(UnaryOp op, OpBuilder &b, Location loc, ValueRange operands) {
  Type element = elementOf(op.getInput());
  Value value = emitUnary(b, loc, op.getKind(), operands[0], isUnsignedElement(element),
                          op.getAlpha().convertToDouble(), op.getBeta().convertToDouble());
  return emitRoundTrip(b, loc, elementOf(op.getResult()), value);
}

//===----------------------------------------------------------------------===//
// binary
//===----------------------------------------------------------------------===//

static Value emitBinaryScalar(BinaryOp op, OpBuilder &b, Location loc, ValueRange operands) {
  Type element = elementOf(op.getLhs());
  Value value = emitBinary(b, loc, op.getKind(), operands[0], operands[1], isUnsignedElement(element));
  return emitRoundTrip(b, loc, element, value);
}

//===----------------------------------------------------------------------===//
// compare
//===----------------------------------------------------------------------===//

static Value emitCompareScalar(CompareOp op, OpBuilder &b, Location loc, ValueRange operands) {
  return emitCompare(b, loc, op.getPredicate(), operands[0], operands[1], isUnsignedElement(elementOf(op.getLhs())));
}

//===----------------------------------------------------------------------===//
// select
//===----------------------------------------------------------------------===//

static Value emitSelectScalar(SelectOp, OpBuilder &b, Location loc, ValueRange operands) {
  return arith::SelectOp::create(b, loc, operands[0], operands[1], operands[2]);
}

//===----------------------------------------------------------------------===//
// cast
//===----------------------------------------------------------------------===//

static Value emitCastScalar(CastOp op, OpBuilder &b, Location loc, ValueRange operands) {
  return emitCast(b, loc, operands[0], elementOf(op.getInput()), elementOf(op.getResult()), op.getSaturate());
}

//===----------------------------------------------------------------------===//
// copy
//===----------------------------------------------------------------------===//

static Value emitCopyScalar(CopyOp, OpBuilder &, Location, ValueRange operands) { return operands[0]; }

void sluice::dataflow::attachElementwiseKernels(MLIRContext *context) {
  attach<ScalarModel<emitUnaryScalar>, ScalarModel<emitBinaryScalar>, ScalarModel<emitCompareScalar>,
         ScalarModel<emitSelectScalar>, ScalarModel<emitCastScalar>, ScalarModel<emitCopyScalar>>(context);
}
