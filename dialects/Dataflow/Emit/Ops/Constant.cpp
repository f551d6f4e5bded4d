//===- Constant.cpp - Kernels of range, extents ---------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::dataflow;

static Value emitRangeElement(RangeOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type element = op.getType().getElementType();
  auto single = [&](Value operand) {
    SmallVector<Value> zero(cast<RankedTensorType>(operand.getType()).getRank(), kernel.index(0));
    return kernel.element(operand, zero);
  };
  Value i = arith::IndexCastOp::create(b, loc, b.getI64Type(), indices[0]);
  Value position = emitCast(b, loc, i, b.getI64Type(), element, /*saturate=*/false);
  Value offset = emitBinary(b, loc, BinaryKind::mul, position, single(op.getDelta()), isUnsignedElement(element));
  return emitBinary(b, loc, BinaryKind::add, single(op.getStart()), offset, isUnsignedElement(element));
}

static Value emitExtentsElement(ExtentsOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  const RankedTensorType type = op.getType();
  Value position = kernel.linearize(indices, type.getShape()), value;
  for (auto [k, expression] : llvm::enumerate(op.getMap().getResults())) {
    Value number = kernel.index(Extent(expression, op.getSymbols()));
    if (!value) {
      value = number;
      continue;
    }
    Value isThis = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, position, kernel.index(k));
    value = arith::SelectOp::create(b, loc, isThis, number, value);
  }
  return emitCast(b, loc, arith::IndexCastOp::create(b, loc, b.getI64Type(), value), b.getI64Type(),
                  type.getElementType(), /*saturate=*/false);
}

void sluice::dataflow::attachConstantKernels(MLIRContext *context) {
  constexpr auto kOfStep = KernelExtents::OfStep;
  attach<ElementModel<emitRangeElement, kOfStep>, ElementModel<emitExtentsElement, kOfStep>>(context);
}
