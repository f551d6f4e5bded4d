//===- Constant.cpp - Kernels of range ------------------------------------===//
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

void sluice::dataflow::attachConstantKernels(MLIRContext *context) { attach<ElementModel<emitRangeElement>>(context); }
