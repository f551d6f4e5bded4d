//===- Bits.cpp - Kernels of bitcast, random ------------------------------===//
// Part of Sluice, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "dialects/Dataflow/Elementwise/Scalars.h"
#include "dialects/Dataflow/Emit/KernelEmitter.h"
#include "dialects/Dataflow/Emit/Ops/Models.h"
#include "dialects/Dataflow/IR/Shapes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sluice::dataflow;

//===----------------------------------------------------------------------===//
// bitcast
//===----------------------------------------------------------------------===//

static Value emitBitcastScalar(BitcastOp op, OpBuilder &b, Location loc, ValueRange operands) {
  return emitBitcast(b, loc, operands[0], typeOf(op.getInput()).getElementType(), op.getType().getElementType());
}

//===----------------------------------------------------------------------===//
// random
//===----------------------------------------------------------------------===//

/// SplitMix64 of the seed and the element's position, its upper 24 bits as a fraction.
static Value emitRandomElement(RandomOp op, KernelEmitter &kernel, ValueRange indices) {
  OpBuilder &b = kernel.builder();
  Location loc = kernel.loc();
  Type i64 = b.getI64Type();
  auto c = [&](uint64_t value) { return emitIntConstant(b, loc, i64, static_cast<int64_t>(value)); };
  Value position = arith::IndexCastOp::create(b, loc, i64, kernel.linearize(indices, extentsOf(op.getType())));
  Value step = arith::MulIOp::create(b, loc, arith::AddIOp::create(b, loc, position, c(1)), c(kSplitMix64Step));
  // The seed through one round of its own, so that neighbouring seeds share no run of values.
  uint64_t seed = (static_cast<uint64_t>(op.getSeed()) + kSplitMix64Step) * 0xbf58476d1ce4e5b9;
  Value bits = emitSplitMix64(b, loc, arith::AddIOp::create(b, loc, c(seed ^ seed >> 31), step));
  Value top = arith::ShRUIOp::create(b, loc, bits, c(40));
  Value fraction = arith::SIToFPOp::create(b, loc, b.getF32Type(), top);
  return arith::MulFOp::create(b, loc, fraction, emitConstant(b, loc, b.getF32Type(), 0x1p-24));
}

void sluice::dataflow::attachBitsKernels(MLIRContext *context) {
  attach<ScalarModel<emitBitcastScalar>, ElementModel<emitRandomElement, KernelExtents::OfStep>>(context);
}
